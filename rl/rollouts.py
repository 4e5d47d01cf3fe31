"""Groups of rollouts: the policy in training plays tasks in real sandboxes, through the one episode runner.

index of a group ─▶ task ─▶ n episodes at once (TokenChat over the engine, scaffold, sandbox, grader) ─▶ rows ─▶ Group
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from sandmle.agents.chat import Policy
from sandmle.agents.chat.tokens import Engine, Renderer, SamplingSettings, TokenChat
from sandmle.eval.runner import EpisodePlan, EpisodeResult, run_episode
from sandmle.graphs.scaffold import Budget, get_scaffold
from sandmle.record import Record, as_value_error, sha256_json
from sandmle.rl.groups import permuted, run_group
from sandmle.rl.rewards import get_preset
from sandmle.rl.rows import sampled_rows
from sandmle.rl.types import Group, Rollout
from sandmle.sandboxes import SandboxBackend
from sandmle.task import Task
from sandmle.trajectory import Episode, Protocol, episode_id

__all__ = ["Player", "RolloutSettings", "task_order"]


class RolloutSettings(Record):
    """How episodes of training are played.

    Attributes:
        scaffolds: take turns, group by group.
        protocol: what the agent learns about its score.
        reward: name of a reward preset.
        turns: model calls an episode; None for the task's limit.
        step_seconds: of one run of code; None for the task's limit.
        wall_seconds: of one episode.
        sampling: of one reply.
        group: episodes of one task.
        deadline_s: seconds after which a group goes on without its stragglers; None waits for all.
        give_up_s: seconds after which it does so even if fewer than two count; None waits, as long as limits let it.
        permute_rewards: a control: deal a group's rewards out anew among its rollouts.
    """

    scaffolds: Annotated[tuple[str, ...], Field(min_length=1)] = ("react",)
    protocol: Protocol = "train"
    reward: str = "paper"
    turns: Annotated[int, Field(gt=0)] | None = None
    step_seconds: Annotated[float, Field(gt=0)] | None = None
    wall_seconds: Annotated[float, Field(gt=0)] = 3_600.0
    sampling: SamplingSettings = SamplingSettings()
    group: Annotated[int, Field(ge=1)] = 4
    deadline_s: Annotated[float, Field(gt=0)] | None = None
    give_up_s: Annotated[float, Field(gt=0)] | None = None
    permute_rewards: bool = False

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        with as_value_error():
            get_preset(self.reward)
            for name in self.scaffolds:
                get_scaffold(name)
        return self


@dataclass(frozen=True)
class Player:
    """Plays episodes with one policy.

    Attributes:
        name: of the policy, as episodes carry it.
        tasks: to train on, in a fixed order.
        seed: fixes the order in which tasks are drawn, and with the engine's seed every token.
        on_episode: called for each finished episode.
    """

    name: str
    tasks: Sequence[Task]
    engine: Engine
    renderer: Renderer
    backend: SandboxBackend
    settings: RolloutSettings
    seed: int
    on_episode: Callable[[Episode], None] = lambda _: None

    async def group(self, index: int) -> Group:
        """The group of an index: episodes of the task that is its turn."""
        task = self.tasks[task_order(len(self.tasks), index, self.seed)]
        episodes = [self.rollout(task, index, repeat) for repeat in range(self.settings.group)]
        settings = self.settings
        group = await run_group(task.id, episodes, deadline_s=settings.deadline_s, give_up_s=settings.give_up_s)
        return permuted(group, np.random.default_rng([self.seed, index])) if self.settings.permute_rewards else group

    async def rollout(self, task: Task, index: int, repeat: int) -> Rollout:
        """One episode with its rows."""
        played = await self.episode(task, index, repeat)
        await asyncio.to_thread(self.on_episode, played.episode)
        discarded = played.discarded.completion_tokens
        return Rollout.of_episode(played.episode, *sampled_rows(played.episode), discarded=discarded)

    async def episode(self, task: Task, index: int, repeat: int) -> EpisodeResult:
        """One episode; its draws depend on the seeds, the index and the repeat alone."""
        chat = TokenChat(
            engine=self.engine,
            renderer=self.renderer,
            sampling=self.settings.sampling,
            key=f"{index:09d}/{repeat:04d}",
        )
        with self.engine.player():
            return await run_episode(self.plan(task, index, repeat), Policy(self.name, chat), self.backend)

    def plan(self, task: Task, index: int, repeat: int) -> EpisodePlan:
        """An episode before it is played."""
        settings = self.settings
        scaffold = get_scaffold(settings.scaffolds[index % len(settings.scaffolds)])
        budget = Budget.for_task(task)
        budget = replace(
            budget,
            turns=settings.turns or budget.turns,
            step_seconds=settings.step_seconds or budget.step_seconds,
            prompt_tokens=settings.sampling.max_tokens,
            wall_seconds=settings.wall_seconds,
        )
        number = index * settings.group + repeat
        identity = sha256_json([settings.model_dump(mode="json"), self.seed])
        return EpisodePlan(
            id=episode_id(task.manifest.content_hash, scaffold.name, self.name, identity, number),
            task=task,
            scaffold=scaffold,
            repeat=number,
            protocol=settings.protocol,
            weights=get_preset(settings.reward),
            budget=budget,
        )


def task_order(n_tasks: int, index: int, seed: int) -> int:
    """Which task the group of ``index`` plays: every task once, in an order of its own for each pass."""
    turn, place = divmod(index, n_tasks)
    return int(np.random.default_rng([seed, turn]).permutation(n_tasks)[place])
