"""``ExperimentReport``: every arm against the baseline, set by set, whatever it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from sandmle.eval.report import Estimate, clustered_mean, paired_difference
from sandmle.record import Record, VersionedRecord
from sandmle.rl.experiments._costs import Cost
from sandmle.rl.experiments._measure import Measured, mean

__all__ = ["ArmRow", "Cell", "ExperimentReport", "Results", "arm_rows"]

POOLED = "all"
UNMATCHED = "costs not matched"
Results = Mapping[str, Mapping[str, Sequence[Measured]]]
"""Episodes of an arm, of all seeds together, by set and then by ``sampled`` or ``greedy``."""


class Cell(Record):
    """One way to ask an arm, on one set.

    Means and shares are of the episodes that are not masked, and None where all are.

    Attributes:
        reward: mean, with a 95 % bootstrap interval that draws tasks.
        gain: mean over tasks of the difference to the baseline, paired by task; None for the baseline itself.
        gold: share of episodes that reach gold; ``valid`` of those with a valid submission.
        format: mean share of replies that could be parsed.
    """

    tasks: int
    episodes: int
    masked: int
    reward: Estimate | None
    gain: Estimate | None
    gold: float | None
    valid: float | None
    format: float | None


class ArmRow(Record):
    """One arm; ``cells`` by set and way of asking.

    Attributes:
        note: what was chosen on training tasks.
        cost: of its own trainings, of all seeds together.
        unmatched: seeds whose training stopped at ``match.at_most`` before it had used as much as the arm to match.
    """

    name: str
    note: str = ""
    cost: Cost = Cost()
    unmatched: tuple[int, ...] = ()
    cells: dict[str, dict[str, Cell]]


class ExperimentReport(VersionedRecord):
    """``report.json``.

    Attributes:
        tasks: how many each set has.
        excluded: made, but a constant script reaches gold.
        cpu_s: CPU seconds of all commands that it took, and of their children; ``wall_s`` wall seconds.
    """

    baseline: str
    seeds: tuple[int, ...]
    samples: int
    tasks: dict[str, int]
    excluded: int
    rows: tuple[ArmRow, ...]
    cpu_s: float = 0.0
    wall_s: float = 0.0

    def to_markdown(self) -> str:
        """The table, its costs, and how to read it."""
        ways = sorted({way for row in self.rows for cells in row.cells.values() for way in cells}, reverse=True)
        sets = [*(name for name in self.tasks if name != "train"), POOLED]
        parts = [self._head()]
        for way in ways:
            told = f"{self.samples} samples a task at temperature 1" if way == "sampled" else "greedy"
            parts.append(f"## Mean reward, {told}\n\n" + self._table(sets, way))
        return "\n\n".join([*parts, "## What the trainings used\n\n" + self._costs()]) + "\n"

    def _head(self) -> str:
        sizes = ", ".join(f"{count} {name}" for name, count in self.tasks.items())
        return (
            f"# Experiment\n\nTasks: {sizes}; {self.excluded} more were made on which a constant script reaches gold."
            f" Seeds: {', '.join(map(str, self.seeds))}."
            f" In brackets: 95 % bootstrap interval, drawn by task; gain: paired difference to `{self.baseline}`.\n\n"
            f"It took {self.cpu_s:,.0f} CPU seconds, children included, and {self.wall_s:,.0f} s of wall time,"
            " all commands together."
        )

    def _table(self, sets: Sequence[str], way: str) -> str:
        lines = ["| arm | " + " | ".join(f"{name} | gain" for name in sets) + " | gold | valid | masked |"]
        lines.append("| --- |" + " --- | --- |" * len(sets) + " --- | --- | --- |")
        for row in self.rows:
            cells = [row.cells[name][way] for name in sets if way in row.cells.get(name, {})]
            if cells:
                told = " | ".join(f"{_shown(cell.reward)} | {_shown(cell.gain, sign='+')}" for cell in cells)
                note = f" ({row.note})" if row.note else ""
                lines.append(f"| {row.name}{note} | {told} | {_shares(cells[-1])} |")
        return "\n".join(lines)

    def _costs(self) -> str:
        lines = ["| arm | updates | rollouts | sampled tokens | sandbox runs | their CPU seconds |"]
        lines.append("| --- |" + " --- |" * 5)
        lines += [
            f"| {row.name}{_unmatched(row)} | {row.cost.updates:,} | {row.cost.rollouts:,} | {row.cost.tokens:,}"
            f" | {row.cost.sandbox_runs:,} | {row.cost.sandbox_s:,.0f} |"
            for row in self.rows
            if row.cost.rollouts
        ]
        if any(row.unmatched for row in self.rows):
            lines.append(f"\n{UNMATCHED}: made as many updates as `match.at_most` allows and used less all the same.")
        return "\n".join(lines)


def _unmatched(row: ArmRow) -> str:
    seeds = ", ".join(map(str, row.unmatched))
    return f" ({UNMATCHED}: seed {seeds})" if seeds else ""


def _shares(cell: Cell) -> str:
    known = ["-" if share is None else f"{share:.0%}" for share in (cell.gold, cell.valid)]
    return " | ".join([*known, f"{cell.masked / max(cell.episodes, 1):.1%}"])


def _shown(estimate: Estimate | None, sign: str = "") -> str:
    if estimate is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.mean:{sign}.3f}"
    return f"{estimate.mean:{sign}.3f} [{estimate.low:{sign}.3f}, {estimate.high:{sign}.3f}]"


def arm_rows(
    results: Mapping[str, Results],
    notes: Mapping[str, str],
    costs: Mapping[str, Cost],
    baseline: str,
    unmatched: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
) -> tuple[ArmRow, ...]:
    """Compare all arms with the baseline.

    Args:
        results: of each arm; the pooled set is added.
        notes: of arms that have one.
        costs: of arms that trained.
        baseline: name of an arm of ``results``.
        unmatched: see ``ArmRow``, by arm.
    """
    pooled = {name: {**of_arm, POOLED: _pooled(of_arm)} for name, of_arm in results.items()}
    return tuple(
        ArmRow(
            name=name,
            note=notes.get(name, ""),
            cost=costs.get(name, Cost()),
            unmatched=unmatched.get(name, ()),
            cells={
                of_set: {
                    way: _cell(found, None if name == baseline else pooled[baseline][of_set].get(way))
                    for way, found in ways.items()
                }
                for of_set, ways in of_arm.items()
            },
        )
        for name, of_arm in pooled.items()
    )


def _pooled(of_arm: Results) -> dict[str, list[Measured]]:
    ways: dict[str, list[Measured]] = {}
    for of_set in of_arm.values():
        for way, found in of_set.items():
            ways.setdefault(way, []).extend(found)
    return ways


def _cell(found: Sequence[Measured], theirs: Sequence[Measured] | None) -> Cell:
    rewards = _by_task(found)
    paired = paired_difference(rewards, _by_task(theirs)) if theirs is not None else None
    counted = [each for each in found if each.reward is not None]
    return Cell(
        tasks=len(rewards),
        episodes=len(found),
        masked=len(found) - len(counted),
        reward=clustered_mean(rewards),
        gain=paired[0] if paired else None,
        gold=mean(each.gold for each in counted),
        valid=mean(each.valid for each in counted),
        format=mean(each.format for each in counted),
    )


def _by_task(found: Sequence[Measured]) -> dict[str, list[float]]:
    """Rewards by task; a masked episode has none."""
    rewards: dict[str, list[float]] = {}
    for each in found:
        if each.reward is not None:
            rewards.setdefault(each.task_id, []).append(each.reward)
    return rewards
