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
from sandmle.rl.checkpoints import load_renderer
from sandmle.rl.rllm.sandboxes import LOCAL
from sandmle.rl.rllm.tasks import task_of_row
from sandmle.rl.rollouts import Player, RolloutSettings
from sandmle.sandboxes import SandboxBackend
from sandmle.trajectory import Episode

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
            does not tell.
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
    _plays: Counter[str] = field(default_factory=Counter, repr=False)

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
        repeat = int(uid.rpartition(":")[2])
        epoch = self._plays[uid] if self.epoch is None else self.epoch
        index = epoch * self.tasks + int(row["place"])
        player = Player(self.name, (), engine, self._renderer(), self._backend(), self.settings, self.seed)
        played = await player.episode(task_of_row(row), index, repeat)
        self._plays[uid] += 1
        if self.on_episode is not None:
            await asyncio.to_thread(self.on_episode, played.episode)
        return played.episode

    def _renderer(self) -> Renderer:
        if self.renderer is None:
            self.renderer = load_renderer(self.weights)
        return self.renderer

    def _backend(self) -> SandboxBackend:
        if self.sandboxes is None:
            self.sandboxes = self.open_sandboxes()
        return self.sandboxes
