"""The benchmark of rollouts: what their time went to, also for a policy that samples its tokens in this process."""

import importlib
from pathlib import Path

import pytest

from sandmle.agents.chat.tokens import Sample, SamplingSettings
from sandmle.seeds import get_seed, materialize
from sandmle.trajectory import Episode, EpisodeStatus, StepResult, Turn

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def rollouts(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("rollouts")


def episode(wall_s, code_s):
    step = StepResult(status="ok", exit_code=0, wall_s=code_s, cpu_s=code_s, tier="D")
    turn = Turn(index=0, messages=(), reply="", action=None, format_ok=False, step=step, model_s=0.5)
    return Episode(
        id="0" * 16,
        task_id="t",
        task_hash="h",
        scaffold="react",
        policy="p",
        protocol="train",
        repeat=0,
        status=EpisodeStatus.ANSWERED,
        turns=(turn,),
        wall_s=wall_s,
    )


class Silent:
    """An engine whose replies are three tokens."""

    async def sample(self, prompt, settings, stop, *, key):
        return Sample((1, 2, 3), (0.0,) * 3, weight_version=0)


def test_what_is_neither_code_nor_model_is_ours(rollouts):
    shares = rollouts.Played((episode(4.0, 1.0), episode(4.0, 2.0)), wall_s=8.0, cpu_s=1.0).shares(model_s=3.0)
    assert shares == {
        "trajectories a minute": 15.0,
        "runs a trajectory": 1.0,
        "wall: code": 0.375,
        "wall: model": 0.375,
        "wall: ours": 0.25,
    }


async def test_an_engine_s_replies_are_timed_and_counted(rollouts):
    engine = rollouts.TimedEngine(Silent())
    for key in "ab":
        await engine.sample((), SamplingSettings(), 0, key=key)
    figures = engine.figures(rollouts.Played((episode(4.0, 1.0),), wall_s=2.0, cpu_s=1.0))
    assert (figures["tokens a reply"], figures["tokens a second"]) == (3.0, 3.0)
    assert figures["s a reply"] == engine.seconds / 2


async def test_a_policy_that_samples_here_is_measured_alone_and_in_groups(rollouts, tmp_path):
    pytest.importorskip("torch", reason="needs the extra train")
    pytest.importorskip("transformers", reason="needs the extra train")
    from sandmle.rl.checkpoints import TinyModel, new_policy
    from sandmle.rl.tokenizers import train_tokenizer

    task = materialize(get_seed("iris"), tmp_path)
    tokenizer = train_tokenizer([(task.public / "description.md").read_text()], 400)
    shape = TinyModel(hidden=32, layers=1, heads=2, kv_heads=1, feed_forward=64, context=8192)
    figures = await rollouts.measure_sampled([task], new_policy(shape, tokenizer, seed=0), 1, groups=1, new_tokens=4)
    assert list(figures) == ["sampled, 1 at a time", "sampled, 1 x 4"]
    for found in figures.values():
        assert sum(found[f"wall: {whose}"] for whose in ("code", "model", "ours")) == pytest.approx(1)
        assert 1 <= found["tokens a reply"] <= 4
