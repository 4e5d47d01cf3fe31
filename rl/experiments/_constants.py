"""Constant scripts: what one and the same script earns on every task.

A control, and a filter: where one of them reaches gold, knowing that script by heart would do. Each is a recipe of
``scripted:mix`` with the writer that suits the task's kind of prediction, which is more than a fixed text could do.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from sandmle.agents.chat.scripted.parts import KINDS, SLOTS, Recipe, compose, right_writer
from sandmle.agents.session import AgentSession
from sandmle.errors import BadInput
from sandmle.files import write_text
from sandmle.record import Record
from sandmle.rl.experiments._measure import Measured
from sandmle.rl.rewards import RewardWeights, score_episode
from sandmle.sandboxes import SandboxBackend
from sandmle.task import Task, Tier
from sandmle.trajectory import Protocol

__all__ = ["ConstantScore", "best_constant", "parse_recipe", "score_constants"]

_TURNS = [True, True]
"""The script, and the answer."""


class ConstantScore(Record):
    """What one script earned on one task.

    Attributes:
        reward: in [0, 1].
        valid: whether its submission is; ``gold`` whether it reached gold.
        sandbox_s: CPU seconds.
    """

    task_id: str
    content_hash: str
    recipe: str
    reward: float
    valid: bool
    gold: bool
    sandbox_s: float

    def measured(self) -> Measured:
        """The same as an episode of a policy."""
        return Measured(
            task_id=self.task_id,
            repeat=0,
            reward=self.reward,
            format=1.0,
            valid=self.valid,
            gold=self.gold,
            tokens=0,
            sandbox_s=self.sandbox_s,
        )


def parse_recipe(text: str) -> Recipe:
    """The recipe behind the names of its parts, joined by ``/``.

    Raises:
        BadInput: not one name a slot, or a part that there is not.
    """
    names = text.split("/")
    if len(names) != len(SLOTS):
        raise BadInput(f"constant {text!r}: give one part each of {', '.join(SLOTS)}")
    for name, (slot, parts) in zip(names, SLOTS.items(), strict=True):
        if name not in parts:
            raise BadInput(f"constant {text!r}: {slot} is one of {', '.join(parts)}, not {name!r}")
    return Recipe(*names)


async def score_constants(
    tasks: Sequence[Task],
    recipes: Sequence[str],
    backend: SandboxBackend,
    weights: RewardWeights,
    protocol: Protocol,
    path: Path,
    tell: Callable[[str], None],
) -> list[ConstantScore]:
    """Run what ``path`` does not hold yet, task by task, and keep it there."""
    known = _read(path)
    for number, task in enumerate(tasks, 1):
        missing = [name for name in recipes if (task.id, name) not in known]
        if missing:
            for score in await _score(task, missing, backend, weights, protocol):
                known[score.task_id, score.recipe] = score
            write_text(path, "".join(each.model_dump_json() + "\n" for each in known.values()))
        tell(f"[constants] {number}/{len(tasks)}")
    return [known[task.id, name] for task in tasks for name in recipes]


def best_constant(scores: Sequence[ConstantScore], train: Sequence[str]) -> str:
    """The recipe with the highest mean reward on training tasks."""
    means = {
        name: np.mean([score.reward for score in scores if score.recipe == name and score.task_id in train])
        for name in {score.recipe: None for score in scores}
    }
    return max(means, key=means.__getitem__)


async def _score(
    task: Task, recipes: Sequence[str], backend: SandboxBackend, weights: RewardWeights, protocol: Protocol
) -> list[ConstantScore]:
    async def one(name: str) -> ConstantScore:
        assert task.manifest.submission is not None
        kind = next(each for each in KINDS if each == task.manifest.submission.kind)
        session = await AgentSession.open(task, backend, protocol, seed=name)
        async with session:
            result = await session.python(compose(parse_recipe(name), kind, right_writer(kind)))
        grade = session.submissions.grade()
        return ConstantScore(
            task_id=task.id,
            content_hash=task.manifest.content_hash,
            recipe=name,
            reward=score_episode(_TURNS, grade, weights).total,
            valid=grade is not None and grade.valid,
            gold=grade is not None and Tier.GOLD in grade.reached,
            sandbox_s=result.step.cpu_s if result.step else 0.0,
        )

    return list(await asyncio.gather(*(one(name) for name in recipes)))


def _read(path: Path) -> dict[tuple[str, str], ConstantScore]:
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    scores = [ConstantScore.model_validate(json.loads(line)) for line in lines]
    return {(score.task_id, score.recipe): score for score in scores}
