"""Ways to learn in less memory: each must learn what plain training does, or say how far it is from it."""
# ruff: noqa: E402 - imports follow the skips

import sys
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")

from sandmle.errors import EnvironmentProblem
from sandmle.rl.adapters import adapter_state, add_adapters
from sandmle.rl.batches import pad
from sandmle.rl.checkpoints import TrainerState, load_policy, save
from sandmle.rl.engine.decoder import Decoder, Wanted
from sandmle.rl.losses.settings import LossSettings
from sandmle.rl.trainer import LoraSettings, OptimizerSettings
from sandmle.rl.trainer._learner import Learner, token_logprobs
from sandmle.rl.types import CONTEXT, Example, Row


def make_rows():
    rng = np.random.default_rng(0)
    for length in (9, 14):
        turns = np.where(np.arange(length) < 4, CONTEXT, 0)
        yield Row(rng.integers(3, 256, length), turns, turns != CONTEXT, np.zeros(length), 0)


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


def test_gradient_checkpointing_learns_the_same(make_policy):
    plain, checkpointed = make_policy(), make_policy()
    before = logprobs(plain)
    learn(plain)
    learn(checkpointed, gradient_checkpointing=True)
    assert checkpointed.model.is_gradient_checkpointing
    assert torch.allclose(logprobs(plain), logprobs(checkpointed), atol=1e-5)
    assert not torch.allclose(before, logprobs(plain), atol=1e-2)


def test_layers_in_bfloat16_are_near_and_alike_for_sampler_and_trainer(tmp_path, make_policy):
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


EXAMPLES = [Example(row, np.where(row.mask, advantage, 0.0)) for row, advantage in zip(ROWS, (1.0, -1.0), strict=True)]


def improve(policy, reference=None, *, settings=None, mini_batches=1):
    learner = Learner(policy, OptimizerSettings(learning_rate=1e-2), reference)
    return learner.improve(EXAMPLES, settings or LossSettings(), mini_batches=mini_batches)


def test_one_mini_batch_clips_nothing_and_two_do(make_policy):
    tight = LossSettings(clip_low=1e-6, clip_high=1e-6, dual_clip=1 + 1e-6, sampler_correction="none")
    once, twice = make_policy(), make_policy()
    assert improve(once, settings=tight)["clipped"] == 0
    found = improve(twice, settings=tight, mini_batches=2)
    assert found["clipped"] + found["dual_clipped"] > 0
    assert abs(found["update_kl"]) > 0
    assert not torch.allclose(logprobs(once), logprobs(twice), atol=1e-4)


def test_mini_batches_are_steps_whose_old_weights_are_those_before_the_update(make_policy):
    settings = LossSettings(sampler_correction="none")
    whole, by_hand = make_policy(), make_policy()
    before = logprobs(by_hand).double().numpy()
    improve(whole, settings=settings, mini_batches=2)
    learner = Learner(by_hand, OptimizerSettings(learning_rate=1e-2))
    for example, old in zip(EXAMPLES, before, strict=True):
        learner.improve([replace(example, old_logprobs=old[: len(example.row)])], settings)
    assert torch.allclose(logprobs(whole), logprobs(by_hand), atol=1e-6)


def test_a_mini_batch_without_a_token_to_learn_is_no_step(make_policy):
    silent = [replace(each, row=replace(each.row, mask=np.zeros(len(each.row), bool))) for each in EXAMPLES]
    policy = make_policy()
    learner = Learner(policy, OptimizerSettings(learning_rate=1e-2))
    learner.improve([*silent, *EXAMPLES], LossSettings(), mini_batches=2)
    assert [state["step"].item() for state in learner.optimizer.state.values()][:1] == [1]


def test_a_kl_penalty_holds_the_policy_to_the_reference(make_policy):
    free, held = make_policy(), make_policy()
    reference = make_policy()
    strong = LossSettings(kl="k3", kl_weight=100.0)
    first = improve(held, reference.model, settings=strong)
    assert first["kl"] == pytest.approx(0, abs=1e-9)
    learners = {
        "free": (Learner(free, OptimizerSettings(learning_rate=1e-2)), LossSettings()),
        "held": (Learner(held, OptimizerSettings(learning_rate=1e-2), reference.model), strong),
    }
    for learner, settings in learners.values():
        for _ in range(8):
            found = learner.improve(EXAMPLES, settings)
    assert found["kl"] > 0
    gap = {
        name: (logprobs(policy) - logprobs(reference)).abs().max() for name, policy in (("free", free), ("held", held))
    }
    assert gap["held"] < gap["free"] / 2
    assert torch.equal(logprobs(reference), logprobs(make_policy()))


class TestAdapters:
    @pytest.fixture(autouse=True)
    def _peft(self):
        pytest.importorskip("peft", reason="peft is not installed")

    def test_they_alone_learn_and_a_checkpoint_is_a_whole_policy(self, tmp_path, make_policy):
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

    def test_a_restored_learner_goes_on_to_the_last_bit(self, make_policy):
        policies = [make_policy(), make_policy()]
        for policy in policies:
            add_adapters(policy.model, LoraSettings(rank=4), seed=1)
        learner = learn(policies[0])
        other = learn(policies[1], steps=0)
        other.restore(deepcopy(learner.state()))
        for each in (learner, other):
            each.imitate(ROWS)
        assert torch.equal(logprobs(policies[0]), logprobs(policies[1]))


def test_without_peft_adapters_tell_what_to_install(monkeypatch, make_policy):
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(EnvironmentProblem, match="pip install peft"):
        add_adapters(make_policy().model, LoraSettings(), seed=0)
