"""The report as CSV: one line a row, every number a column, unrounded."""

from __future__ import annotations

import csv
import io

from sandmle.eval.report._record import Estimate, RepeatStats, Report
from sandmle.record import Record

__all__ = ["render_csv"]

Cell = str | float | int | None


def render_csv(report: Report) -> str:
    """The rows with what they cost; what has no value is empty. Curves and profiles are in the JSON alone."""
    costs = {(cost.run, cost.scaffold, cost.policy): cost for cost in report.timing}
    lines = []
    for row in report.rows:
        cost = costs.get((row.run, row.scaffold, row.policy))
        who: dict[str, Cell] = {"protocol": report.protocol, "reward_preset": report.reward}
        who |= {"run": row.run, "scaffold": row.scaffold, "policy": row.policy}
        lines.append(who | _flat(row) | (_flat(cost) if cost else {}))
    names = list(dict.fromkeys(name for line in lines for name in line))
    out = io.StringIO()
    writer = csv.DictWriter(out, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def _flat(record: Record) -> dict[str, Cell]:
    found: dict[str, Cell] = {}
    for name, value in record:
        match value:
            case Estimate(mean=mean, low=low, high=high):
                found |= {name: mean, f"{name}_low": low, f"{name}_high": high}
            case RepeatStats(mean=mean, sem=sem):
                found |= {name: mean, f"{name}_sem": sem}
            case dict():
                found[name] = " ".join(f"{key}={count}" for key, count in value.items())
            case tuple():
                pass
            case _:
                found[name] = value
    return found
