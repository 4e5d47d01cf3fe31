"""Ways to learn in less memory: each must learn what plain training does, or say how far it is from it."""
# ruff: noqa: E402 - imports follow the skips

import sys
from copy import deepcopy

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")

from sandmle.errors import EnvironmentProblem
from sandmle.rl.adapters import adapter_state, add_adapters
from sandmle.rl.batches import pad
from sandmle.rl.checkpoints import TinyModel, TrainerState, load_policy, new_policy, save
from sandmle.rl.engine.decoder import Decoder, Wanted
from sandmle.rl.tokenizers import train_tokenizer
from sandmle.rl.trainer import LoraSettings, OptimizerSettings
from sandmle.rl.trainer._learner import Learner, token_logprobs
from sandmle.rl.types import CONTEXT, Example, Row

TOKENIZER = train_tokenizer(["some words to learn from"] * 3, 300)


def make_policy():
    shape = TinyModel(hidden=32, layers=2, heads=2, kv_heads=1, feed_forward=64, context=128)
    return new_policy(shape, TOKENIZER, seed=0)


def make_rows():
    rng = np.random.default_rng(0)
    for length in (9, 14):
        turns = np.where(np.arange(length) < 4, CONTEXT, 0)
        yield Row(rng.integers(3, len(TOKENIZER), length), turns, turns != CONTEXT, np.zeros(length), 0)


ROWS = tuple(make_rows())


def logprobs(policy):
    batch = pad([Example(row, np.zeros(len(row))) for row in ROWS], policy.tokenizer.pad)
    with torch.no_grad():
        return token_logprobs(policy.model, batch)[0]


def learn(policy, steps=3, **settings):
    learner = Learner(policy, OptimizerSettings(learning_rate=1e-2, **settings))
    for _ in range(steps):
        learner.imitate(ROWS)
    return learner


def test_gradient_checkpointing_learns_the_same():
    plain, checkpointed = make_policy(), make_policy()
    before = logprobs(plain)
    learn(plain)
    learn(checkpointed, gradient_checkpointing=True)
    assert checkpointed.model.is_gradient_checkpointing
    assert torch.allclose(logprobs(plain), logprobs(checkpointed), atol=1e-5)
    assert not torch.allclose(before, logprobs(plain), atol=1e-2)


def test_layers_in_bfloat16_are_near_and_alike_for_sampler_and_trainer(tmp_path):
    save(make_policy(), tmp_path / "policy", TrainerState(), None)
    full, half = load_policy(tmp_path / "policy"), load_policy(tmp_path / "policy", compute="bfloat16")
    gap = (logprobs(full) - logprobs(half)).abs().max()
    assert 0 < gap < 0.1
    assert logprobs(half).dtype == half.model.dtype == torch.float32
    row = ROWS[1]
    wanted = Wanted(row.token_ids[:4].tolist(), -1, 6, 1.0, np.random.default_rng(0))
    decoder = Decoder(half.model)
    decoder.admit([wanted])
    while len(decoder):
        decoder.step()
    ids = np.array([*wanted.prompt, *wanted.ids])
    mask = np.arange(len(ids)) >= 4
    sampled = Row(ids, np.where(mask, 0, CONTEXT), mask, np.zeros(len(ids)), 0)
    scored, _ = token_logprobs(half.model, pad([Example(sampled, np.zeros(len(ids)))], 0))
    assert scored[0, 4:].tolist() == pytest.approx(wanted.logprobs, abs=0.05)


class TestAdapters:
    @pytest.fixture(autouse=True)
    def _peft(self):
        pytest.importorskip("peft", reason="peft is not installed")

    def test_they_alone_learn_and_a_checkpoint_is_a_whole_policy(self, tmp_path):
        policy, fresh = make_policy(), make_policy()
        add_adapters(policy.model, LoraSettings(rank=4), seed=1)
        assert torch.allclose(logprobs(policy), logprobs(fresh), atol=1e-6), "adapters begin with nothing"
        learn(policy)
        assert not torch.allclose(logprobs(policy), logprobs(fresh), atol=1e-2)
        names = dict(policy.model.named_parameters())
        assert all(
            torch.equal(names.get(name, names.get(name.replace(".weight", ".base_layer.weight"))), value)
            for name, value in fresh.model.named_parameters()
        )
        save(policy, tmp_path / "policy", TrainerState(), None)
        whole = load_policy(tmp_path / "policy")
        assert not adapter_state(whole.model)
        assert torch.allclose(logprobs(whole), logprobs(policy), atol=1e-5)

    def test_a_restored_learner_goes_on_to_the_last_bit(self):
        policies = [make_policy(), make_policy()]
        for policy in policies:
            add_adapters(policy.model, LoraSettings(rank=4), seed=1)
        learner = learn(policies[0])
        other = learn(policies[1], steps=0)
        other.restore(deepcopy(learner.state()))
        for each in (learner, other):
            each.imitate(ROWS)
        assert torch.equal(logprobs(policies[0]), logprobs(policies[1]))


def test_without_peft_adapters_tell_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(EnvironmentProblem, match="pip install peft"):
        add_adapters(make_policy().model, LoraSettings(), seed=0)
