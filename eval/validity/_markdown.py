"""The report as Markdown."""

from __future__ import annotations

from sandmle.eval.validity._record import Comparison, Estimate, Range, ValidityReport

__all__ = ["markdown_report"]


def markdown_report(report: ValidityReport) -> str:
    """Correlations with their intervals, then the standings of every pipeline."""
    lines = ["| comparison | tasks | pipelines | Spearman | Kendall |", "| --- | --- | ---: | --- | --- |"]
    lines += [_row(comparison) for comparison in report.comparisons]
    lines += ["", "Each with its 95 % intervals: over tasks (t) and over pipelines (p)."]
    if report.ceiling is not None:
        told = f"{report.ceiling.mean:.2f} {_range(report.ceiling.over_halves)}"
        lines += ["", f"Spearman between random halves of the real tasks, the ceiling: {told} over ways to halve."]
    lines += ["", f"{report.runs} runs, {report.failed} of them failed (ranked last); {report.cpu_s:.0f} CPU seconds."]
    for comparison in report.comparisons:
        if not comparison.name.endswith("without weak pipelines"):
            lines += ["", *_standings(comparison)]
    return "\n".join(lines) + "\n"


def _row(found: Comparison) -> str:
    counts = (f"{found.first} and {found.second}", str(len(found.pipelines)))
    return f"| {' | '.join((found.name, *counts, _estimate(found.spearman), _estimate(found.kendall)))} |"


def _standings(found: Comparison) -> list[str]:
    ordered = sorted(found.standings.items(), key=lambda item: -item[1][1])
    return [
        f"Standings ({found.name}): mean rank from 0 to 1, best last arm first",
        "",
        "| pipeline | first | second |",
        "| --- | ---: | ---: |",
        *(f"| {name} | {one:.2f} | {two:.2f} |" for name, (one, two) in ordered),
    ]


def _estimate(found: Estimate) -> str:
    told = [f"{found.value:.2f}"]
    told += [f"{_range(found.over_tasks)} t"] if found.over_tasks else []
    told += [f"{_range(found.over_pipelines)} p"] if found.over_pipelines else []
    return ", ".join(told)


def _range(found: Range) -> str:
    return f"[{found.low:.2f}, {found.high:.2f}]"
