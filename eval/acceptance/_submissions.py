"""Random predictions, and cells that no grader may take, for every kind of prediction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd

from sandmle.eval.grading import MAX_TEXT, encode_mask
from sandmle.eval.metrics import Array
from sandmle.submission import EMPTY
from sandmle.task import SubmissionFormat

__all__ = ["bad_cells", "random_columns"]

ODD_CELLS = {
    "no_value": "",
    "text": "certainly",
    "nan": "NaN",
    "infinite": "-inf",
    "arabic_digits": "\u0660",
    "underscore": "1_0",
    "hexadecimal": "0x1",
    "decimal_comma": "0,5",
    "endless": "0" * 600,
}
"""Neither a number nor, by their look, a label or a mask."""
WORDS = ("one", "Two", "3", "4.0", "\u00e9t\u00e9", "\u4e94", "a-b", "x,y", '"z"', "none", "NaN")
MAX_WORDS = 5


def bad_cells(form: SubmissionFormat) -> dict[str, str]:
    """Cells that make a submission invalid wherever they stand, by the name of their fault."""
    if form.kind == "text":
        return {"endless": "x" * (MAX_TEXT + 1)}
    if form.kind == "label_set":
        return _but_empty(ODD_CELLS) | _repeated(form) | {"none_and_more": f"{EMPTY} {form.classes[0]}"}
    if form.kind == "ranked_labels":
        return ODD_CELLS | _repeated(form) | _too_many(form)
    if form.kind == "mask":
        return _but_empty(ODD_CELLS) | _bad_runs(form)
    return ODD_CELLS


def _but_empty(cells: dict[str, str]) -> dict[str, str]:
    return {name: cell for name, cell in cells.items() if cell}


def _repeated(form: SubmissionFormat) -> dict[str, str]:
    return {"repeated_label": f"{form.classes[0]} {form.classes[0]}"}


def _too_many(form: SubmissionFormat) -> dict[str, str]:
    assert form.top is not None
    return {"too_many": " ".join(form.classes[: form.top + 1])} if len(form.classes) > form.top else {}


def _bad_runs(form: SubmissionFormat) -> dict[str, str]:
    assert form.mask_shape is not None
    pixels = form.mask_shape[0] * form.mask_shape[1]
    return {
        "run_without_length": "1",
        "empty_run": "1 0",
        "run_from_zero": "0 1",
        "run_past_the_end": f"{pixels} 2",
        "overlapping_runs": "1 2 2 1",
        "runs_out_of_order": "3 1 1 1",
        "huge_run": "1 99999999999999999999",
    }


def random_columns(
    rng: np.random.Generator, sample: pd.DataFrame, form: SubmissionFormat, domain: tuple[float, float]
) -> Sequence[Any]:
    """The prediction columns of a random valid submission; numbers lie near those of ``sample``, within ``domain``."""
    n, classes = len(sample), form.classes
    match form.kind:
        case "label":
            return [[classes[k] for k in rng.integers(len(classes), size=n)]]
        case "class_probabilities":
            return list(rng.dirichlet(np.ones(len(classes)), n).T)
        case "probability" | "label_probabilities":
            return list(rng.random((len(form.prediction_columns), n)))
        case "label_set":
            return [[_some_labels(rng, classes) for _ in range(n)]]
        case "ranked_labels":
            return [[_some_ranking(rng, form) for _ in range(n)]]
        case "relevance":
            return [rng.integers(-3, 4, n) / 2]
        case "text":
            return [[" ".join(rng.choice(WORDS, rng.integers(0, MAX_WORDS))) for _ in range(n)]]
        case "mask":
            return [[_some_mask(rng, form) for _ in range(n)]]
        case "number":
            return [_some_numbers(rng, sample[form.prediction_columns[0]].to_numpy(np.float64), domain)]


def _some_labels(rng: np.random.Generator, classes: Sequence[str]) -> str:
    return " ".join(compress(classes, rng.random(len(classes)) < 0.5)) or EMPTY


def _some_ranking(rng: np.random.Generator, form: SubmissionFormat) -> str:
    assert form.top is not None
    size = int(rng.integers(1, min(form.top, len(form.classes)) + 1))
    return " ".join(form.classes[k] for k in rng.permutation(len(form.classes))[:size])


def _some_mask(rng: np.random.Generator, form: SubmissionFormat) -> str:
    """A rectangle, or every now and then scattered pixels or none."""
    assert form.mask_shape is not None
    height, width = form.mask_shape
    style = rng.random()
    mask = np.zeros((height, width))
    if style < 0.6:
        top, left = int(rng.integers(height)), int(rng.integers(width))
        mask[top : top + int(rng.integers(1, height + 1)), left : left + int(rng.integers(1, width + 1))] = 1.0
    elif style < 0.8:
        mask = (rng.random((height, width)) < 0.3).astype(np.float64)
    return encode_mask(mask)


def _some_numbers(rng: np.random.Generator, shown: Array, domain: tuple[float, float]) -> Array:
    spread = max(float(np.abs(shown).mean()), 1.0)
    return np.clip(shown + spread * rng.normal(size=len(shown)), *domain)
