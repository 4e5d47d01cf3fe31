"""A report as plain tables and lines of text, ready for any renderer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from sandmle.eval.report._record import Cost, Difference, Estimate, RepeatStats, Report, Row, TurnPoint
from sandmle.eval.runs import BudgetSettings

__all__ = ["Table", "footnotes", "headline", "name_of", "tables"]

PRIVILEGED = "† was handed the hidden rule: a calibration, not a measurement."
LIMITS = 8
"""Turn limits that the table shows at most."""
_EMPTY = "-"
T = TypeVar("T")


@dataclass(frozen=True)
class Table:
    """A title, one header a column, and rows of text; the first column is a name, the others are numbers."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def headline(report: Report) -> list[str]:
    """The lines that say what was measured and how: no table may be read without them."""
    lines = [f"protocol {report.protocol} · reward {report.reward}"]
    for run in report.runs:
        name = f"{run.label}: " if run.label else ""
        tiers = " and ".join(run.isolation)
        budget = "" if run.budget == BudgetSettings() else f" · {run.budget}"
        lines.append(
            f"{name}suite {run.suite} · {run.tasks} task{_s(run.tasks)} · {run.repeats} repeat{_s(run.repeats)}"
            f" · seed {run.seed} · temperature {run.temperature:g}{budget} · isolation tier {tiers}"
        )
    if report.episodes == 0:
        lines.append("no episode is finished yet: nothing to report")
    elif report.episodes < report.expected:
        lines.append(f"unfinished: {report.episodes} of {report.expected} episodes; the same command resumes the run")
    return lines


def tables(report: Report) -> list[Table]:
    """The report's tables, privileged policies apart; none where no episode is finished."""
    if report.episodes == 0:
        return []
    measured = [row for row in report.rows if not row.privileged]
    calibration = [row for row in report.rows if row.privileged]
    found = [
        _results(report, "Results", measured),
        _results(report, "Calibration: policies that were handed the hidden rule", calibration),
        _scores(report),
        _over_repeats(report),
        _differences(report),
        _turn_limits(report),
        _behaviour(report),
        _seconds(report),
    ]
    return [table for table in found if table.rows]


def footnotes(report: Report) -> list[str]:
    """What a reader must know about the tables."""
    if report.episodes == 0:
        return []
    lines = [
        "n: episodes; mask: share left out of every mean, for the reasons counted below; >med: above the median"
        " threshold; any: any medal; [ ]: 95 % interval from a bootstrap that resamples tasks; overflow: share of"
        " episodes whose prompts outgrew the context or that ended by a token budget; code: CPU seconds of the agent's"
        " code; overhead: wall seconds of its steps beyond that.",
    ]
    if _scores(report).rows:
        lines.append(
            "headroom: of the way from the dummy to the Bayes score; AUP: area under the performance profile, against"
            " the best scores in this report; overfit gap: score on the Public less that on the Private rows, in units"
            " of the task."
        )
    if any(row.privileged for row in report.rows):
        lines.append(PRIVILEGED)
    for row in report.rows:
        who = name_of(report, row)
        if row.leaked:
            lines.append(f"LEAK: {who}: {row.leaked} episode{_s(row.leaked)} saw a canary of the hidden labels.")
        if row.masked:
            lines.append(f"masked: {who}: {_counts(row.masked_by)}.")
        if row.errors:
            lines.append(f"invalid: {who}: {_counts(row.errors)}.")
    return lines


def _results(report: Report, title: str, rows: Sequence[Row]) -> Table:
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("policy", lambda row: name_of(report, row)),
        ("n", lambda row: str(row.episodes)),
        ("mask", lambda row: _percent(row.masked / row.episodes if row.episodes else None)),
        ("valid", lambda row: _percent(row.valid)),
        (">med", lambda row: _percent(row.above_median)),
        ("bronze", lambda row: _percent(row.bronze)),
        ("silver", lambda row: _percent(row.silver)),
        ("gold", lambda row: _percent(row.gold)),
        ("any", lambda row: _percent(row.any_medal)),
        ("mean reward", lambda row: _estimate(row.reward)),
    ]
    return _table(title, columns, rows)


def _scores(report: Report) -> Table:
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("policy", lambda row: name_of(report, row)),
        ("headroom", lambda row: _estimate(row.headroom)),
        ("HumanRank", lambda row: _estimate(row.human_rank)),
        ("AUP", lambda row: _number(row.aup, 3)),
        ("overfit gap", lambda row: _estimate(row.overfit_gap, signed=True)),
    ]
    return _filled(_table("Scores", columns, [row for row in report.rows if row.tasks]))


def _turn_limits(report: Report) -> Table:
    rows = [row for row in report.rows if row.curve]
    longest = max((len(row.curve) for row in rows), default=0)
    limits = sorted({round(limit) for limit in np.geomspace(1, longest, LIMITS)}) if longest > 1 else []

    def share(limit: int) -> Callable[[Row], str]:
        return lambda row: _after(row.curve[min(limit, len(row.curve)) - 1])

    columns = [("policy", lambda row: name_of(report, row)), *((str(limit), share(limit)) for limit in limits)]
    return _table("After so many turns: valid / any medal, %", columns, rows if limits else [])


def _after(point: TurnPoint) -> str:
    medal = _EMPTY if point.any_medal is None else f"{100 * point.any_medal:.0f}"
    return f"{100 * point.valid:.0f}/{medal}"


def _over_repeats(report: Report) -> Table:
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("policy", lambda row: name_of(report, row)),
        ("repeats", lambda row: str(row.reward_by_repeat.repeats if row.reward_by_repeat else 0)),
        ("mean reward", lambda row: _repeats(row.reward_by_repeat, 1, 3)),
        ("any medal, %", lambda row: _repeats(row.any_medal_by_repeat, 100, 1)),
    ]
    repeated = [row for row in report.rows if row.reward_by_repeat and row.reward_by_repeat.repeats > 1]
    return _table("Mean ± SEM over repeats", columns, repeated)


def _differences(report: Report) -> Table:
    versus = report.differences[0].versus if report.differences else ""
    columns: list[tuple[str, Callable[[Difference], str]]] = [
        ("policy", lambda row: name_of(report, row)),
        ("tasks", lambda row: str(row.tasks)),
        ("difference", lambda row: _estimate(row.reward, signed=True)),
    ]
    return _table(f"Mean reward less that of {versus}, paired by task", columns, report.differences)


def _behaviour(report: Report) -> Table:
    columns: list[tuple[str, Callable[[Cost], str]]] = [
        ("policy", lambda cost: name_of(report, _row_of(report, cost))),
        ("format", lambda cost: _percent(_row_of(report, cost).format_ok)),
        ("turns", lambda cost: _number(_row_of(report, cost).turns, 1)),
        ("overflow", lambda cost: _percent(_row_of(report, cost).overflow)),
        ("tok in", lambda cost: _number(cost.prompt_tokens, 0)),
        ("tok out", lambda cost: _number(cost.completion_tokens, 0)),
        ("cost", lambda cost: _number(cost.money, 4)),
    ]
    return _filled(_table("Behaviour, mean an episode", columns, report.timing))


def _seconds(report: Report) -> Table:
    columns: list[tuple[str, Callable[[Cost], str]]] = [
        ("policy", lambda cost: name_of(report, _row_of(report, cost))),
        ("code", lambda cost: _number(cost.code_s, 2)),
        ("overhead", lambda cost: _number(cost.overhead_s, 2)),
        ("model", lambda cost: _number(cost.model_s, 2)),
        ("all", lambda cost: _number(cost.wall_s, 2)),
    ]
    return _table("Seconds, mean an episode", columns, report.timing)


def _row_of(report: Report, cost: Cost) -> Row:
    who = (cost.run, cost.scaffold, cost.policy)
    return next(row for row in report.rows if (row.run, row.scaffold, row.policy) == who)


def _table(title: str, columns: Sequence[tuple[str, Callable[[T], str]]], rows: Sequence[T]) -> Table:
    headers = tuple(header for header, _ in columns)
    return Table(title, headers, tuple(tuple(show(row) for _, show in columns) for row in rows))


def _filled(table: Table) -> Table:
    """The table without its empty columns; without rows where no column but the name is left."""
    places = [0, *(place for place in range(1, len(table.headers)) if any(row[place] != _EMPTY for row in table.rows))]
    rows = tuple(tuple(row[place] for place in places) for row in table.rows)
    return Table(table.title, tuple(table.headers[place] for place in places), rows if len(places) > 1 else ())


def name_of(report: Report, row: Row | Difference) -> str:
    """Only what tells rows apart: the run where there are several, the scaffold likewise; privileged ones marked."""
    several = len({other.scaffold for other in report.rows}) > 1
    parts = (row.run, row.scaffold if several else "", row.policy + ("†" if row.privileged else ""))
    return " ".join(filter(None, parts))


def _percent(share: float | None) -> str:
    return _EMPTY if share is None else f"{100 * share:.0f}%"


def _number(value: float | None, digits: int) -> str:
    return _EMPTY if value is None else f"{value:.{digits}f}"


def _estimate(estimate: Estimate | None, *, signed: bool = False) -> str:
    if estimate is None:
        return _EMPTY
    sign = "+" if signed else ""
    if estimate.low is None or estimate.high is None:
        return f"{estimate.mean:{sign}.3f}"
    return f"{estimate.mean:{sign}.3f} [{estimate.low:{sign}.2f}, {estimate.high:{sign}.2f}]"


def _repeats(stats: RepeatStats | None, scale: int, digits: int) -> str:
    if stats is None:
        return _EMPTY
    shown = f"{scale * stats.mean:.{digits}f}"
    return shown if stats.sem is None else f"{shown} ± {scale * stats.sem:.{digits}f}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _s(count: int) -> str:
    return "" if count == 1 else "s"
