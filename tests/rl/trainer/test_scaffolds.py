"""A training over several scaffolds: its groups take turns, and every episode says which one it was played in."""

import asyncio

import pytest

pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")

from sandmle.agents.chat.tokens import SamplingSettings
from sandmle.rl.checkpoints import TinyModel, TrainerState, new_policy, save
from sandmle.rl.rollouts import RolloutSettings
from sandmle.rl.tokenizers import train_tokenizer
from sandmle.rl.trainer import GrpoSettings, ModelSettings, TrainSettings
from sandmle.rl.trainer.training import atrain
from sandmle.seeds import get_seed, materialize
from sandmle.trajectory import Episode

SHAPE = TinyModel(hidden=32, layers=1, heads=2, kv_heads=1, feed_forward=64, context=8192)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Episodes and metrics of two updates of two groups of two, in react and aide by turns."""
    root = tmp_path_factory.mktemp("scaffolds")
    task = materialize(get_seed("iris"), root / "tasks")
    tokenizer = train_tokenizer([(task.public / "description.md").read_text()], 400)
    save(new_policy(SHAPE, tokenizer, seed=0), root / "policy", TrainerState(), None)
    rollouts = RolloutSettings(
        scaffolds=("react", "aide"),
        group=2,
        turns=2,
        sampling=SamplingSettings(max_new_tokens=8, max_tokens=SHAPE.context),
    )
    settings = TrainSettings(
        tasks=root / "tasks",
        model=ModelSettings(path=root / "policy"),
        grpo=GrpoSettings(
            updates=2,
            batch=2,
            groups={"flat": "keep", "refills": 0},
            rollouts=rollouts,
            batching="lockstep",
            transcripts=True,
        ),
    )
    steps = []
    asyncio.run(atrain(settings, root / "out", on_step=steps.append, allow_unisolated=True))
    transcripts = (root / "out" / "transcripts").glob("*.json")
    return [Episode.read(path) for path in transcripts], [step.metrics for step in steps]


def test_groups_take_turns_and_episodes_say_in_which_scaffold(played):
    episodes, _ = played
    assert {episode.repeat: episode.scaffold for episode in episodes} == dict(
        enumerate(["react", "react", "aide", "aide"] * 2)
    )


def test_every_update_learns_from_both(played):
    _, metrics = played
    assert [(each["groups"], each["rollouts"], each["rollouts_masked"]) for each in metrics] == [(2, 4, 0)] * 2
    assert all(each["rows"] >= 4 for each in metrics)


def test_each_scaffold_asks_in_its_own_words(played):
    episodes, _ = played
    first = {
        scaffold: {each.turns[0].messages for each in episodes if each.scaffold == scaffold}
        for scaffold in ("react", "aide")
    }
    assert all(len(prompts) == 1 for prompts in first.values())
    assert first["react"] != first["aide"]
