"""``Report`` and its parts. All that is time or cost lies in ``timing``; the rest is the same for equal runs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sandmle.eval.runs import BudgetSettings
from sandmle.record import Record, VersionedRecord
from sandmle.trajectory import IsolationTier, Protocol

__all__ = [
    "Comparison",
    "Cost",
    "Difference",
    "Estimate",
    "RepeatStats",
    "Report",
    "Row",
    "RunInfo",
    "Scores",
    "TurnPoint",
]

Share = Annotated[float, Field(ge=0, le=1)]


class Estimate(Record):
    """A mean over episodes and its 95 % bootstrap interval clustered by task; no interval for fewer than two tasks."""

    mean: float
    low: float | None
    high: float | None


class RepeatStats(Record):
    """Mean over full repeats of the repeat's own mean; ``sem`` is its standard error (ddof 1), None for one repeat.

    A repeat is full once every task of the run has a counted episode in it.
    """

    repeats: int
    mean: float
    sem: float | None


class TurnPoint(Record):
    """What a row's episodes had achieved after ``turns`` turns.

    Attributes:
        valid: share with a valid submission; ``any_medal`` with one that earns a medal, over tasks with thresholds.
    """

    turns: int
    valid: Share
    any_medal: Share | None


class Scores(Record):
    """What the scores of a row say beyond medals; to the letter in ``_scores`` and ``_profiles``.

    Attributes:
        headroom: mean share of the way from dummy to Bayes, over tasks whose Bayes score is known.
        human_rank: mean HumanRank, over tasks with leaderboards.
        overfit_gap: mean of Public less Private score of the submission that counts, in the task's unit, in [-1, 1].
        aup: area under the performance profile, relative to the best of the report's rows; None where no
            other row has played a task of it.
        profile: share of episodes within 0, 0.05, ... 1 units of the best score; empty where there is no ``aup``.
    """

    headroom: Estimate | None
    human_rank: Estimate | None
    overfit_gap: Estimate | None
    aup: Share | None
    profile: tuple[Share, ...]


class Row(Scores):
    """One policy in one scaffold. Every share and mean is over the unmasked episodes, None where there are none.

    Attributes:
        run: label of the run; empty where the report is of one run.
        tasks: tasks with at least one unmasked episode.
        episodes: finished ones, of ``expected``.
        masked_by: how many episodes each status masked.
        leaked: episodes in which a canary of the hidden labels was seen; they are counted like any other.
        valid: share of episodes whose graded submission has a score.
        above_median: share strictly better than the median threshold; this and the medals are over tasks that have
            thresholds.
        bronze: share that won exactly this medal; ``any_medal`` any.
        reward_by_repeat: mean reward a repeat; ``any_medal_by_repeat`` the share of episodes with a medal.
        format_ok: mean share of an episode's replies that the scaffold's parser accepted the first time.
        turns: mean model calls an episode.
        overflow: share of episodes that left something out of a prompt to fit the context, or ended by a token budget.
        curve: by turn limit, from prefixes of the same episodes; empty for runs of an older sandmle.
        errors: how many submissions had each code.
    """

    run: str
    scaffold: str
    policy: str
    privileged: bool
    tasks: int
    episodes: int
    expected: int
    masked: int
    masked_by: dict[str, int]
    leaked: int
    valid: Share | None
    above_median: Share | None
    bronze: Share | None
    silver: Share | None
    gold: Share | None
    any_medal: Share | None
    reward: Estimate | None
    reward_by_repeat: RepeatStats | None
    any_medal_by_repeat: RepeatStats | None
    format_ok: Share | None
    turns: float | None
    overflow: Share | None
    curve: tuple[TurnPoint, ...]
    errors: dict[str, int]


class Difference(Record):
    """Mean reward of one row less that of the reference row, over the ``tasks`` that both have, paired by task."""

    run: str
    scaffold: str
    policy: str
    privileged: bool
    versus: str
    tasks: int
    reward: Estimate


class Comparison(Record):
    """One row of a second run less that of a first, over the ``tasks`` that both have, paired by task.

    Attributes:
        scaffold: of both, or ``one → other``, as is ``policy``.
        reward: difference of the mean reward; None where they share no task, as is ``any_medal``.
        any_medal: difference of the share of episodes with a medal, over tasks with thresholds.
        headroom: difference of the mean headroom, over tasks whose Bayes score is known.
        human_rank: difference of the mean HumanRank, over tasks with leaderboards.
    """

    scaffold: str
    policy: str
    tasks: int
    reward: Estimate | None
    any_medal: Estimate | None
    headroom: Estimate | None
    human_rank: Estimate | None


class Cost(Record):
    """Means an unmasked episode of one row: seconds and tokens.

    Attributes:
        code_s: CPU seconds of the agent's code.
        overhead_s: wall seconds of the steps that were not CPU of the agent's code.
        model_s: seconds inside model calls.
        wall_s: seconds of the whole episode.
        money: price of the tokens; None where it is not known.
    """

    run: str
    scaffold: str
    policy: str
    code_s: float
    overhead_s: float
    model_s: float
    wall_s: float
    prompt_tokens: float
    completion_tokens: float
    money: float | None


class RunInfo(Record):
    """One run of the report.

    Attributes:
        label: empty where the report is of one run.
        budget: what the run allowed an episode where that is not what task and scaffold say.
        isolation: tiers that the code really ran under, sorted.
    """

    label: str
    suite: str
    tasks: int
    repeats: int
    seed: int
    temperature: float
    budget: BudgetSettings
    isolation: tuple[IsolationTier, ...]
    versions: dict[str, str]


class Report(VersionedRecord):
    """What one or several runs under one protocol, reward preset, temperature and budget showed."""

    protocol: Protocol
    reward: str
    runs: tuple[RunInfo, ...]
    rows: tuple[Row, ...]
    differences: tuple[Difference, ...]
    timing: tuple[Cost, ...]

    @property
    def episodes(self) -> int:
        """Finished episodes."""
        return sum(row.episodes for row in self.rows)

    @property
    def expected(self) -> int:
        """Episodes that the runs have when they are complete."""
        return sum(row.expected for row in self.rows)
