"""What an identifier could give away: its number, its place in the order, its parity and its last digit."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sandmle.eval.metrics import Array

__all__ = ["identifier_features"]

LAST_DIGITS = 10


def identifier_features(ids: pd.Series) -> Array:
    """Features of an id column, shape (rows, 14).

    In order: rank of the number made of the id's last group of digits (0 where it has none), rank of the id as text,
    length, parity of the number, and one 0/1 column per last digit.
    """
    text = ids.astype(str)
    digits = text.str.extract(r"(\d+)\D*$")[0].fillna("0").str.slice(-15)
    number = digits.astype(np.int64).to_numpy()
    blocks = [
        pd.Series(number).rank().to_numpy(),
        text.rank().to_numpy(),
        text.str.len().to_numpy(),
        number % 2,
        *(number % LAST_DIGITS == digit for digit in range(LAST_DIGITS)),
    ]
    return np.column_stack([np.asarray(block, dtype=np.float64) for block in blocks])
