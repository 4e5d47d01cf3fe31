"""How many trajectories a minute, and what their time goes to: the agent's code, the model, or us.

    python benchmarks/rollouts.py TASKS [--policy scripted:linear] [--concurrent 1,2,4,8] [--episodes 16] [--json FILE]

TASKS is a folder of `sandmle synthesize`. Policies are scripted, so a model call costs next to nothing and whatever is
not the agent's code is ours; beside it stands what is ours where a reply takes a second. Each round plays every level
of concurrency once, so that a busy machine slows all of them alike; then 16 x 4 rollouts are played, as many at once as
there are cores. Shares are of CPU seconds, which hold on a shared machine, and of wall time, which does not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandmle.agents.chat import make_policy
from sandmle.eval.runner import EpisodePlan, run_episode
from sandmle.graphs.scaffold import Budget, get_scaffold
from sandmle.rl.rewards import get_preset
from sandmle.sandboxes import LocalBackend
from sandmle.task import Task, load_tasks
from sandmle.trajectory import Episode

GOAL = 0.05
"""Our share of the wall time of an episode that has the machine to itself and whose replies take a second each."""

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
        walls = sum(episode.wall_s for episode in self.episodes)
        turns = [turn for episode in self.episodes for turn in episode.turns]
        steps = [turn.step for turn in turns if turn.step is not None]
        code, model = sum(step.wall_s for step in steps), sum(turn.model_s for turn in turns)
        code_cpu, ours = sum(step.cpu_s for step in steps), max(walls - code - model, 0.0)
        return {
            "trajectories a minute": 60 * len(self.episodes) / self.wall_s,
            "wall: code": code / walls,
            "wall: model": model / walls,
            "wall: ours": ours / walls,
            SLOW: ours / (walls + len(turns)),
            "CPU: code": code_cpu / (code_cpu + self.cpu_s),
            "CPU: ours": self.cpu_s / (code_cpu + self.cpu_s),
            "CPU s a trajectory": (code_cpu + self.cpu_s) / len(self.episodes),
        }


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


def _together(parts: list[Played]) -> Played:
    episodes = tuple(episode for part in parts for episode in part.episodes)
    return Played(episodes, sum(part.wall_s for part in parts), sum(part.cpu_s for part in parts))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--policy", default="scripted:linear")
    parser.add_argument("--concurrent", default="1,2,4,8", help="levels, with commas between")
    parser.add_argument("--episodes", type=int, default=16, help="at each level")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    levels = [int(level) for level in given.concurrent.split(",")]
    figures = asyncio.run(measure(load_tasks(given.tasks), given.policy, levels, given.episodes))
    for name, of_level in figures.items():
        print(name)
        for what, value in of_level.items():
            print(f"    {what:24} {value:.3f}")
    ours = figures[f"{levels[0]} at a time"][SLOW]
    print(f"our share of the wall time, {levels[0]} at a time, replies of 1 s: {ours:.1%} (goal: below {GOAL:.0%})")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
