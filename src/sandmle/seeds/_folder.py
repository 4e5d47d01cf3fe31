"""A user's folder as a seed: ``description.md`` (or ``.txt``), ``train.csv``, ``test.csv``, ``sample_submission.csv``.

An optional ``seed.toml`` sets ``id``, ``title``, ``metric``, ``target``, ``id_column`` or ``problem_type``; what it
does not set is inferred, and every inference is noted in the seed.
"""

from __future__ import annotations

import re
import tomllib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from sandmle.errors import BadInput
from sandmle.record import Record
from sandmle.seeds._infer import class_labels, infer_problem, infer_target, is_number
from sandmle.seeds._metrics import DEFAULT_METRICS, METRICS
from sandmle.seeds._record import Seed
from sandmle.seeds._table import SeedTable
from sandmle.task import TASK_ID, ProblemType
from sandmle.wrong_settings import wrong_settings

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MIN_ROWS", "load_folder", "read_folder"]

MIN_ROWS = 10
MAX_DESCRIPTION_BYTES = 1 << 20


class FolderOptions(Record):
    """``seed.toml``; None is inferred."""

    id: str | None = None
    title: str | None = None
    metric: str | None = None
    target: str | None = None
    id_column: str | None = None
    problem_type: ProblemType | None = None


@dataclass(frozen=True)
class _Columns:
    """Which column is what; ``features`` are those of test.csv without the id."""

    id: str
    target: str
    features: list[str]
    train: list[str]


def read_folder(path: Path) -> Seed:
    """Read and check a folder seed; nothing is remembered.

    Raises:
        BadInput: the folder or one of its files is missing, unreadable, empty or does not fit; names the file.
    """
    return _read(path)[0]


def load_folder(seed: Seed) -> SeedTable:
    """The rows of a folder seed; ``answers`` is None.

    Raises:
        BadInput: as ``read_folder``, or the folder has changed since the seed was read.
    """
    assert seed.path is not None
    fresh, table = _read(seed.path)
    if fresh != seed:
        raise BadInput(f"{seed.path}: changed since it was added; run `sandmle seeds add {seed.path}` again")
    return table


def _read(path: Path) -> tuple[Seed, SeedTable]:
    folder = path.resolve()
    if not folder.is_dir():
        raise BadInput(f"{path}: no such folder")
    options = _options(folder)
    description = _description(folder)
    columns = _columns(folder, options)
    train = _frame(folder / "train.csv", columns.target)[columns.train]
    cells = _target_cells(folder / "train.csv", train, columns.target)
    problem = _problem(folder, options, cells)
    metric = _metric(folder, options, problem, cells)
    classes = class_labels(cells) if problem != "regression" else ()
    if METRICS[metric].prediction == "class_probabilities" and columns.id in classes:
        raise BadInput(f"{folder / 'train.csv'}: the class {columns.id!r} is named like the id column")
    if problem == "regression":
        train = train.assign(**{columns.target: [float(cell) for cell in cells]})
    test = _frame(folder / "test.csv", None)[[columns.id, *columns.features]]
    table = SeedTable(train, test, None, columns.target, columns.id, classes)
    return _seed(folder, options, description, table, problem, metric), table


def _seed(
    folder: Path, options: FolderOptions, description: str, table: SeedTable, problem: ProblemType, metric: str
) -> Seed:
    return Seed(
        id=_id(folder, options),
        family=_id(folder, options),
        source="folder",
        title=options.title or _title(folder, description),
        description=description,
        modality="tabular",
        problem_type=problem,
        metric=metric,
        lower_is_better=METRICS[metric].lower_is_better,
        prediction=METRICS[metric].prediction,
        id_column=table.id_column,
        target=table.target,
        classes=table.classes,
        n_rows=len(table.train),
        path=folder,
        notes=_notes(options, table, problem, metric),
    )


def _notes(options: FolderOptions, table: SeedTable, problem: ProblemType, metric: str) -> tuple[str, ...]:
    said = {
        "id_column": f"id column {table.id_column}: the first column of sample_submission.csv",
        "target": f"target {table.target}: the column of train.csv that test.csv lacks",
        "problem_type": f"problem type {problem}: from the values of the target",
        "metric": f"metric {metric}: the default for {problem} problems; set `metric` in seed.toml to change it",
    }
    return tuple(note for name, note in said.items() if getattr(options, name) is None)


def _options(folder: Path) -> FolderOptions:
    path = folder / "seed.toml"
    if not path.exists():
        return FolderOptions()
    try:
        return FolderOptions.model_validate(tomllib.loads(path.read_text("utf-8")))
    except ValidationError as error:
        raise BadInput("\n".join(f"{path}: {line}" for line in wrong_settings(error, FolderOptions))) from error
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: {error}") from error


def _description(folder: Path) -> str:
    for name in ("description.md", "description.txt"):
        path = folder / name
        if not path.is_file():
            continue
        if path.stat().st_size > MAX_DESCRIPTION_BYTES:
            raise BadInput(f"{path}: longer than {MAX_DESCRIPTION_BYTES} bytes")
        text = path.read_text("utf-8", errors="replace").strip()
        if not text:
            raise BadInput(f"{path}: empty; describe the problem in a few sentences")
        return text
    raise BadInput(f"{folder / 'description.md'}: no such file; describe the problem there in a few sentences")


def _title(folder: Path, description: str) -> str:
    first = description.splitlines()[0].strip()
    return first.lstrip("# ") if first.startswith("#") and first.lstrip("# ") else folder.name


def _id(folder: Path, options: FolderOptions) -> str:
    seed_id = options.id or re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")
    if not TASK_ID.fullmatch(seed_id):
        raise BadInput(f"{folder}: {seed_id!r} is no seed id (lower-case letters, digits, -); set `id` in seed.toml")
    return seed_id


def _columns(folder: Path, options: FolderOptions) -> _Columns:
    train, test, sample = (_header(folder / f"{name}.csv") for name in ("train", "test", "sample_submission"))
    id_column = options.id_column or sample[0]
    for name, header in (("sample_submission.csv", sample), ("test.csv", test)):
        if id_column not in header:
            raise BadInput(f"{folder / name}: no id column {id_column!r}; set `id_column` in seed.toml")
    target = options.target or _inferred_target(folder, train, test, sample, id_column)
    if target not in train:
        raise BadInput(f"{folder / 'train.csv'}: no target column {target!r}")
    if target in test or target == id_column:
        raise BadInput(f"{folder / 'test.csv'}: holds the target {target!r}; remove it there or name another target")
    features = [column for column in test if column != id_column]
    unknown = [column for column in features if column not in train]
    if unknown:
        raise BadInput(f"{folder / 'test.csv'}: columns that train.csv lacks: {', '.join(unknown)}")
    if not features:
        raise BadInput(f"{folder / 'test.csv'}: no feature columns")
    ids = [id_column] if id_column in train else []
    return _Columns(id_column, target, features, [*ids, *features, target])


def _inferred_target(folder: Path, train: list[str], test: list[str], sample: list[str], id_column: str) -> str:
    try:
        return infer_target(train, test, sample, id_column)
    except BadInput as error:
        raise BadInput(f"{folder}/{error}") from error


def _header(path: Path) -> list[str]:
    return list(_read_csv(path, None, n_rows=0).columns)


def _frame(path: Path, text_column: str | None) -> pd.DataFrame:
    frame = _read_csv(path, text_column, n_rows=None)
    if frame.empty:
        raise BadInput(f"{path}: no rows")
    return frame


def _read_csv(path: Path, text_column: str | None, n_rows: int | None) -> pd.DataFrame:
    import pandas as pd

    if not path.is_file():
        raise BadInput(f"{path}: no such file; a folder seed has train.csv, test.csv and sample_submission.csv")
    dtype = {text_column: str} if text_column else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(path, dtype=dtype, nrows=n_rows, index_col=False, encoding="utf-8-sig")
    except pd.errors.EmptyDataError as error:
        raise BadInput(f"{path}: empty") from error
    except (OSError, ValueError, pd.errors.ParserWarning) as error:
        raise BadInput(f"{path}: not a readable CSV file ({' '.join(str(error).split())})") from error


def _target_cells(path: Path, train: pd.DataFrame, target: str) -> list[str]:
    if len(train) < MIN_ROWS:
        raise BadInput(f"{path}: {len(train)} rows; a seed needs at least {MIN_ROWS}")
    empty = int(train[target].isna().sum())
    if empty:
        raise BadInput(f"{path}: the target {target!r} is empty in {empty} rows; fill them in or remove the rows")
    cells = [str(cell) for cell in train[target]]
    if len(set(cells)) == 1:
        raise BadInput(f"{path}: the target {target!r} has one value only, {cells[0]!r}")
    return cells


def _problem(folder: Path, options: FolderOptions, cells: list[str]) -> ProblemType:
    path = folder / "train.csv"
    distinct = set(cells)
    problem = options.problem_type or infer_problem(cells)
    if problem == "regression" and not all(is_number(cell) for cell in distinct):
        raise BadInput(f"{path}: the target of a regression must be finite numbers")
    if problem == "binary" and len(distinct) != 2:
        raise BadInput(f"{path}: the target of a binary problem has {len(distinct)} values, not 2")
    if problem != "regression" and len(distinct) > len(cells) // 2:
        raise BadInput(f"{path}: {len(distinct)} different targets in {len(cells)} rows are no classes to learn")
    return problem


def _metric(folder: Path, options: FolderOptions, problem: ProblemType, cells: list[str]) -> str:
    metric = options.metric or DEFAULT_METRICS[problem]
    if metric not in METRICS:
        raise BadInput(f"{folder / 'seed.toml'}: unknown metric {metric!r}; choose from {', '.join(METRICS)}")
    if problem not in METRICS[metric].problem_types:
        raise BadInput(f"{folder / 'seed.toml'}: {metric} does not suit a {problem} problem")
    if metric == "rmsle" and min(map(float, cells)) < 0:
        raise BadInput(f"{folder / 'train.csv'}: rmsle needs a target without negative values")
    return metric
