"""The labelled rows of a seed, wherever they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandmle.errors import BadInput
from sandmle.seeds._record import Seed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SeedTable", "load_table"]


@dataclass(frozen=True)
class SeedTable:
    """A seed's data.

    Attributes:
        train: ids (where the seed has them), features and target; the target of a class problem is text.
        test: ids and features; None where the seed has no test rows.
        answers: id and target of the test rows; None where nobody knows them (a user's folder).
        target: the column to predict.
        id_column: the column that names a row.
        classes: the labels in order, for a binary problem the positive one last; empty for numbers.
    """

    train: pd.DataFrame
    test: pd.DataFrame | None
    answers: pd.DataFrame | None
    target: str
    id_column: str
    classes: tuple[str, ...]


def load_table(seed: Seed) -> SeedTable:
    """Load the labelled rows of ``seed``.

    Raises:
        BadInput: the seed has no data (an MLE-bench entry), or its folder is gone or broken.
        EnvironmentProblem: the package that carries the data is not installed; names the command that installs it.
    """
    if seed.source == "bundled":
        from sandmle.seeds.bundled import load_bundled

        return load_bundled(seed.id)
    if seed.source == "folder":
        from sandmle.seeds._folder import load_folder

        return load_folder(seed)
    raise BadInput(f"seed {seed.id}: a description without data, so there are no rows to load")
