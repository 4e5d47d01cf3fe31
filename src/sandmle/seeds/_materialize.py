"""From a seed to a task folder: the real data in the layout of a task."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sandmle.canary import CANARY_COLUMN, canary
from sandmle.errors import BadInput, SandmleError
from sandmle.files import disk_errors, hash_tree, publish_folder, scratch_folder, write_text
from sandmle.record import sha256_json
from sandmle.seeds._metrics import METRICS, MetricFacts
from sandmle.seeds._record import Seed
from sandmle.seeds._table import SeedTable, load_table
from sandmle.seeds.layouts import LaidOut, lay_out
from sandmle.task import Lineage, MadeBy, SubmissionFormat, Task, TaskManifest, Thresholds

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RealTask", "materialize", "real_task"]


@dataclass(frozen=True)
class RealTask:
    """A seed's data in the layout of a task, before it is written.

    Attributes:
        files: the content of every file below the task folder, by POSIX path.
        data_hash: hex hash of all that a score depends on: rows, items, hidden labels and which of them are Private.
        manifest: without the hashes of files.
        target: the column to predict.
    """

    files: dict[str, bytes]
    data_hash: str
    manifest: TaskManifest
    target: str

    def write(
        self, out: Path, *, thresholds: Thresholds | None = None, provenance: Mapping[str, str] | None = None
    ) -> Task:
        """Write the folder ``out/<task id>`` and read it back; a task left by an earlier run is replaced.

        Args:
            out: folder of the tasks.
            thresholds: scores of the tiers, if there are any.
            provenance: texts of the files in ``provenance/``, by name.

        Raises:
            EnvironmentProblem: ``out`` can't be written.
        """
        task_id = self.manifest.id
        told = {f"provenance/{name}": text.encode() for name, text in (provenance or {}).items()}
        with disk_errors(out), scratch_folder(out) as scratch:
            folder = scratch / task_id
            for name, data in (self.files | told).items():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_bytes(data)
            manifest = self.manifest.model_copy(update={"thresholds": thresholds, "files": hash_tree(folder)})
            write_text(folder / "task.json", TaskManifest.model_validate(manifest.model_dump()).to_text())
            publish_folder(folder, out / task_id)
        return Task.load(out / task_id)


def materialize(seed: Seed, out: Path) -> Task:
    """Write ``seed``'s real data as the task folder ``out/<task id>``, without thresholds, and read it back.

    Raises:
        BadInput: the seed has no data.
        EnvironmentProblem: its data are not installed, or ``out`` can't be written.
    """
    return real_task(seed).write(out)


def real_task(seed: Seed) -> RealTask:
    """``seed``'s real data as a task; the same seed and library versions give the same bytes.

    A user's folder has no hidden answers, so its train rows are split by the published split. The id is ``<seed id>-<8
    hex>``, a hash of the seed (its path excepted) and the training data.

    Raises:
        BadInput: the seed has no data.
        EnvironmentProblem: its data are not installed.
    """
    table = load_table(seed)
    if table.answers is None:
        table = _split_train(seed, table)
    shown = lay_out(table, seed.modality or "tabular")
    texts = _public_texts(seed, shown)
    items = [shown.digest] if shown.digest else []
    facts = seed.model_dump(mode="json", exclude={"path"})
    task_id = f"{seed.id.lower()}-{sha256_json([facts, texts['train.csv'], *items])[:8]}"
    answers = _answers(table, task_id)
    scored = [texts["train.csv"], texts["test.csv"], *items, _csv(answers.drop(columns=CANARY_COLUMN))]
    public = {name: text.encode() for name, text in texts.items()} | shown.files
    return RealTask(
        files={
            **{f"prepared/public/{name}": data for name, data in public.items()},
            "prepared/private/answers.csv": _csv(answers).encode(),
        },
        data_hash=sha256_json(scored),
        manifest=_manifest(seed, table, task_id),
        target=table.target,
    )


def _split_train(seed: Seed, table: SeedTable) -> SeedTable:
    from sandmle.seeds._split import hold_out

    rows = table.train.drop(columns=[table.id_column], errors="ignore")
    return hold_out(rows, name=seed.id, target=table.target, classes=table.classes, id_column=table.id_column)


def _facts(seed: Seed) -> MetricFacts:
    if seed.metric not in METRICS:
        raise BadInput(f"seed {seed.id}: its metric {seed.metric!r} is not one of {', '.join(METRICS)}")
    return METRICS[seed.metric]


def _submission(seed: Seed, table: SeedTable) -> SubmissionFormat:
    kind = _facts(seed).prediction
    columns = table.classes if kind == "class_probabilities" else (table.target,)
    return SubmissionFormat(id_column=table.id_column, prediction_columns=columns, kind=kind, classes=table.classes)


def _public_texts(seed: Seed, shown: LaidOut) -> dict[str, str]:
    table = shown.table
    assert table.test is not None
    submission = _submission(seed, table)
    return {
        "description.md": _brief(seed, shown, submission),
        "train.csv": _csv(table.train),
        "test.csv": _csv(table.test),
        "sample_submission.csv": _csv(_sample(table, submission)),
    }


def _csv(frame: pd.DataFrame) -> str:
    return str(frame.to_csv(index=False, lineterminator="\n"))


def _sample(table: SeedTable, submission: SubmissionFormat) -> pd.DataFrame:
    """The test ids with what is known without features: commonest class, class shares, or mean."""
    assert table.test is not None
    sample = table.test[[table.id_column]].copy()
    seen = table.train[table.target]
    shares = seen.value_counts(normalize=True)
    match submission.kind:
        case "label":
            sample[table.target] = max(table.classes, key=lambda label: shares.get(label, 0.0))
        case "probability":
            sample[table.target] = round(float(shares[table.classes[1]]), 4)
        case "class_probabilities":
            for label in table.classes:
                sample[label] = float(shares[label])
        case "number":
            sample[table.target] = float(f"{seen.mean():.6g}")
    return sample


def _answers(table: SeedTable, task_id: str) -> pd.DataFrame:
    from sandmle.seeds._split import PUBLIC_PERCENT, choose_rows, split_generator

    assert table.answers is not None
    answers = table.answers
    labels = list(answers[table.target]) if table.classes else None
    public = choose_rows(labels, len(answers), PUBLIC_PERCENT, split_generator(task_id, "usage"))
    usage = ["Public" if chosen else "Private" for chosen in public]
    return answers.assign(Usage=usage, **{CANARY_COLUMN: canary(task_id)})


def _manifest(seed: Seed, table: SeedTable, task_id: str) -> TaskManifest:
    return TaskManifest(
        id=task_id,
        title=seed.title,
        modality=seed.modality or "tabular",
        problem_type=seed.problem_type or ("regression" if not table.classes else "multiclass"),
        metric=seed.metric,
        lower_is_better=seed.lower_is_better,
        submission=_submission(seed, table),
        thresholds=None,
        lineage=Lineage(seed_id=seed.id, seed_family=seed.family, seed_source=seed.source),
        made_by=MadeBy(team="real", versions=_versions()),
        files={},
    )


def _versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in ("numpy", "pandas", "sandmle", "scikit-learn")}


def _brief(seed: Seed, shown: LaidOut, submission: SubmissionFormat) -> str:
    table = shown.table
    assert table.test is not None
    facts = _facts(seed)
    better = "smaller" if facts.lower_is_better else "larger"
    header = ",".join([submission.id_column, *submission.prediction_columns])
    description = seed.description.strip()
    others = "".join(f"\n- `{name}`: {text}" for name, text in shown.lines)
    note = f"{shown.note} " if shown.note else ""
    opening = description if description.startswith("# ") else f"# {seed.title}\n\n{description}"
    return f"""{opening}

## Files

- `train.csv`: {len(table.train)} rows with `{table.id_column}`, the features and the target `{table.target}`
- `test.csv`: {len(table.test)} rows with `{table.id_column}` and the features; predict their `{table.target}`{others}
- `sample_submission.csv`: a submission of the right shape

{note}The test rows were drawn from the labelled rows by a fixed split. Ids are arbitrary and tell nothing.

## Metric

{facts.title} (`{seed.metric}`); {better} is better.

## Submission

A CSV file with the header `{header}` and one line per row of `test.csv`, in any order. {_cells(table, submission)}
"""


def _cells(table: SeedTable, submission: SubmissionFormat) -> str:
    labels = ", ".join(f"`{label}`" for label in table.classes)
    match submission.kind:
        case "label":
            return f"`{table.target}` is one of {labels}."
        case "probability":
            return f"`{table.target}` is the probability of `{table.classes[1]}`, from 0 to 1."
        case "class_probabilities":
            return "Each class column is the probability of that class, from 0 to 1; a row sums to 1."
        case "number":
            return f"`{table.target}` is a number."
        case _:
            raise SandmleError(f"a real table has no submissions of kind {submission.kind!r}")
