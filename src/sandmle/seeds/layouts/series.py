"""Series: train_series.csv and test_series.csv, a row for each step of each item."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from sandmle.seeds._table import SeedTable
from sandmle.seeds.layouts._layout import LaidOut, register

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["recorded"]

COLUMN = "series"


@register("series")
def recorded(table: SeedTable) -> LaidOut:
    """Steps count from 0."""
    assert table.test is not None
    parts = {"train": table.train, "test": table.test}
    files = {f"{part}_series.csv": _long(frame, table.id_column) for part, frame in parts.items()}
    return LaidOut(
        replace(table, train=table.train.drop(columns=COLUMN), test=table.test.drop(columns=COLUMN)),
        files,
        hashlib.sha256(b"\0".join(files.values())).hexdigest(),
        lines=tuple((f"{part}_series.csv", f"the series of the rows of `{part}.csv`") for part in parts),
        note=f"Each row comes with a series: rows of the series file that carry its `{table.id_column}`, in the order"
        " of the column `step`, with one column for each channel.",
    )


def _long(frame: pd.DataFrame, id_column: str) -> bytes:
    import pandas as pd

    parts = [
        pd.DataFrame({id_column: key, "step": range(len(next(iter(channels.values())))), **channels})
        for key, channels in zip(frame[id_column], frame[COLUMN], strict=True)
    ]
    return pd.concat(parts).to_csv(index=False, lineterminator="\n").encode()
