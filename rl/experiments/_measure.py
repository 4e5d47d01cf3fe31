"""What a policy earns on tasks: samples and a greedy episode each, kept as one line an episode."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from sandmle.agents.chat.tokens import Engine, Renderer
from sandmle.files import sha256_file, write_text
from sandmle.record import Record, sha256_json
from sandmle.rl.rollouts import Player, RolloutSettings
from sandmle.sandboxes import SandboxBackend
from sandmle.task import Task, Tier
from sandmle.trajectory import Episode, Message

__all__ = ["Asked", "Measured", "OtherBrief", "mean", "measure", "read_measured"]


class Measured(Record):
    """One episode of a measurement.

    Attributes:
        reward: in [0, 1]; None where the episode is masked.
        format: share of replies that could be parsed.
        valid: whether a valid submission counted; ``gold`` whether it reached gold.
        tokens: sampled.
        sandbox_s: CPU seconds of the policy's code.
        weights: hash of the policy's; empty where none was kept.
    """

    task_id: str
    repeat: int
    reward: float | None
    format: float
    valid: bool
    gold: bool
    tokens: int
    sandbox_s: float
    weights: str = ""

    @classmethod
    def of(cls, episode: Episode, weights: str) -> Measured:
        """What is kept of an episode of the policy with these weights."""
        turns, grade = episode.turns, episode.grade
        return cls(
            task_id=episode.task_id,
            repeat=episode.repeat,
            reward=episode.reward.total if episode.reward else None,
            format=sum(turn.format_ok for turn in turns) / max(len(turns), 1),
            valid=grade is not None and grade.valid,
            gold=grade is not None and Tier.GOLD in grade.reached,
            tokens=sum(turn.usage.completion_tokens for turn in turns),
            sandbox_s=sum(turn.step.cpu_s for turn in turns if turn.step),
            weights=weights,
        )


@dataclass(frozen=True)
class Asked:
    """How a policy is asked.

    Attributes:
        temperature: 0 is greedy.
        samples: episodes a task.
        other_brief: show it the brief of the next task in place of its own.
    """

    temperature: float
    samples: int
    other_brief: bool = False

    @property
    def name(self) -> str:
        """Names the file of results."""
        return f"{self.temperature:g}" + ("-other-brief" if self.other_brief else "")


class OtherBrief:
    """A renderer that shows another brief in place of the task's."""

    def __init__(self, renderer: Renderer, brief: str) -> None:
        self._renderer = renderer
        self._brief = brief
        self.stop = renderer.stop
        self.prompt_end, self.reply = renderer.prompt_end, renderer.reply
        self.reply_ids, self.text = renderer.reply_ids, renderer.text

    def message(self, message: Message) -> tuple[int, ...]:
        """The same but for the user's first message, which is the one that carries no response."""
        if message.role == "user" and not message.content.startswith("<tool_response>"):
            message = Message(role="user", content=self._brief)
        return self._renderer.message(message)


async def measure(
    tasks: Sequence[Task],
    engine: Engine,
    renderer: Renderer,
    backend: SandboxBackend,
    rollouts: RolloutSettings,
    asked: Asked,
    *,
    at_once: int,
    policy: Path,
    path: Path,
) -> list[Measured]:
    """Play all episodes, or read them where ``path`` holds those of this very policy.

    They are played in waves of a fixed order, so that with an engine in lockstep every batch is the same in every run.

    Args:
        tasks: in a fixed order.
        engine: samples from the policy.
        renderer: of the policy.
        backend: runs its code.
        rollouts: as in training, but for the temperature and the number of samples.
        asked: how it is asked.
        at_once: episodes of a wave.
        policy: its folder.
        path: JSON lines.
    """
    if (known := read_measured(path, policy)) is not None:
        return known
    weights = _weights_hash(policy)
    sampling = rollouts.sampling.model_copy(update={"temperature": asked.temperature})
    played = rollouts.model_copy(update={"group": asked.samples, "sampling": sampling})
    player = Player("measured", tasks, engine, renderer, backend, played, seed=0)

    async def one(index: int, repeat: int) -> Measured:
        asking = player
        if asked.other_brief:
            brief = (tasks[(index + 1) % len(tasks)].public / "description.md").read_text(encoding="utf-8")
            asking = replace(player, renderer=OtherBrief(renderer, brief))
        return Measured.of((await asking.episode(tasks[index], index, repeat)).episode, weights)

    places = [(index, repeat) for index in range(len(tasks)) for repeat in range(asked.samples)]
    found: list[Measured] = []
    for first in range(0, len(places), at_once):
        found += await asyncio.gather(*(one(*place) for place in places[first : first + at_once]))
    write_text(path, "".join(each.model_dump_json() + "\n" for each in found))
    return found


def read_measured(path: Path, policy: Path) -> list[Measured] | None:
    """What a measurement of this very policy left; None where there is none.

    A file that tells no weights, as older versions wrote it, is the policy's unless it is older than they are.
    """
    if not path.exists():
        return None
    found = [Measured.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
    marks = {each.weights for each in found}
    if marks == {""}:
        made = max(file.stat().st_mtime_ns for file in _weights(policy))
        return found if path.stat().st_mtime_ns >= made else None
    return found if marks == {_weights_hash(policy)} else None


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of those that are known; None where none is."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _weights_hash(policy: Path) -> str:
    """16 hex digits that tell a policy's weights from others."""
    return sha256_json({file.name: sha256_file(file) for file in _weights(policy)})[:16]


def _weights(policy: Path) -> list[Path]:
    return sorted(policy.glob("*.safetensors"))
