"""A whole training on one GPU: a Qwen3 of 0.6 B random weights, imitation, then rewards from real sandboxes.

    python benchmarks/h200.py [--rehearse] [--json FILE]

1. Tasks are bundled tables; demonstrations are episodes of ``scripted:mix`` on them, played in sandboxes here.
2. Imitation goes on, a few epochs at a time, until rewards vary within at least half of the groups of a probe.
3. Three GRPO updates of 16 x 4 rollouts: the policy computes in bfloat16, prompts join and leave one batch while
   scripts run in sandboxes, and groups of the next update play on while this one is learnt from.

Prints tokens a second, the share of time in which the GPU computed, the peak of memory, and how far log-probabilities
in bfloat16 differ between sampler and trainer; at SIGINT, whatever of that is there. ``--rehearse`` takes a tiny shape
and few episodes, on a CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from gpu_meter import Meter

from sandmle.agents.chat.tokens import Reading, SamplingSettings
from sandmle.api import aevaluate
from sandmle.rl.batches import pad
from sandmle.rl.checkpoints import PolicyWeights, TinyModel, TrainerState, load_policy, new_policy, save
from sandmle.rl.engine.local import LocalEngine
from sandmle.rl.groups import GroupSettings
from sandmle.rl.rollouts import Player, RolloutSettings
from sandmle.rl.tokenizers import train_tokenizer
from sandmle.rl.trainer import GrpoSettings, OptimizerSettings, SftOptimizerSettings, SftSettings
from sandmle.rl.trainer._imitate import imitate, policy_texts, read_episodes, rows_of
from sandmle.rl.trainer._learner import Learner, Metrics, token_logprobs
from sandmle.rl.trainer._reinforce import Reinforcement
from sandmle.rl.types import Example, Group, Row
from sandmle.sandboxes import LocalBackend
from sandmle.seeds import get_seed, materialize
from sandmle.task import Task, load_tasks

READING: Reading = "digest"


@dataclass(frozen=True)
class Plan:
    """How large everything is. Imitation that is not there after ``learning_s`` goes on to rewards all the same.

    Attributes:
        shape: in full, Qwen3-0.6B's but for the layers' inner width: theirs is 3,072, and their 152 thousand ids have
            a fourth of their weights. Ours are few, so that random weights can learn them in minutes.
    """

    shape: TinyModel
    device: str
    seeds: tuple[str, ...]
    demonstrations: int
    vocabulary: int
    epochs: int
    rate: float
    probe: int
    batch: int
    group: int
    reply: int = 200
    learning_s: float = 180.0
    updates: int = 3


FULL = Plan(
    shape=TinyModel(hidden=1_024, layers=28, heads=16, kv_heads=8, head_dim=128, feed_forward=4_864, context=8_192),
    device="cuda",
    seeds=("breast-cancer", "wine", "wine-alcohol", "iris", "diabetes"),
    demonstrations=80,
    vocabulary=4_096,
    epochs=3,
    rate=3e-4,
    probe=8,
    batch=16,
    group=4,
)
SMALL = replace(
    FULL,
    shape=TinyModel(hidden=64, layers=2, heads=2, kv_heads=1, head_dim=32, feed_forward=128, context=4_096),
    device="cpu",
    seeds=("iris", "wine"),
    demonstrations=12,
    vocabulary=2_048,
    epochs=10,
    rate=5e-3,
    probe=2,
    batch=2,
    learning_s=600.0,
)


class Run:
    """One run, phase by phase, in a folder that is thrown away."""

    def __init__(self, plan: Plan, out: Path) -> None:
        self.plan, self.out, self.meter = plan, out, Meter(plan.device)
        self.found: dict[str, object] = {}
        self.started = time.monotonic()
        self.rollouts = RolloutSettings(
            turns=2,
            group=plan.group,
            step_seconds=20.0,
            deadline_s=120.0,
            sampling=SamplingSettings(max_new_tokens=plan.reply, max_tokens=4_096),
        )

    def go(self) -> None:
        """All phases."""
        tasks = self.tasks()
        with self.meter.phase("demonstrations"):
            asyncio.run(self.demonstrate())
        policy, rows = self.start()
        asyncio.run(self.train(policy, rows, tasks))

    def tasks(self) -> list[Task]:
        """The tables."""
        for seed in self.plan.seeds:
            materialize(get_seed(seed), self.out / "tasks")
        return load_tasks(self.out / "tasks")

    async def demonstrate(self) -> None:
        """Play the mix."""
        report = await aevaluate(
            suite=f"synthetic:{self.out / 'tasks'}",
            models=["scripted:mix"],
            out=self.out / "demonstrations",
            repeats=self.plan.demonstrations,
            protocol="train",
            allow_unisolated=True,
        )
        print(f"{report.episodes} demonstrations")

    def start(self) -> tuple[PolicyWeights, tuple[Row, ...]]:
        """A policy with random weights on its device, and the rows to imitate."""
        plan, episodes = self.plan, list(read_episodes([self.out / "demonstrations"], 0.0))
        tokenizer = train_tokenizer(policy_texts(episodes, READING), plan.vocabulary, "lines")
        save(new_policy(plan.shape, tokenizer, 0, READING), self.out / "random", TrainerState(), None)
        policy = load_policy(self.out / "random", device=plan.device, compute="bfloat16")
        shutil.rmtree(self.out / "random")
        rows = rows_of(episodes, policy.renderer, SftSettings(max_tokens=2_048)).rows
        size = sum(each.numel() for each in policy.model.parameters())
        print(f"{size / 1e6:.1f} M parameters, {len(tokenizer)} ids, {len(rows)} rows to imitate")
        self.found["parameters"] = size
        return policy, rows

    async def train(self, policy: PolicyWeights, rows: Sequence[Row], tasks: list[Task]) -> None:
        """Imitation, then rewards."""
        async with LocalBackend(allow_unisolated=True) as backend:
            engine = LocalEngine(policy.model, seed=0, max_batch=self.plan.batch * self.plan.group)
            player = Player("h200:policy", tasks, engine, policy.renderer, backend, self.rollouts, seed=0)
            await self.imitate(policy, rows, player)
            await self.reinforce(policy, engine, player)

    async def imitate(self, policy: PolicyWeights, rows: Sequence[Row], player: Player) -> None:
        """A few epochs at a time, until rewards vary within groups."""
        rate = self.plan.rate
        optimizer = SftOptimizerSettings(learning_rate=rate, warmup=0.1, decay=False, micro_batch_tokens=16_384)
        learner = Learner(policy, optimizer)
        settings = SftSettings(epochs=self.plan.epochs, optimizer=optimizer)
        started, rounds, enough = time.monotonic(), 0, False
        while not enough and (rounds == 0 or time.monotonic() - started < self.plan.learning_s):
            with self.meter.phase("imitation") as record:
                for step in imitate(learner, rows, settings, seed=rounds):
                    record["tokens"] = record.get("tokens", 0.0) + step["tokens"]
                    nll = step["nll"]
                    await asyncio.sleep(0)  # which is where SIGINT is heard
            with self.meter.phase("probe") as record:
                first = 1_000_000 + rounds * self.plan.probe
                groups = await asyncio.gather(*(player.group(first + place) for place in range(self.plan.probe)))
                record["tokens"] = record.get("tokens", 0.0) + sum(_sampled(group) for group in groups)
            rounds += 1
            varied = sum(len({rollout.reward for rollout in group.counted}) > 1 for group in groups)
            enough = 2 * varied >= len(groups)
            rewards = [rollout.reward or 0.0 for group in groups for rollout in group.counted]
            print(
                f"imitation {rounds}: nll {nll:.3f}, reward {np.mean(rewards):.2f}, varies in {varied} of {len(groups)}"
            )
        self.found |= {"imitation": rounds, "rewards vary": enough, "log-probs": _agreement(policy, groups)}

    async def reinforce(self, policy: PolicyWeights, engine: LocalEngine, player: Player) -> None:
        """The updates, by the trainer's own loop."""
        optimizer = OptimizerSettings(learning_rate=1e-5, micro_batch_tokens=16_384)
        settings = GrpoSettings(
            updates=self.plan.updates,
            batch=self.plan.batch,
            groups=GroupSettings(max_staleness=1),
            rollouts=self.rollouts,
            optimizer=optimizer,
            checkpoint_every=self.plan.updates,
        )
        learner = Learner(policy, optimizer)
        made: list[Metrics] = []
        self.found["updates"] = made
        run = Reinforcement(policy, learner, engine, player, settings, TrainerState(), self.out, made.append)
        with self.meter.phase("GRPO") as record:
            async with aclosing(run.updates()) as updates:
                async for metrics in updates:
                    record["tokens"] = record.get("tokens", 0.0) + metrics["sampled"]
                    print(", ".join(f"{name} {value:.4g}" for name, value in metrics.items()))

    def summary(self) -> dict[str, object]:
        """What has been measured so far, printed too."""
        cuda = self.plan.device == "cuda"
        peak = torch.cuda.max_memory_reserved() if cuda else 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        name = torch.cuda.get_device_name() if cuda else "CPU"
        seconds, gib, phases = time.monotonic() - self.started, peak / 2**30, self.meter.table()
        print(f"{name}, torch {torch.__version__}: {seconds:.0f} s, peak of memory {gib:.1f} GiB")
        for phase, line in phases.items():
            print(f"    {phase:16}" + ", ".join(f"{key} {value:.4g}" for key, value in line.items()))
        print(
            f"    log-probabilities in bfloat16, sampler against trainer: {self.found.get('log-probs', 'not reached')}"
        )
        head = {"device": name, "torch": torch.__version__, "s": seconds, "peak GiB": gib}
        return {**head, **self.found, "phases": phases}


def _sampled(group: Group) -> float:
    return float(sum(row.mask.sum() for rollout in group.rollouts for row in rollout.rows))


def _agreement(policy: PolicyWeights, groups: Sequence[Group]) -> dict[str, float]:
    """How log-probabilities of sampled tokens differ between the sampler, with its cache, and the trainer."""
    found = []
    for row in (row for group in groups for rollout in group.rollouts for row in rollout.rows):
        with torch.no_grad():
            new, _ = token_logprobs(policy.model, pad([Example(row, np.zeros(len(row)))], policy.tokenizer.pad))
        found.append((new[0].float().cpu().numpy() - row.sampler_logprobs)[row.mask])
    difference = np.concatenate(found)
    absolute = np.abs(difference)
    return {
        "tokens": float(len(difference)),
        "mean": float(absolute.mean()),
        "99 %": float(np.quantile(absolute, 0.99)),
        "largest": float(absolute.max()),
        "KL (k3)": float((np.exp(difference) - 1 - difference).mean()),
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rehearse", action="store_true", help="a tiny shape and few episodes, on a CPU")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    plan = SMALL if given.rehearse else FULL
    if plan.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("PyTorch sees no GPU here; --rehearse runs on a CPU")
    if plan.device == "cpu":
        torch.set_num_threads(1)
    measure(plan, given.json)


def measure(plan: Plan, kept: Path | None) -> None:
    """Run, and print what was measured, even if that was cut short; ``kept`` gets it as JSON."""
    with tempfile.TemporaryDirectory(prefix="sandmle-h200-") as scratch:
        run = Run(plan, Path(scratch))
        try:
            run.go()
        finally:
            found = run.summary()
            if kept:
                kept.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
