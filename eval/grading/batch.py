"""Many submissions at once, in MLE-bench's own terms: its JSONL file in, its report out.

A line names a competition and a submission; blank lines and those that start with ``#`` or ``//`` are skipped. Nothing
that is wrong with a line or a submission ends the batch: an invalid submission has its report, as for MLE-bench, and a
line that can't be graded at all is told apart.

Field names and rounding are MLE-bench's (arXiv 2410.07095), so that tools made for its reports read ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from sandmle.errors import BadInput, SandmleError
from sandmle.eval.grading._answers import AnswerKey, load_answers
from sandmle.eval.grading._grade import grade_submission, invalid_report
from sandmle.eval.grading.medals import board_score
from sandmle.eval.grading.original import read_original
from sandmle.grades import GradeError, GradeReport
from sandmle.record import Record
from sandmle.task import Task

__all__ = ["BatchReport", "CompetitionReport", "by_competition", "grade_batch"]

_COMMENTS = ("#", "//")


class CompetitionReport(Record):
    """One submission; the score is rounded to 5 places, thresholds are null where the task has none."""

    competition_id: str
    score: float | None
    gold_threshold: float | None
    silver_threshold: float | None
    bronze_threshold: float | None
    median_threshold: float | None
    any_medal: bool
    gold_medal: bool
    silver_medal: bool
    bronze_medal: bool
    above_median: bool
    submission_exists: bool
    valid_submission: bool
    is_lower_better: bool
    created_at: str
    submission_path: str


class BatchReport(Record):
    """All submissions, and their totals."""

    total_runs: int
    total_runs_with_submissions: int
    total_valid_submissions: int
    total_medals: int
    total_gold_medals: int
    total_silver_medals: int
    total_bronze_medals: int
    total_above_median: int
    competition_reports: tuple[CompetitionReport, ...]


def by_competition(tasks: Iterable[Task]) -> dict[str, Task]:
    """Tasks by what a line may call them: their id, and a real competition's own."""
    found: dict[str, Task] = {}
    for task in tasks:
        found[task.id] = task
        if task.manifest.made_by.team == "real":
            found[task.manifest.lineage.seed_id] = task
    return found


def grade_batch(lines: Iterable[str], tasks: Mapping[str, Task]) -> tuple[BatchReport, tuple[str, ...]]:
    """Grade every submission that ``lines`` name.

    Args:
        lines: JSON objects with ``competition_id`` and ``submission_path``, one a line.
        tasks: by the names that lines use, see ``by_competition``.

    Returns:
        The report, and for each line that could not be graded what is wrong with it.
    """
    reports: list[CompetitionReport] = []
    problems: list[str] = []

    @lru_cache(maxsize=2)
    def key_of(competition: str) -> AnswerKey | None:
        return None if read_original(tasks[competition]) else load_answers(tasks[competition])

    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith(_COMMENTS):
            continue
        try:
            competition, path = _parse(text)
            if competition not in tasks:
                raise BadInput(f"the suite has no task {competition!r} on this machine")
            reports.append(_report(competition, tasks[competition], path, key_of(competition)))
        except SandmleError as error:
            problems.append(f"line {number}: {error}")
    return _totals(reports), tuple(problems)


def _parse(text: str) -> tuple[str, Path]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"not JSON ({error})") from error
    names = ("competition_id", "submission_path")
    if not isinstance(found, dict) or not all(isinstance(found.get(name), str) for name in names):
        raise BadInput("not a JSON object with the texts competition_id and submission_path")
    return found["competition_id"], Path(found["submission_path"])


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name too long, for one
        return False


def _report(competition: str, task: Task, path: Path, key: AnswerKey | None) -> CompetitionReport:
    exists = path.suffix.lower() == ".csv" and _is_file(path)
    grade = grade_submission(task, path, key=key) if exists else _no_file(task)
    tiers = grade.thresholds.model_dump() if grade.thresholds else {}
    return CompetitionReport(
        competition_id=competition,
        score=None if grade.score is None else board_score(grade.score),
        gold_threshold=tiers.get("gold"),
        silver_threshold=tiers.get("silver"),
        bronze_threshold=tiers.get("bronze"),
        median_threshold=tiers.get("median"),
        any_medal=grade.medal is not None,
        gold_medal=grade.medal == "gold",
        silver_medal=grade.medal == "silver",
        bronze_medal=grade.medal == "bronze",
        above_median=grade.above_median,
        submission_exists=exists,
        valid_submission=grade.valid,
        is_lower_better=grade.lower_is_better,
        created_at=datetime.now(UTC).isoformat(),
        submission_path=str(path),
    )


def _no_file(task: Task) -> GradeReport:
    """MLE-bench takes only files whose name ends in .csv."""
    return invalid_report(task.manifest, GradeError.MISSING, "there is no such CSV file")


def _totals(reports: list[CompetitionReport]) -> BatchReport:
    return BatchReport(
        total_runs=len(reports),
        total_runs_with_submissions=sum(report.submission_exists for report in reports),
        total_valid_submissions=sum(report.valid_submission for report in reports),
        total_medals=sum(report.any_medal for report in reports),
        total_gold_medals=sum(report.gold_medal for report in reports),
        total_silver_medals=sum(report.silver_medal for report in reports),
        total_bronze_medals=sum(report.bronze_medal for report in reports),
        total_above_median=sum(report.above_median for report in reports),
        competition_reports=tuple(reports),
    )
