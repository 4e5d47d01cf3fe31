"""The words and the records of training, from sampled tokens to what a loss is computed on.

    task -> group of rollouts -> rows of tokens -> examples (rows with advantages) -> batch -> loss

Vocabulary:
    rollout         one episode as the trainer sees it: what each turn earned, and its rows
    group           the rollouts of one task in one update; they are each other's baseline
    row             one sequence of tokens for the model, a prompt and all that followed, only ever extended by tokens;
                    a rollout is one row, or more where its scaffold rewrote the context (a prefix break)
    context         tokens of a row that the policy did not choose: prompts and observations
    loss mask       which tokens of a row are learnt from: sampled ones, never context
    masked          said of a rollout: our infrastructure failed, or the reward preset leaves it out; it is neither
                    learnt from nor part of a baseline
    counted         said of a rollout: not masked, and its reward is known
    return          what a turn and the turns after it earned
    baseline        what a return is compared with
    advantage       by how much a turn did better than its baseline, perhaps over their spread
    example         a row with the advantage of each token
    weight version  the number of updates behind the weights that sampled a token
    staleness       the trainer's weight version minus that of a row

Four log-probabilities of one sampled token, all in nats and none above 0:
    sampler         as the engine reported it that sampled the token, with its own numerics and perhaps older weights
    old             by the trainer before the update: the policy that the clipped ratio starts from
    new             by the weights in training; the only one with a gradient
    reference       by frozen weights that a KL penalty holds the policy to
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sandmle.trajectory import Episode, EpisodeStatus

__all__ = ["CONTEXT", "Bools", "Example", "Floats", "Group", "Ints", "Rollout", "Row"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CONTEXT = -1
"""The turn of a token that belongs to no reply."""


@dataclass(frozen=True, eq=False)
class Row:
    """One sequence of n tokens; entry i of each array is about token i.

    Attributes:
        token_ids: what was sent and sampled, shape (n,).
        turns: index of the turn whose reply the token is part of, ``CONTEXT`` for context; shape (n,).
        mask: the loss mask, shape (n,).
        sampler_logprobs: of sampled tokens, any number for context; shape (n,).
        weight_version: of the oldest weights that sampled one of the tokens.
    """

    token_ids: Ints
    turns: Ints
    mask: Bools
    sampler_logprobs: Floats
    weight_version: int

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together.

        Raises:
            ValueError: lengths differ, context is in the loss mask, or a log-probability in it is no number.
        """
        lengths = {len(self.token_ids), len(self.turns), len(self.mask), len(self.sampler_logprobs)}
        if len(lengths) != 1:
            raise ValueError(f"arrays of one row have {', '.join(map(str, sorted(lengths)))} tokens")
        if len(self) and (self.mask[0] or np.any(self.mask & (self.turns == CONTEXT))):
            raise ValueError("the loss mask holds context, or a first token, which nothing predicts")
        if not np.isfinite(self.sampler_logprobs[self.mask]).all():
            raise ValueError("the sampler gave a token of the loss mask a log-probability that is no finite number")

    def __len__(self) -> int:
        """Tokens."""
        return len(self.token_ids)


@dataclass(frozen=True, eq=False)
class Rollout:
    """One episode as the trainer sees it.

    Attributes:
        id: the episode's.
        task_id: compared as a whole, never parsed.
        turn_rewards: what each turn earned; their sum is the reward. None where no reward is known.
        rows: in the order of their turns; none where no prompt was ever answered.
        mask_reason: why the rollout is masked; None where it is not.
        breaks: how often a prompt broke with what came before it, and began a new row.
        discarded: tokens sampled by tries of the episode that infrastructure broke off.
        runs: of the policy's code; ``sandbox_s`` their CPU seconds.
    """

    id: str
    task_id: str
    turn_rewards: tuple[float, ...] | None
    rows: tuple[Row, ...] = ()
    mask_reason: EpisodeStatus | None = None
    breaks: int = 0
    discarded: int = 0
    runs: int = 0
    sandbox_s: float = 0.0

    def __post_init__(self) -> None:
        """Refuse rows that tell of turns which earned nothing, not even 0.

        Raises:
            ValueError: a row's tokens belong to a turn that ``turn_rewards`` does not have.
        """
        turns = math.inf if self.turn_rewards is None else len(self.turn_rewards)
        if any(len(row) and row.turns.max() >= turns for row in self.rows):
            raise ValueError(f"rollout {self.id}: tokens of more turns than the {turns} that have a reward")

    @classmethod
    def of_episode(cls, episode: Episode, rows: Sequence[Row] = (), breaks: int = 0, *, discarded: int = 0) -> Self:
        """An episode with what ``sampled_rows`` makes of it.

        The format part of its reward goes to the turns whose replies were accepted, all else to the last turn. What an
        episode earned that saw answers is not known.
        """
        steps = [turn.step for turn in episode.turns if turn.step is not None]
        return cls(
            id=episode.id,
            task_id=episode.task_id,
            turn_rewards=_turn_rewards(episode),
            rows=tuple(rows),
            mask_reason=episode.mask_reason,
            breaks=breaks,
            discarded=discarded,
            runs=len(steps),
            sandbox_s=math.fsum(step.cpu_s for step in steps),
        )

    @property
    def reward(self) -> float | None:
        """The sum of what the turns earned; None where it is not known."""
        return None if self.turn_rewards is None else math.fsum(self.turn_rewards)

    @property
    def counted(self) -> bool:
        """Whether it is part of its group's baseline and of the loss; a reward that is no number does not count."""
        return self.mask_reason is None and self.reward is not None and math.isfinite(self.reward)


def _turn_rewards(episode: Episode) -> tuple[float, ...] | None:
    if episode.reward is None or episode.leaked:
        return None
    accepted = [turn.format_ok for turn in episode.turns]
    if not accepted:
        return ()
    each = episode.reward.parts["format"] / max(sum(accepted), 1)
    earned = [each * ok for ok in accepted]
    earned[-1] += episode.reward.total - math.fsum(earned)
    return tuple(earned)


@dataclass(frozen=True, eq=False)
class Group:
    """The rollouts of one task in one update.

    Attributes:
        task_id: of all of them.
        rollouts: those that arrived, with different ids.
        asked: how many were started.
    """

    task_id: str
    rollouts: tuple[Rollout, ...]
    asked: int

    def __post_init__(self) -> None:
        """Refuse a mixture.

        Raises:
            ValueError: rollouts of another task, one rollout twice, or more than were started.
        """
        if strangers := {rollout.task_id for rollout in self.rollouts} - {self.task_id}:
            raise ValueError(f"group of task {self.task_id} holds rollouts of {', '.join(sorted(strangers))}")
        if len({rollout.id for rollout in self.rollouts}) < len(self.rollouts):
            raise ValueError(f"group of task {self.task_id} holds a rollout twice")
        if len(self.rollouts) > self.asked:
            raise ValueError(f"group of task {self.task_id} holds {len(self.rollouts)} rollouts of {self.asked}")

    @property
    def counted(self) -> tuple[Rollout, ...]:
        """The rollouts of the baseline."""
        return tuple(rollout for rollout in self.rollouts if rollout.counted)


@dataclass(frozen=True, eq=False)
class Example:
    """A row with the advantages of its tokens.

    Attributes:
        advantages: shape (n,), 0 outside the loss mask.
        old_logprobs: shape (n,), by the trainer before the update; None where one step is made of the batch, so that
            they are those of the weights in training.
    """

    row: Row
    advantages: Floats
    old_logprobs: Floats | None = None

    def __post_init__(self) -> None:
        """Refuse what can't be learnt from.

        Raises:
            ValueError: another length, or an advantage that is no finite number.
        """
        if len(self.advantages) != len(self.row):
            raise ValueError(f"{len(self.advantages)} advantages for {len(self.row)} tokens")
        if self.old_logprobs is not None and len(self.old_logprobs) != len(self.row):
            raise ValueError(f"{len(self.old_logprobs)} old log-probabilities for {len(self.row)} tokens")
        if not np.isfinite(self.advantages).all():
            raise ValueError("an advantage is no finite number")
