"""How many trajectories a minute, and what their time goes to: the agent's code, the model, or us.

    python benchmarks/rollouts.py TASKS [--scripted scripted:linear] [--concurrent 1,2,4,8] [--episodes 16]
                                        [--policy FOLDER|tiny [--new-tokens 256]] [--groups 16] [--json FILE]

TASKS is a folder of `sandmle synthesize`. A call of a scripted policy costs next to nothing, so whatever is not the
agent's code is ours; beside it stands what is ours where a reply takes a second. Each round plays every level
of concurrency once, so that a busy machine slows all of them alike; then 16 x 4 rollouts are played, as many at once as
there are cores. Shares are of CPU seconds, which hold on a shared machine, and of wall time, which does not.

With --policy the same is measured for one that samples its tokens in this process, as in training: one rollout at a
time, then 16 groups of 4, all at once. FOLDER is a checkpoint, such as OUT/policy of a training; `tiny` first has a
policy of a million parameters, the learning demo's, imitate `scripted:mix` on these tasks, so that it writes scripts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sandmle.agents.chat import make_policy
from sandmle.agents.chat.tokens import Engine, Sample, SamplingSettings
from sandmle.api import aevaluate
from sandmle.eval.runner import EpisodePlan, run_episode
from sandmle.graphs.scaffold import Budget, get_scaffold
from sandmle.rl.experiments import ExperimentSettings
from sandmle.rl.rewards import get_preset
from sandmle.rl.rollouts import Player, RolloutSettings
from sandmle.sandboxes import LocalBackend
from sandmle.task import Task, load_tasks
from sandmle.trajectory import Episode

if TYPE_CHECKING:
    from sandmle.rl.checkpoints import PolicyWeights

GOAL = 0.05
"""Our share of the wall time of an episode that has the machine to itself and whose replies take a second each."""

DEMONSTRATIONS, EPOCHS, BATCH = 16, 15, 4
"""Of imitation: episodes a task, passes over them, and episodes a step."""

SLOW = "ours, replies of 1 s"
"""What is ours would be, by arithmetic, with a model that needs a second a reply: about 50 tokens of a large one."""


@dataclass(frozen=True)
class Played:
    """Episodes that were played together; seconds, and of our own process ``cpu_s``."""

    episodes: tuple[Episode, ...]
    wall_s: float
    cpu_s: float

    def figures(self) -> dict[str, float]:
        """What a line of the table says."""
        turns = [turn for episode in self.episodes for turn in episode.turns]
        code_cpu = sum(turn.step.cpu_s for turn in turns if turn.step is not None)
        shares = self.shares(sum(turn.model_s for turn in turns))
        walls = sum(episode.wall_s for episode in self.episodes)
        return shares | {
            SLOW: shares["wall: ours"] * walls / (walls + len(turns)),
            "CPU: code": code_cpu / (code_cpu + self.cpu_s),
            "CPU: ours": self.cpu_s / (code_cpu + self.cpu_s),
            "CPU s a trajectory": (code_cpu + self.cpu_s) / len(self.episodes),
        }

    def shares(self, model_s: float) -> dict[str, float]:
        """What the wall time went to, of which so many seconds to the model."""
        walls = sum(episode.wall_s for episode in self.episodes)
        steps = [turn.step for episode in self.episodes for turn in episode.turns if turn.step is not None]
        code_s = sum(step.wall_s for step in steps)
        return {
            "trajectories a minute": 60 * len(self.episodes) / self.wall_s,
            "runs a trajectory": len(steps) / len(self.episodes),
            "wall: code": code_s / walls,
            "wall: model": model_s / walls,
            "wall: ours": max(walls - code_s - model_s, 0.0) / walls,
        }


@dataclass
class TimedEngine:
    """An engine, and what its replies took; writing messages as tokens is not among it, since that is ours."""

    engine: Engine
    seconds: float = 0.0
    replies: int = 0
    tokens: int = 0

    def player(self) -> AbstractContextManager[None]:
        """See ``Engine``."""
        return self.engine.player()

    async def sample(self, prompt: tuple[int, ...], settings: SamplingSettings, stop: int, *, key: str) -> Sample:
        """See ``Engine``."""
        started = time.monotonic()
        sample = await self.engine.sample(prompt, settings, stop, key=key)
        self.seconds += time.monotonic() - started
        self.replies += 1
        self.tokens += len(sample.ids)
        return sample

    def figures(self, played: Played) -> dict[str, float]:
        """What a line of the table says."""
        of_replies = {"tokens a reply": self.tokens / self.replies, "s a reply": self.seconds / self.replies}
        return played.shares(self.seconds) | of_replies | {"tokens a second": self.tokens / played.wall_s}


async def play(backend: LocalBackend, policy: str, plans: list[tuple[Task, int]], concurrent: int) -> Played:
    """Play so many episodes at a time."""
    room = asyncio.Semaphore(concurrent)

    async def one(task: Task, repeat: int) -> Episode:
        plan = EpisodePlan(
            id=f"{repeat:016x}",
            task=task,
            scaffold=get_scaffold("react"),
            repeat=repeat,
            protocol="train",
            weights=get_preset("paper"),
            budget=Budget.for_task(task),
        )
        async with room:
            return (await run_episode(plan, make_policy(policy, task=task), backend)).episode

    before, started = own_cpu(), time.monotonic()
    episodes = await asyncio.gather(*(one(task, repeat) for task, repeat in plans))
    return Played(tuple(episodes), time.monotonic() - started, own_cpu() - before)


def own_cpu() -> float:
    """CPU seconds of this process alone."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def rounds(tasks: list[Task], episodes: int) -> Iterator[list[tuple[Task, int]]]:
    """The episodes of each round: every task in turn."""
    for first in range(0, episodes, len(tasks)):
        yield [(task, first + place) for place, task in enumerate(tasks[: episodes - first])]


async def measure(tasks: list[Task], policy: str, levels: list[int], episodes: int) -> dict[str, dict[str, float]]:
    """Figures by level of concurrency, and of 16 x 4 rollouts."""
    async with LocalBackend(allow_unisolated=True) as backend:
        await play(backend, policy, [(tasks[0], 0)], 1)
        found: dict[int, list[Played]] = {level: [] for level in levels}
        for plans in rounds(tasks, episodes):
            for level in levels:
                found[level].append(await play(backend, policy, plans, level))
        large = [(tasks[index % len(tasks)], repeat) for index in range(16) for repeat in range(4)]
        batch = await play(backend, policy, large, os.cpu_count() or 1)
    figures = {f"{level} at a time": _together(found[level]).figures() for level in levels}
    whole = batch.figures() | {"wall s": batch.wall_s, "CPU s": batch.figures()["CPU s a trajectory"] * 64}
    return figures | {"16 x 4 rollouts": whole}


async def measure_sampled(
    tasks: list[Task], weights: PolicyWeights, episodes: int, groups: int, new_tokens: int
) -> dict[str, dict[str, float]]:
    """Figures of a policy that samples in this process: one rollout at a time, and all of so many groups at once."""
    from sandmle.rl.engine.local import LocalEngine

    engine = LocalEngine(weights.model, seed=0)
    context = weights.model.config.max_position_embeddings
    settings = RolloutSettings(sampling=SamplingSettings(max_new_tokens=new_tokens, max_tokens=context))
    async with LocalBackend(allow_unisolated=True) as backend:

        async def played(indices: list[int], group: int, at_once: bool) -> dict[str, float]:
            timed, found = TimedEngine(engine), list[Episode]()
            chosen = settings.model_copy(update={"group": group})
            player = Player("train:policy", tasks, timed, weights.renderer, backend, chosen, 0, found.append)
            before, started = own_cpu(), time.monotonic()
            for together in [indices] if at_once else [[index] for index in indices]:
                await asyncio.gather(*map(player.group, together))
            return timed.figures(Played(tuple(found), time.monotonic() - started, own_cpu() - before))

        await played([0], 1, at_once=False)
        alone = await played(list(range(episodes)), 1, at_once=False)
        return {
            "sampled, 1 at a time": alone,
            f"sampled, {groups} x 4": await played(list(range(groups)), 4, at_once=True),
        }


async def load_or_train(policy: str, tasks: Path) -> PolicyWeights:
    """The policy of a folder; or, of ``tiny``, one that has imitated scripts of mixed quality."""
    from sandmle.rl.checkpoints import load_policy
    from sandmle.rl.trainer.training import atrain

    if policy != "tiny":
        return load_policy(Path(policy))
    config = ExperimentSettings.load("demo-cpu").train
    assert config.sft is not None
    with tempfile.TemporaryDirectory() as scratch:
        run, out = Path(scratch) / "run", Path(scratch) / "training"
        suite, models = f"synthetic:{tasks}", ["scripted:mix"]
        await aevaluate(suite=suite, models=models, out=run, repeats=DEMONSTRATIONS, protocol="train")
        sft = config.sft.model_copy(update={"runs": (run,), "epochs": EPOCHS, "batch": BATCH})
        return load_policy(await atrain(config.model_copy(update={"sft": sft, "grpo": None}), out))


def _together(parts: list[Played]) -> Played:
    episodes = tuple(episode for part in parts for episode in part.episodes)
    return Played(episodes, sum(part.wall_s for part in parts), sum(part.cpu_s for part in parts))


def main() -> None:
    """Measure and print."""
    given = parsed()
    levels, tasks = [int(level) for level in given.concurrent.split(",")], load_tasks(given.tasks)
    figures = asyncio.run(measure(tasks, given.scripted, levels, given.episodes))
    alone = {"replies of 1 s, by arithmetic": figures[f"{levels[0]} at a time"][SLOW]}
    if given.policy:
        weights = asyncio.run(load_or_train(given.policy, given.tasks))
        figures |= asyncio.run(measure_sampled(tasks, weights, given.episodes, given.groups, given.new_tokens))
        alone["replies that were sampled"] = figures["sampled, 1 at a time"]["wall: ours"]
    for name, of_level in figures.items():
        print(name)
        for what, value in of_level.items():
            print(f"    {what:24} {value:.3f}")
    for which, ours in alone.items():
        print(f"our share of the wall time of a lone rollout, {which}: {ours:.1%} (goal: below {GOAL:.0%})")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=2) + "\n")


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--scripted", default="scripted:linear", help="the scripted policy")
    parser.add_argument("--concurrent", default="1,2,4,8", help="levels, with commas between")
    parser.add_argument("--episodes", type=int, default=16, help="at each level")
    parser.add_argument("--policy", metavar="FOLDER|tiny", help="also measure a policy that samples in this process")
    parser.add_argument("--new-tokens", type=int, default=256, help="of one of its replies at most")
    parser.add_argument("--groups", type=int, default=16, help="of 4 of its rollouts, all at once")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
