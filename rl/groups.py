"""Which rollouts make a group, and which groups an update learns from.

A group is judged by what it can teach:

1. Rows older than ``max_staleness`` weight versions are dropped. A rollout that loses all its rows leaves the group.
2. Masked rollouts, and those without a reward, leave the baseline; they are counted, never scored 0.
3. A group that is *flat* has no advantage to learn from: one rollout counts, or all earned the same. It is dropped, for
   dynamic sampling (DAPO, arXiv 2503.14476) to draw another task, or kept with advantages of 0.

Everything that is dropped or missing is counted in a ``GroupTally``. Tallies add up, and their means are over rollouts,
so that small groups weigh no more than large ones.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from sandmle.record import Record
from sandmle.rl.algorithms import Estimator
from sandmle.rl.types import Group, Rollout

__all__ = [
    "BASELINE",
    "NEGLIGIBLE",
    "GroupSettings",
    "GroupTally",
    "Verdict",
    "drop_stale",
    "gather_groups",
    "judge_group",
    "permuted",
    "run_group",
]

NEGLIGIBLE = 1e-6
"""A group whose advantages are no larger is flat: what is left is rounding."""

BASELINE = 2
"""Rollouts that a baseline takes at least."""


class GroupSettings(Record):
    """How groups are made and chosen.

    Attributes:
        flat: what becomes of groups with nothing to learn from.
        max_staleness: weight versions by which a row may be older than the trainer; 0 is on-policy.
        refills: other groups drawn in an update for those that were dropped; 0 is no dynamic sampling.
    """

    flat: Literal["drop", "keep"] = "drop"
    max_staleness: Annotated[int, Field(ge=0)] = 0
    refills: Annotated[int, Field(ge=0)] = 16


@dataclass(frozen=True, kw_only=True)
class GroupTally:
    """What became of groups, rollouts and rows.

    Attributes:
        groups: judged in all.
        kept: that an update learns from.
        single: dropped or kept as flat since one rollout counts, or none.
        equal: flat since all rollouts earned the same.
        asked: rollouts that were started.
        cut: of them, those a deadline cut off.
        stale: rollouts that left their group because no row was fresh enough.
        unscored: rollouts with a reward that is missing, no number, or earned by an episode that saw answers.
        masked: masked rollouts by reason.
        counted: rollouts of the baselines.
        reward: sum over the counted rollouts.
        stale_rows: dropped because of their age.
        breaks: prefix breaks of all rollouts that arrived.
        tokens: sampled by all rollouts that arrived, whatever became of them, and by tries of them that broke off.
        runs: of their code, broken-off tries left out; ``sandbox_s`` the CPU seconds.
    """

    groups: int = 0
    kept: int = 0
    single: int = 0
    equal: int = 0
    asked: int = 0
    cut: int = 0
    stale: int = 0
    unscored: int = 0
    masked: Counter[str] = field(default_factory=Counter)
    counted: int = 0
    reward: float = 0.0
    stale_rows: int = 0
    breaks: int = 0
    tokens: int = 0
    runs: int = 0
    sandbox_s: float = 0.0

    def __add__(self, other: GroupTally) -> GroupTally:
        """Both together."""
        return GroupTally(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(self)})

    @property
    def mean_reward(self) -> float | None:
        """Over all counted rollouts alike, whatever group they are of; None without any."""
        return self.reward / self.counted if self.counted else None


@dataclass(frozen=True)
class Verdict:
    """What is left of a group, None if it is dropped, and what was counted on the way."""

    group: Group | None
    tally: GroupTally


def judge_group(group: Group, estimator: Estimator, settings: GroupSettings, version: int) -> Verdict:
    """Decide whether an update learns from a group, and from which of its rows.

    Args:
        group: as it arrived.
        estimator: of the advantages.
        settings: what is dropped.
        version: the trainer's weight version.
    """
    fresh = drop_stale(group, version - settings.max_staleness)
    counted = fresh.counted
    single = len(counted) < BASELINE
    equal = not single and _is_flat(counted, estimator)
    kept = bool(counted) and (settings.flat == "keep" or not (single or equal))
    tally = GroupTally(
        groups=1,
        kept=int(kept),
        single=int(single),
        equal=int(equal),
        asked=group.asked,
        cut=group.asked - len(group.rollouts),
        stale=len(group.rollouts) - len(fresh.rollouts),
        unscored=sum(not rollout.counted and rollout.mask_reason is None for rollout in fresh.rollouts),
        masked=Counter(rollout.mask_reason.value for rollout in fresh.rollouts if rollout.mask_reason is not None),
        counted=len(counted),
        reward=sum(rollout.reward or 0.0 for rollout in counted),
        stale_rows=_rows(group) - _rows(fresh),
        breaks=sum(rollout.breaks for rollout in group.rollouts),
        tokens=sum(rollout.discarded + _sampled(rollout) for rollout in group.rollouts),
        runs=sum(rollout.runs for rollout in group.rollouts),
        sandbox_s=sum(rollout.sandbox_s for rollout in group.rollouts),
    )
    return Verdict(fresh if kept else None, tally)


def drop_stale(group: Group, oldest: int) -> Group:
    """The group without rows of weights before ``oldest``, and without rollouts that lose all rows by it."""
    left = []
    for rollout in group.rollouts:
        rows = tuple(row for row in rollout.rows if row.weight_version >= oldest)
        if rows or not rollout.rows:
            left.append(replace(rollout, rows=rows))
    return replace(group, rollouts=tuple(left))


def _is_flat(counted: Sequence[Rollout], estimator: Estimator) -> bool:
    """Whether no turn of these rollouts has an advantage worth the name."""
    advantages = estimator.advantages([np.array(rollout.turn_rewards) for rollout in counted])
    return all(np.abs(of_turns).max(initial=0.0) <= NEGLIGIBLE for of_turns in advantages)


def _sampled(rollout: Rollout) -> int:
    return sum(int(row.mask.sum()) for row in rollout.rows)


def _rows(group: Group) -> int:
    return sum(len(rollout.rows) for rollout in group.rollouts)


def permuted(group: Group, rng: np.random.Generator) -> Group:
    """The group with the rewards of its counted rollouts dealt out anew among them, each to the last turn.

    A control: whatever a training gains from such rewards it does not owe to them.
    """
    counted = [rollout.counted for rollout in group.rollouts]
    dealt = iter(rng.permutation(np.array([rollout.reward for rollout in group.counted])).tolist())
    changed = [
        replace(rollout, turn_rewards=(*(0.0,) * (len(rollout.turn_rewards or (0.0,)) - 1), next(dealt)))
        if counts
        else rollout
        for rollout, counts in zip(group.rollouts, counted, strict=True)
    ]
    return replace(group, rollouts=tuple(changed))


def gather_groups(rollouts: Iterable[Rollout]) -> tuple[Group, ...]:
    """Groups of finished rollouts by their whole task id, in the order in which tasks first occur."""
    by_task: dict[str, list[Rollout]] = {}
    for rollout in rollouts:
        by_task.setdefault(rollout.task_id, []).append(rollout)
    return tuple(Group(task_id, tuple(found), asked=len(found)) for task_id, found in by_task.items())


async def run_group(
    task_id: str,
    rollouts: Sequence[Coroutine[Any, Any, Rollout]],
    *,
    deadline_s: float | None,
    give_up_s: float | None = None,
) -> Group:
    """Run the rollouts of one task at once; stragglers are cancelled.

    Args:
        task_id: of the task.
        rollouts: one coroutine each; cancelling it must close its sandbox.
        deadline_s: seconds after which the group goes on with what has arrived, as soon as two rollouts count; None
            waits for all.
        give_up_s: seconds after which it goes on even if fewer count, so that nothing that hangs can stall an update.

    Returns:
        The group, its rollouts in the order of ``rollouts`` whatever order they arrived in.

    Raises:
        Exception: what a rollout raised; the others are cancelled. Faults of infrastructure are no exceptions here: the
            episode runner turns them into masked rollouts.
    """
    tasks = [asyncio.ensure_future(rollout) for rollout in rollouts]
    try:
        await _wait_for_enough(tasks, deadline_s, give_up_s)
        arrived = tuple(task.result() for task in tasks if task.done())
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return Group(task_id, arrived, asked=len(tasks))


async def _wait_for_enough(
    tasks: Sequence[asyncio.Task[Rollout]], deadline_s: float | None, give_up_s: float | None
) -> None:
    """Until all are done, or the deadline has passed and enough count, or it is time to give up.

    Raises what a task raised at once.
    """
    loop = asyncio.get_running_loop()
    started, pending = loop.time(), set(tasks)
    while pending:
        passed = loop.time() - started
        needed = len(tasks) if deadline_s is None or passed < deadline_s else BASELINE
        if give_up_s is not None and passed >= give_up_s:
            needed = 0
        if sum(task.done() and task.result().counted for task in tasks) >= needed:
            return
        ahead = [end - passed for end in (deadline_s, give_up_s) if end is not None and end > passed]
        done, pending = await asyncio.wait(
            pending, timeout=min(ahead, default=None), return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            task.result()
