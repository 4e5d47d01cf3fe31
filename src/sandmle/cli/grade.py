"""``sandmle grade``: the grader's verdict on one submission file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sandmle.grades import GradeReport

__all__ = ["grade_command"]


def grade_command(
    task: Annotated[Path, typer.Argument(metavar="TASK", help="A task's folder.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A submission, as a CSV file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole record as JSON.")] = False,
) -> None:
    """Grade a submission. Exit code 0: it has a score; 2: it can't be scored, or the task can't be used."""
    from sandmle.errors import BadInput
    from sandmle.eval.grading import grade_submission
    from sandmle.task import Task

    report = grade_submission(Task.load(task), file)
    if as_json:
        typer.echo(report.to_text(), nl=False)
    if report.error is not None:
        raise BadInput(f"{file}: {report.error.value}: {report.detail}")
    if not as_json:
        typer.echo("\n".join(_lines(report)))


def _lines(report: GradeReport) -> list[str]:
    better = "smaller" if report.lower_is_better else "larger"
    lines = [f"valid: {report.metric} {report.score:.6g} ({better} is better)"]
    if report.public_score is not None:
        lines.append(f"on the Public rows: {report.public_score:.6g}")
    if report.thresholds is None:
        return [*lines, "the task has no thresholds, so there are no medals"]
    tiers = " · ".join(f"{tier} {value:.6g}" for tier, value in report.thresholds.model_dump().items())
    reached = ", ".join(tier.value for tier in report.reached) or "no tier"
    return [*lines, f"medal: {report.medal or 'none'}; reached {reached}", f"thresholds: {tiers}"]
