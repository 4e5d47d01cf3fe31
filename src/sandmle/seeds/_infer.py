"""What the files of a folder seed tell: the id column, the target, the kind of problem and the classes.

Everything here works on column names and on the target's cells as they stand in the file, so that ``01`` stays ``01``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from sandmle.errors import BadInput
from sandmle.task import ProblemType

__all__ = ["MAX_INTEGER_CLASSES", "class_labels", "infer_problem", "infer_target", "is_number"]

MAX_INTEGER_CLASSES = 20
INTEGER = re.compile(r"[+-]?\d+")
SEED_TOML = "name it as `target` in seed.toml"


def infer_target(train: Sequence[str], test: Sequence[str], sample: Sequence[str], id_column: str) -> str:
    """The train column that test lacks; of several, the one that the sample submission has too.

    Raises:
        BadInput: there is none, or more than one.
    """
    missing = [column for column in train if column not in test and column != id_column]
    if not missing:
        raise BadInput(f"train.csv: every column is in test.csv too, so the target is not known; {SEED_TOML}")
    if len(missing) == 1:
        return missing[0]
    shared = [column for column in missing if column in sample]
    if len(shared) != 1:
        raise BadInput(f"train.csv: test.csv lacks {', '.join(missing)}; which is the target? {SEED_TOML}")
    return shared[0]


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number."""
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def infer_problem(cells: Sequence[str]) -> ProblemType:
    """The kind of problem that target cells pose.

    Numbers are classes if all are integers and at most ``MAX_INTEGER_CLASSES`` are distinct; anything else that is all
    numbers is regression, and text is classes.
    """
    distinct = set(cells)
    if all(is_number(cell) for cell in distinct):
        integers = all(INTEGER.fullmatch(cell) for cell in distinct)
        if not integers or len(distinct) > MAX_INTEGER_CLASSES:
            return "regression"
    return "binary" if len(distinct) == 2 else "multiclass"


def class_labels(cells: Iterable[str]) -> tuple[str, ...]:
    """The distinct cells in order: by value if all are numbers, else alphabetically."""
    distinct = set(cells)
    if all(is_number(cell) for cell in distinct):
        return tuple(sorted(distinct, key=lambda cell: (float(cell), cell)))
    return tuple(sorted(distinct))
