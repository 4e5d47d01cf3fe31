"""``sandmle grade``: the grader's verdict on one submission file, or on a batch of them in MLE-bench's terms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandmle.errors import BadInput

if TYPE_CHECKING:
    from sandmle.eval.grading.batch import BatchReport
    from sandmle.grades import GradeReport

__all__ = ["grade_command"]


def grade_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="[TASK] FILE",
            help="A task's folder and a submission as a CSV file; with --suite one JSONL file alone, whose lines are"
            ' {"competition_id": ..., "submission_path": ...}.',
            show_default=False,
        ),
    ],
    suite: Annotated[
        str | None, typer.Option("--suite", metavar="SUITE", help="Grade many submissions, to tasks of this suite.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="With --suite: write MLE-bench's report as JSON.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole record as JSON.")] = False,
) -> None:
    """Grade a submission, or with --suite many.

    Exit code 0: it has a score; 2: it can't be scored, or the task can't be used. With --suite an invalid submission
    is part of the report, and 2 means that some lines could not be graded.
    """
    if len(paths) != (2 if suite is None else 1):
        raise BadInput("grade takes a TASK and a FILE, or --suite SUITE and one FILE")
    if suite is not None:
        _grade_many(suite, paths[0], out, as_json=as_json)
    elif out is not None:
        raise BadInput("--out is for --suite; use --json for one submission")
    else:
        _grade_one(*paths, as_json=as_json)


def _grade_one(task: Path, file: Path, *, as_json: bool) -> None:
    from sandmle.eval.grading import grade_submission
    from sandmle.task import Task

    report = grade_submission(Task.load(task), file)
    if as_json:
        typer.echo(report.to_text(), nl=False)
    if report.error is not None:
        raise BadInput(f"{file}: {report.error.value}: {report.detail}")
    if not as_json:
        typer.echo("\n".join(_lines(report)))


def _grade_many(suite: str, file: Path, out: Path | None, *, as_json: bool) -> None:
    from sandmle.eval.grading.batch import by_competition, grade_batch
    from sandmle.eval.suites import load_suite
    from sandmle.files import disk_errors, write_text

    tasks = by_competition(load_suite(suite).tasks)
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, ValueError) as error:
        raise BadInput(f"{file}: can't be read ({error})") from error
    report, problems = grade_batch(lines, tasks)
    text = report.model_dump_json(indent=2) + "\n"
    if out is not None:
        with disk_errors(out):
            write_text(out, text)
    typer.echo(text if as_json else _summary(report), nl=not as_json)
    for problem in problems:
        typer.echo(f"{file}, {problem}", err=True)
    if problems:
        raise BadInput(f"{file}: {len(problems)} lines could not be graded; all others were")


def _summary(report: BatchReport) -> str:
    gold, silver, bronze = report.total_gold_medals, report.total_silver_medals, report.total_bronze_medals
    return (
        f"{report.total_runs} runs: {report.total_runs_with_submissions} with a submission,"
        f" {report.total_valid_submissions} valid, {report.total_above_median} above the median,"
        f" {report.total_medals} medals (gold {gold}, silver {silver}, bronze {bronze})"
    )


def _lines(report: GradeReport) -> list[str]:
    better = "smaller" if report.lower_is_better else "larger"
    lines = [f"valid: {report.metric} {report.score:.6g} ({better} is better)"]
    if report.public_score is not None:
        lines.append(f"on the Public rows: {report.public_score:.6g}")
    if report.human_rank is not None:
        lines.append(f"HumanRank: {report.human_rank:.4f} (mean share of the teams that it meets or beats)")
    if report.thresholds is None:
        return [*lines, "the task has no thresholds, so there are no medals"]
    tiers = " · ".join(f"{tier} {value:.6g}" for tier, value in report.thresholds.model_dump().items())
    reached = ", ".join(tier.value for tier in report.reached) or "no tier"
    return [*lines, f"medal: {report.medal or 'none'}; reached {reached}", f"thresholds: {tiers}"]
