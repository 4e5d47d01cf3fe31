"""Micro-batches side by side: the same sum to the last bit, however many are computed at once."""
# ruff: noqa: E402 - imports follow the skips

import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")

from sandmle.errors import BadInput
from sandmle.rl.adapters import add_adapters
from sandmle.rl.losses.settings import LossSettings
from sandmle.rl.trainer import LoraSettings, OptimizerSettings
from sandmle.rl.trainer._gradients import Gradients
from sandmle.rl.trainer._learner import Learner
from sandmle.rl.types import CONTEXT, Example, Row


def make_examples(n=11):
    rng = np.random.default_rng(0)
    for length in rng.integers(6, 40, n):
        turns = np.where(np.arange(length) < 4, CONTEXT, 0)
        row = Row(rng.integers(3, 256, length), turns, turns != CONTEXT, np.zeros(length), 0)
        yield Example(row, np.where(row.mask, rng.normal(), 0.0))


EXAMPLES = list(make_examples())


def trained(policy, at_once, **settings):
    learner = Learner(
        policy,
        OptimizerSettings(learning_rate=1e-2, micro_batch_tokens=60, micro_batches_at_once=at_once, **settings),
    )
    metrics = [learner.imitate([each.row for each in EXAMPLES]) for _ in range(2)]
    metrics += [learner.improve(EXAMPLES, LossSettings(), mini_batches=2)]
    return metrics, [each.detach().clone() for each in policy.model.parameters()]


@pytest.mark.parametrize("at_once", [2, 3, 50])
@pytest.mark.parametrize("gradient_checkpointing", [False, True])
def test_the_weights_are_the_same_to_the_last_bit(at_once, gradient_checkpointing, make_policy):
    one = trained(make_policy(), 1, gradient_checkpointing=gradient_checkpointing)
    many = trained(make_policy(), at_once, gradient_checkpointing=gradient_checkpointing)
    assert one[0] == many[0]
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(one[1], many[1], strict=True))
    assert not all(torch.equal(ours, each) for ours, each in zip(one[1], make_policy().model.parameters(), strict=True))


def test_adapters_learn_the_same_and_frozen_weights_stay(make_policy):
    pytest.importorskip("peft", reason="peft is not installed")
    policies = [make_policy(), make_policy()]
    for policy in policies:
        add_adapters(policy.model, LoraSettings(rank=2), seed=0)
    one, many = (trained(policy, at_once)[1] for policy, at_once in zip(policies, (1, 3), strict=True))
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(one, many, strict=True))


def test_as_many_as_asked_are_computed_at_once_and_no_more():
    model, together, lock, most, now = torch.nn.Linear(2, 1), threading.Barrier(3), threading.Lock(), [0], [0]

    def loss(batch):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        together.wait(timeout=30)
        with lock:
            now[0] -= 1
        return model(batch).sum(), {"total": batch.sum()}

    found = Gradients(model, 3).add([torch.full((1, 2), float(number)) for number in range(6)], loss)
    assert most == [3]
    assert found == {"total": 30.0}
    assert model.weight.grad.tolist() == [[15.0, 15.0]]


def test_a_fault_in_one_is_raised():
    model = torch.nn.Linear(2, 1)

    def loss(batch):
        if batch is None:
            raise RuntimeError("out of memory")
        return model(batch).sum(), {}

    with pytest.raises(RuntimeError, match="out of memory"):
        Gradients(model, 2).add([torch.ones(1, 2), None, torch.ones(1, 2)], loss)


def test_several_at_once_are_refused_to_a_model_with_dropout(make_policy):
    policy = make_policy()
    policy.model.config.attention_dropout = 0.1
    Learner(policy, OptimizerSettings())
    with pytest.raises(BadInput, match="micro_batches_at_once must be 1"):
        Learner(policy, OptimizerSettings(micro_batches_at_once=2))
