"""``mle-dojo``: the 62 competitions of MLE-Dojo that are not MLE-bench's, as tasks.

    DATA/<competition>/data/public/    description.txt, sample_submission.csv and all that an agent may see
    DATA/<competition>/data/private/   test_answer.csv, public_leaderboard.csv, private_leaderboard.csv
    CHECKOUT/mledojo/                  metrics/base.py, competitions/<competition>/utils/metric.py

MLE-Dojo's own metric grades, in a process of its own; HumanRank counts on both boards, and the private one gives the
thresholds of medals. A task keeps the answers and the code of its metric under ``prepared/private/original``.

``mledojo.tsv`` lists the members: the entries of MLE-Dojo's ``prepare/mle.json`` less those of MLE-bench. The SandMLE
paper names no list; that these are its 62 is inferred from their number. Modality, problem and metric in it are facts
of the competitions in our words; they grade nothing.
"""

from __future__ import annotations

import csv
import io
import math
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import cast

from sandmle import __version__
from sandmle.errors import BadInput
from sandmle.eval.grading.boards import BOARDS, Boards
from sandmle.eval.grading.medals import board_lower_is_better, thresholds_from_leaderboard
from sandmle.eval.grading.original import HIDDEN, ORIGINAL, OriginalGrader
from sandmle.eval.suites._kind import Preparation, Sources, SuiteKind
from sandmle.files import (
    bring_file,
    clear_leftovers,
    disk_errors,
    folder_lock,
    publish_folder,
    scratch_folder,
    sha256_file,
    write_text,
)
from sandmle.record import VersionedRecord
from sandmle.task import Lineage, MadeBy, Modality, ProblemType, Task, TaskLimits, TaskManifest

__all__ = ["Member", "MleDojo", "members"]

CLONE = "git clone https://github.com/MLE-Dojo/MLE-Dojo.git"
LIMITS = TaskLimits(step_seconds=10_000, memory_mib=32_768, turns=10)
"""Seconds a run and turns are MLE-Dojo's own defaults."""
PUBLIC = ("description.txt", "sample_submission.csv")
ANSWERS = "test_answer.csv"
BOARD_FILES = ("public_leaderboard.csv", "private_leaderboard.csv")
DESCRIPTION = "prepared/public/description.md"
PACKAGE = ("__init__.py", "metrics/__init__.py", "metrics/base.py")
"""What a metric imports, below ``mledojo/``."""


@dataclass(frozen=True)
class Member:
    """One competition of the suite; ``id`` is MLE-Dojo's own, ``metric`` a name for people."""

    id: str
    modality: Modality
    problem: ProblemType
    metric: str

    @property
    def task_id(self) -> str:
        """The id of its task."""
        return self.id.lower()


@cache
def members() -> tuple[Member, ...]:
    """All 62, smallest data first, as MLE-Dojo lists them."""
    text = files("sandmle.eval.suites").joinpath("mledojo.tsv").read_text(encoding="utf-8")
    return tuple(
        Member(row["id"], cast("Modality", row["modality"]), cast("ProblemType", row["problem"]), row["metric"])
        for row in csv.DictReader(text.splitlines(), delimiter="\t")
    )


class MleDojo(SuiteKind):
    """The competitions of MLE-Dojo."""

    name = "mle-dojo"
    about = "62 competitions of MLE-Dojo: its own metrics, HumanRank on both boards"
    how = "sandmle suites prepare mle-dojo --data DIR --checkout DIR"

    def prepare(self, sources: Sources, on_done: Callable[[Preparation], None]) -> None:
        """Make a task of every member whose data lie in ``sources.data``.

        Raises:
            BadInput: no checkout of MLE-Dojo, or no folder of data; says which command gets it.
            EnvironmentProblem: the tasks can't be written.
        """
        checkout, data = _checkout(sources), _data(sources)
        with disk_errors(self.folder), folder_lock(self.folder):
            clear_leftovers(self.folder)
            for member in members():
                on_done(self._prepare(member, checkout, data))

    def _prepare(self, member: Member, checkout: Path, data: Path) -> Preparation:
        target = self.folder / member.task_id
        if (target / "task.json").is_file():
            return Preparation(member.id, Task.load(target))
        source = data / member.id / "data"
        if not (source / "public").is_dir():
            return Preparation(member.id, None, f"no data; in {checkout}: {_command(member.id, data)}")
        try:
            with scratch_folder(self.folder) as scratch:
                _write(member, source, checkout, scratch / member.task_id)
                publish_folder(scratch / member.task_id, target)
        except BadInput as error:
            return Preparation(member.id, None, str(error))
        return Preparation(member.id, Task.load(target))


def _checkout(sources: Sources) -> Path:
    if sources.checkout is None:
        raise BadInput(f"suite mle-dojo: give a checkout of MLE-Dojo as --checkout; `{CLONE}` makes one")
    if not (sources.checkout / "mledojo" / "competitions").is_dir():
        raise BadInput(f"{sources.checkout}: no checkout of MLE-Dojo (no mledojo/competitions); `{CLONE}` makes one")
    return sources.checkout.resolve()


def _data(sources: Sources) -> Path:
    command = _command(members()[0].id, sources.data or Path("DIR"))
    how = f"MLE-Dojo itself fetches it, with an account at Kaggle; in its checkout: {command}"
    if sources.data is None:
        raise BadInput(f"suite mle-dojo: give its prepared data as --data; {how}")
    if not sources.data.is_dir():
        raise BadInput(f"{sources.data}: no such folder; {how}")
    return sources.data.resolve()


def _command(competition: str, data: Path) -> str:
    """What fetches and prepares one competition, run in a checkout."""
    places = ["--competitions", competition, "--data-dir", str(data), "--logs-dir", str(data / "logs")]
    return f"PYTHONPATH=. {shlex.join(['python', 'prepare/mle.py', *places])}"


def _write(member: Member, source: Path, checkout: Path, folder: Path) -> None:
    """Write the whole task ``folder``; every file of the data is read once, to hash it.

    Raises:
        BadInput: a file is missing or broken, or the public folder holds a hidden one.
    """
    private = source / "private"
    for path in (*(source / "public" / name for name in PUBLIC), private / ANSWERS):
        if not path.is_file():
            raise BadInput(f"{path} is missing; prepare {member.id} again")
    hashes = _bring_public(source / "public", folder, _hashes(private))
    hidden = Path("prepared") / "private" / HIDDEN
    for name, path in {ANSWERS: private / ANSWERS, **_metric_files(member, checkout)}.items():
        hashes[(hidden / name).as_posix()] = bring_file(path, folder / hidden / name)
    boards = _boards(private)
    original = OriginalGrader(package="mle-dojo", competition=member.id)
    records: dict[str, VersionedRecord] = {BOARDS: boards, ORIGINAL: original}
    for name, record in records.items():
        write_text(folder / "provenance" / name, record.to_text())
        hashes[f"provenance/{name}"] = sha256_file(folder / "provenance" / name)
    write_text(folder / "task.json", _manifest(member, boards, hashes).to_text())


def _bring_public(source: Path, folder: Path, hidden: dict[str, str]) -> dict[str, str]:
    """Link all public files, links to folders followed, and write ``description.md``; their hashes."""
    hashes = {}
    for root, _, names in os.walk(source, followlinks=True):
        for name in names:
            path = Path(root) / name
            target = (Path("prepared/public") / path.relative_to(source)).as_posix()
            hashes[target] = bring_file(path, folder / target)
            if name in hidden or hashes[target] in hidden.values():
                raise BadInput(f"{path} is a hidden file, which no agent may see")
    text = (source / "description.txt").read_text(encoding="utf-8", errors="replace")
    write_text(folder / DESCRIPTION, text)
    return hashes | {DESCRIPTION: sha256_file(folder / DESCRIPTION)}


def _hashes(private: Path) -> dict[str, str]:
    return {path.name: sha256_file(path) for path in private.iterdir() if path.is_file()}


def _metric_files(member: Member, checkout: Path) -> dict[str, Path]:
    """Where a metric and what it imports lie in the checkout, by their places in the task."""
    names = [f"mledojo/{name}" for name in (*PACKAGE, f"competitions/{member.id}/utils/metric.py")]
    for name in names:
        if not (checkout / name).is_file():
            raise BadInput(f"{checkout / name} is missing: the checkout of MLE-Dojo has no metric for {member.id}")
    return {f"code/{name}": checkout / name for name in names}


def _boards(private: Path) -> Boards:
    """Both boards, best first; the private one must be there, and tells the direction."""
    public, board = (_board(private / name) for name in BOARD_FILES)
    if not board:
        raise BadInput(f"{private / BOARD_FILES[1]}: no scores, so neither thresholds nor a direction")
    higher = not board_lower_is_better(board)
    ranked = (tuple(sorted(scores, reverse=higher)) for scores in (public, board))
    return Boards(public=next(ranked), private=next(ranked), rounded=False)


def _board(path: Path) -> list[float]:
    """The finite scores of a board, which stand in its second column; empty where there is no file."""
    if not path.is_file():
        return []
    scores = []
    for row in list(csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig", errors="replace"))))[1:]:
        try:
            scores.append(float(row[1]))
        except (IndexError, ValueError):
            continue
    return [score for score in scores if math.isfinite(score)]


def _manifest(member: Member, boards: Boards, hashes: dict[str, str]) -> TaskManifest:
    return TaskManifest(
        id=member.task_id,
        title=member.id,
        modality=member.modality,
        problem_type=member.problem,
        metric=member.metric,
        lower_is_better=board_lower_is_better(boards.private),
        submission=None,
        thresholds=thresholds_from_leaderboard(boards.private),
        limits=LIMITS,
        lineage=Lineage(seed_id=member.id, seed_family=member.id, seed_source="mledojo"),
        made_by=MadeBy(team="real", versions={"sandmle": __version__}),
        files=dict(sorted(hashes.items())),
    )
