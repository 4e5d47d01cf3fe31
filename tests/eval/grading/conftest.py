"""A builder of small task folders, one for each kind of prediction."""

import csv
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandmle.task import Lineage, MadeBy, SubmissionFormat, Task, TaskManifest, Thresholds

LABELS = ("low", "1", "high")


@dataclass(frozen=True)
class Kind:
    """What a task of one prediction kind is made of: ten test rows, seven of them Private."""

    metric: str
    lower_is_better: bool
    problem_type: str
    form: SubmissionFormat
    target: str
    truth: tuple[str, ...]
    perfect: tuple[tuple[str, ...], ...]
    thresholds: Thresholds | None
    groups: tuple[str, ...] | None = None


def _other(metric, problem, kind, truth, perfect, *, lower=False, columns=("target",), groups=None, **form):
    """A kind without thresholds."""
    shape = SubmissionFormat(id_column="id", prediction_columns=columns, kind=kind, **form)
    rows = tuple((cell,) if isinstance(cell, str) else cell for cell in perfect)
    target = "target" if len(columns) == 1 else "labels"
    return Kind(metric, lower, problem, shape, target, truth, rows, None, groups)


def _single(metric, lower, problem, kind, classes, truth, perfect, thresholds):
    form = SubmissionFormat(id_column="id", prediction_columns=("target",), kind=kind, classes=classes)
    return Kind(metric, lower, problem, form, "target", truth, tuple((cell,) for cell in perfect), thresholds)


def _class_probabilities():
    names = tuple(f"p_{label}" for label in LABELS)
    form = SubmissionFormat(id_column="id", prediction_columns=names, kind="class_probabilities", classes=LABELS)
    truth = ("low", "1", "high", "low", "1", "high", "low", "1", "high", "low")
    perfect = tuple(tuple("1" if label == own else "0" for label in LABELS) for own in truth)
    thresholds = Thresholds(median=1.0, bronze=0.8, silver=0.5, gold=0.1)
    return Kind("multiclass_log_loss", True, "multiclass", form, "level", truth, perfect, thresholds)


_BINARY = ("no", "yes", "yes", "no", "yes", "no", "no", "yes", "no", "yes")
_LEVELS = ("low", "1", "high", "low", "1", "high", "low", "1", "high", "low")
_NUMBERS = ("0.5", "1", "2", "3.25", "4", "5", "6", "7", "8", "9")
_SETS = ("low", "none", "low 1 high", "1", "", "low high", "1", "high", "none", "low 1")
_TEXTS = ("one", "", "two words", "Ärger", "é", "a-b", "“x”", "none", "1 2", "three more words")
_MASKS = ("1 12", "none", "3 2", "1 1 12 1", "", "5 4", "2 3 7 1", "12 1", "none", "1 2 3 2")
KINDS = {
    "label": _single(
        "accuracy",
        False,
        "multiclass",
        "label",
        LABELS,
        _LEVELS,
        _LEVELS,
        Thresholds(median=0.4, bronze=0.5, silver=0.7, gold=0.9),
    ),
    "probability": _single(
        "roc_auc",
        False,
        "binary",
        "probability",
        ("no", "yes"),
        _BINARY,
        tuple("0.9" if cell == "yes" else "0.1" for cell in _BINARY),
        Thresholds(median=0.6, bronze=0.7, silver=0.8, gold=0.9),
    ),
    "class_probabilities": _class_probabilities(),
    "number": _single(
        "rmse",
        True,
        "regression",
        "number",
        (),
        _NUMBERS,
        _NUMBERS,
        Thresholds(median=3.0, bronze=2.0, silver=1.0, gold=0.5),
    ),
    "positive": _single("rmsle", True, "regression", "number", (), _NUMBERS, _NUMBERS, None),
    "label_probabilities": _other(
        "mean_column_auc",
        "multilabel",
        "label_probabilities",
        _SETS,
        tuple(tuple("0.8" if label in cell.split() else "0.3" for label in LABELS) for cell in _SETS),
        columns=tuple(f"p_{label}" for label in LABELS),
        classes=LABELS,
    ),
    "label_set": _other("jaccard", "multilabel", "label_set", _SETS, _SETS, classes=LABELS),
    "ranked_labels": _other(
        "map_at_3",
        "multiclass",
        "ranked_labels",
        _LEVELS,
        tuple(f"{own} {LABELS[(LABELS.index(own) + 1) % 3]}" for own in _LEVELS),
        classes=LABELS,
        top=2,
    ),
    "relevance": _other(
        "ndcg_at_5",
        "ranking",
        "relevance",
        ("0", "1", "2", "3", "0", "1.5", "0", "1", "0", "0"),
        ("-1", "0", "1e3", "9", "-2", "8", "-3", "0.5", "0", "0.25"),
        groups=("7", "7", "7", "8", "8.0", "8", "8", "b", "b", "b"),
        group_column="query",
    ),
    "text": _other("edit_distance", "seq2seq", "text", _TEXTS, _TEXTS, lower=True),
    "mask": _other("dice", "segmentation", "mask", _MASKS, _MASKS, mask_shape=(3, 4)),
}
IDS = tuple(str(100 + row) for row in range(10))
USAGE = ("Public",) * 3 + ("Private",) * 7


def build_task(root: Path, kind: str) -> Task:
    """Write a task folder for one of ``KINDS`` and load it."""
    parts = KINDS[kind]
    private = root / "prepared" / "private"
    private.mkdir(parents=True)
    (root / "prepared" / "public").mkdir()
    with (private / "answers.csv").open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        grouped = [(parts.form.group_column, *parts.groups)] if parts.groups else []
        named = [("id", *IDS), (parts.target, *parts.truth), *grouped, ("Usage", *USAGE)]
        writer.writerows(zip(*named, ("canary", *["c0ffee"] * 10), strict=True))
    manifest = TaskManifest(
        id=f"test-{kind.replace('_', '-')}",
        title="A test task",
        modality="tabular",
        problem_type=parts.problem_type,
        metric=parts.metric,
        lower_is_better=parts.lower_is_better,
        submission=parts.form,
        thresholds=parts.thresholds,
        lineage=Lineage(seed_id="test", seed_family="test", seed_source="folder"),
        made_by=MadeBy(team="real", versions={}),
        files={},
    )
    (root / "task.json").write_text(manifest.to_text())
    return Task.load(root)


def submission_rows(kind: str) -> list[list[str]]:
    """A perfect submission: the header and ten rows."""
    parts = KINDS[kind]
    header = ["id", *parts.form.prediction_columns]
    return [header, *([name, *cells] for name, cells in zip(IDS, parts.perfect, strict=True))]


def as_csv(rows) -> bytes:
    return "".join(",".join(row) + "\n" for row in rows).encode()


@pytest.fixture(scope="session", params=sorted(KINDS))
def any_task(request, tmp_path_factory):
    """One task of each kind, with its name."""
    return request.param, build_task(tmp_path_factory.mktemp("task") / request.param, request.param)


@pytest.fixture(scope="session")
def tasks(tmp_path_factory):
    """All tasks by kind."""
    root = tmp_path_factory.mktemp("tasks")
    return {kind: build_task(root / kind, kind) for kind in KINDS}


@pytest.fixture(scope="session")
def perfect():
    """``perfect(kind)`` gives the rows of a perfect submission, which a test may then spoil."""
    return submission_rows


@pytest.fixture(scope="session")
def to_bytes():
    """``to_bytes(rows)`` gives the CSV file of some rows."""
    return as_csv
