"""``Playing``: how rLLM has our episodes played. One object for a training, used by the agent flow and the Workflow.

    row of a dataset, uid ``TASK:REPEAT``, engine ─▶ Player (scaffold, sandbox, grader) ─▶ Episode

It is sent to the process that trains, so it holds settings only; tokenizer and sandboxes are opened there, when they
are first needed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sandmle.agents.chat.tokens import Engine, Renderer
from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.eval.runner import EpisodePlan
from sandmle.rl.checkpoints import load_renderer
from sandmle.rl.rllm.sandboxes import LOCAL
from sandmle.rl.rllm.stragglers import Clocks
from sandmle.rl.rllm.tasks import task_of_row
from sandmle.rl.rllm.trouble import Trouble
from sandmle.rl.rollouts import Player, RolloutSettings
from sandmle.sandboxes import SandboxBackend
from sandmle.task import Task
from sandmle.trajectory import Episode, EpisodeStatus

__all__ = ["Playing"]


@dataclass
class Playing:
    """Plays tasks for rLLM.

    Attributes:
        name: of the policy, as episodes carry it.
        weights: where the policy's tokenizer is: a folder, or a name on the hub.
        settings: of the rollouts; ``group`` is rLLM's ``rollout.n``.
        tasks: how many the dataset has.
        seed: with the place of a play it fixes every draw, as far as the engine keeps to seeds.
        open_sandboxes: opens those where code runs, when they are needed; they end with this process.
        sandboxes: the caller's own in their place.
        renderer: the policy's chat format; None reads it from ``weights``.
        on_episode: called for each finished episode.
        epoch: which pass over the tasks it is, for what is drawn; None counts the plays of each task, where the trainer
            does not tell; ``first`` is the number of the first pass then.
        trouble: told of what only the user can mend, where rLLM's loop asks nobody.
    """

    name: str
    weights: str
    settings: RolloutSettings
    tasks: int
    seed: int = 0
    open_sandboxes: Callable[[], SandboxBackend] = LOCAL
    sandboxes: SandboxBackend | None = None
    renderer: Renderer | None = None
    on_episode: Callable[[Episode], None] | None = None
    epoch: int | None = None
    first: int = 0
    trouble: Trouble | None = None
    _plays: Counter[tuple[str, int]] = field(default_factory=Counter, repr=False)

    def __post_init__(self) -> None:
        """Set up the clocks."""
        settings = self.settings
        self._clocks = Clocks(settings.group, settings.deadline_s, settings.give_up_s)

    async def episode(self, row: Mapping[str, Any], uid: str, engine: Engine) -> Episode:
        """One episode.

        Args:
            row: of the dataset.
            uid: rLLM's id of the play; after its last ``:`` stands which of the group it is.
            engine: samples replies.

        Raises:
            BadInput: the row is no task of ours, or the task is broken.
            EnvironmentProblem: no isolation on this machine, or the endpoint needs the user.
        """
        try:
            episode = await self._episode(row, uid, engine)
        except (BadInput, EnvironmentProblem) as error:
            if self.trouble is not None:
                self.trouble.tell(error)
            raise
        if self.trouble is not None:
            self.trouble.hear(episode)
        if self.on_episode is not None:
            await asyncio.to_thread(self.on_episode, episode)
        return episode

    async def _episode(self, row: Mapping[str, Any], uid: str, engine: Engine) -> Episode:
        name, _, number = uid.rpartition(":")
        repeat, task = int(number), task_of_row(row)
        epoch = self.first + self._plays[task.id, repeat] if self.epoch is None else self.epoch
        self._plays[task.id, repeat] += 1
        index = epoch * self.tasks + int(row["place"])
        player = Player(self.name, (), engine, self._renderer(), self._backend(), self.settings, self.seed)
        episode = await self._clocks.play(f"{epoch}/{name}", self._played(player, task, index, repeat))
        if episode is None:
            return _broken_off(player.plan(task, index, repeat), self.name)
        return episode

    async def aclose(self) -> None:
        """Break off all that plays, let nothing more be played, and wait until all sandboxes are closed."""
        await self._clocks.aclose()

    async def _played(self, player: Player, task: Task, index: int, repeat: int) -> Episode:
        return (await player.episode(task, index, repeat)).episode

    def _renderer(self) -> Renderer:
        if self.renderer is None:
            self.renderer = load_renderer(self.weights)
        return self.renderer

    def _backend(self) -> SandboxBackend:
        if self.sandboxes is None:
            self.sandboxes = self.open_sandboxes()
        return self.sandboxes


def _broken_off(plan: EpisodePlan, policy: str) -> Episode:
    """The record of an episode that its group went on without; masked."""
    return Episode(
        id=plan.id,
        task_id=plan.task.id,
        task_hash=plan.task.manifest.content_hash,
        scaffold=plan.scaffold.name,
        policy=policy,
        protocol=plan.protocol,
        repeat=plan.repeat,
        status=EpisodeStatus.CANCELLED,
        reason="cut off: its group's deadline had passed",
    )
