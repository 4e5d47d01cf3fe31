"""One competition as a task folder: its files linked, not copied, where the file system allows."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path

from pydantic import ValidationError

from sandmle.errors import BadInput
from sandmle.eval.grading import load_answers
from sandmle.eval.grading.boards import BOARDS, Boards
from sandmle.eval.grading.medals import board_lower_is_better, thresholds_from_leaderboard
from sandmle.eval.grading.original import HIDDEN, ORIGINAL, OriginalGrader
from sandmle.eval.metrics import get_metric
from sandmle.eval.suites._kind import GraderName
from sandmle.eval.suites.mle_bench._format import read_header, submission_format, write_answers
from sandmle.eval.suites.mle_bench._table import Competition
from sandmle.files import bring_file, disk_errors, publish_folder, scratch_folder, sha256_file, write_text
from sandmle.mlebench import Entry
from sandmle.record import VersionedRecord, first_problem
from sandmle.task import Lineage, MadeBy, SubmissionFormat, Task, TaskLimits, TaskManifest

__all__ = ["LIMITS", "build_task"]

LIMITS = TaskLimits(step_seconds=3600.0, memory_mib=32 * 1024, turns=20)
"""For data of Kaggle's size: an hour a step, a Kaggle notebook's memory, the turns of the SandMLE paper."""

SAMPLE = "prepared/public/sample_submission.csv"
DESCRIPTION = "prepared/public/description.md"


def build_task(entry: Entry, competition: Competition, data: Path, grader: GraderName, out: Path) -> Task:
    """Write the task folder ``out/<task id>`` of a competition whose data lie prepared in ``data``, and read it back.

    Every file of the data is read once, to hash it.

    Raises:
        BadInput: the board, the answers or the sample submission can't be used, or our graders can't score this
            competition; says what to do.
        EnvironmentProblem: ``out`` can't be written.
    """
    if grader == "sandmle" and not competition.metric:
        why = competition.note or "its metric or format is none of ours"
        raise BadInput(f"needs --grader original: {why}")
    task_id = entry.id.lower()
    with disk_errors(out), scratch_folder(out) as scratch:
        _Builder(entry, competition, data, grader, scratch / task_id).build()
        publish_folder(scratch / task_id, out / task_id)
    return Task.load(out / task_id)


class _Builder:
    """Fills the folder of one task; ``files`` are the hashes of what lies there so far."""

    def __init__(self, entry: Entry, competition: Competition, data: Path, grader: GraderName, folder: Path) -> None:
        self.files: dict[str, str] = {}
        self._entry = entry
        self._competition = competition
        self._data = data
        self._ours = grader == "sandmle"
        self._folder = folder

    def build(self) -> None:
        """Write everything, the manifest last."""
        board = self._entry.board()
        sample = self._data / self._entry.sample_submission
        prepared = self._data / self._entry.id / "prepared"
        header = read_header(sample)
        self._bring(prepared / "public", "prepared/public")
        self._bring_file(sample, SAMPLE)
        if DESCRIPTION not in self.files:
            write_text(self._folder / DESCRIPTION, self._entry.description())
            self._hash(DESCRIPTION)
        form = self._answers(header) if self._ours else None
        if not self._ours:
            self._bring(prepared / "private", f"prepared/private/{HIDDEN}")
            self._record(ORIGINAL, OriginalGrader(package="mle-bench", competition=self._entry.id))
        self._record(BOARDS, Boards(private=board))
        manifest = self._manifest(board, form)
        write_text(self._folder / "task.json", manifest.to_text())
        if self._ours:
            self._check(Task(self._folder, manifest))

    def _answers(self, header: tuple[str, ...]) -> SubmissionFormat:
        name = "prepared/private/answers.csv"
        target = self._folder / name
        target.parent.mkdir(parents=True)
        source = self._data / self._entry.answers
        labels = write_answers(source, target, self._competition, header, self._folder.name)
        self._hash(name)
        return submission_format(self._competition, header, labels)

    def _manifest(self, board: tuple[float, ...], form: SubmissionFormat | None) -> TaskManifest:
        competition, entry = self._competition, self._entry
        try:
            return TaskManifest(
                id=self._folder.name,
                title=entry.title,
                modality=competition.modality,
                problem_type=competition.problem,
                metric=competition.metric or entry.grader,
                lower_is_better=board_lower_is_better(board),
                submission=form,
                thresholds=thresholds_from_leaderboard(board),
                limits=LIMITS,
                lineage=Lineage(seed_id=entry.id, seed_family=entry.id, seed_source="mlebench"),
                made_by=MadeBy(team="real", versions={"sandmle": version("sandmle")}),
                files=dict(sorted(self.files.items())),
            )
        except ValidationError as error:
            board_file = entry.folder / "leaderboard.csv"
            raise BadInput(f"{board_file}: not sorted, best first ({first_problem(error)})") from error

    def _check(self, task: Task) -> None:
        """See that our grader can read the answers, and that board and metric agree."""
        metric = get_metric(task.manifest.metric)
        if metric.lower_is_better != task.manifest.lower_is_better:
            board = self._entry.folder / "leaderboard.csv"
            raise BadInput(f"{board}: not sorted, best first, as {metric.name} has it")
        try:
            load_answers(task)
        except BadInput as error:
            raise BadInput(f"needs --grader original: {str(error).removeprefix(f'{task.answers}: ')}") from error

    def _bring(self, source: Path, target: str) -> None:
        """All files of the folder ``source``; links are followed."""
        for root, _, names in os.walk(source, followlinks=True):
            place = Path(root).relative_to(source)
            for name in names:
                self._bring_file(Path(root) / name, (target / place / name).as_posix())

    def _bring_file(self, source: Path, target: str) -> None:
        if target not in self.files:
            self.files[target] = bring_file(source, self._folder / target)

    def _record(self, name: str, record: VersionedRecord) -> None:
        write_text(self._folder / "provenance" / name, record.to_text())
        self._hash(f"provenance/{name}")

    def _hash(self, name: str) -> None:
        self.files[name] = sha256_file(self._folder / name)
