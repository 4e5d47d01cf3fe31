"""Losses by hand, and what must not matter: padding, micro-batches, and what stands outside the mask."""
# ruff: noqa: E402 - imports follow the skip

import itertools
import math
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import our_answers
import random_batches
from hypothesis import given, settings
from hypothesis import strategies as st

from sandmle.rl.batches import Totals
from sandmle.rl.losses import LossSettings
from sandmle.rl.losses.aggregation import aggregate
from sandmle.rl.losses.clip import bounded_ratio, clipped_ratio
from sandmle.rl.losses.entropy import token_entropy
from sandmle.rl.losses.importance import importance_weights
from sandmle.rl.losses.kl import kl_estimate
from sandmle.rl.losses.policy import LossInputs, policy_loss

batches = st.integers(0, 10**6).map(lambda seed: random_batches.draw([9, seed]))
exactly = {"rel": 1e-12, "abs": 1e-12}


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def run(inputs, batch):
    """Loss, gradient and metrics of part of a batch."""
    found = policy_loss(inputs, random_batches.loss_settings(batch), our_answers.totals(batch))
    found.loss.backward()
    return {"loss": found.loss.detach(), **found.metrics}, inputs.new.grad


def make_inputs(**changes):
    row = tensor([-1.0, -2.0])
    base = {"new": row.clone(), "old": row, "sampler": row, "advantages": tensor([1.0, 1.0])}
    return LossInputs(**{**base, "mask": torch.ones(1, 2, dtype=torch.bool), **changes})


@pytest.mark.parametrize(
    ("ratio", "advantage", "kept"),
    [
        (0.5, 1.0, 0.5),
        (1.2, 1.0, 1.2),
        (1.5, 1.0, 1.28),
        (0.5, -1.0, 0.8),
        (1.5, -1.0, 1.5),
        (9.0, -1.0, 3.0),
        (9.0, 1.0, 1.28),
    ],
)
def test_clip_higher_and_dual_clip_by_hand(ratio, advantage, kept):
    assert clipped_ratio(tensor(ratio), tensor(advantage), 0.2, 0.28, 3.0).item() == pytest.approx(kept)


def test_without_dual_clip_a_likely_bad_token_costs_what_it_costs():
    assert clipped_ratio(tensor(9.0), tensor(-1.0), 0.2, 0.28, None).item() == 9.0


def test_a_ratio_can_not_overflow():
    assert bounded_ratio(torch.tensor([500.0, -500.0])).tolist() == pytest.approx([math.exp(20), math.exp(-20)])


@pytest.mark.parametrize(
    ("way", "horizon", "expected"),
    [
        ("token-mean", None, (1 + 2 + 6) / 3),
        ("seq-mean-token-mean", None, (1.5 + 6) / 2),
        ("seq-mean-token-sum", None, (3 + 6) / 2),
        ("seq-mean-token-sum-norm", 10, (3 + 6) / 2 / 10),
    ],
)
def test_aggregates_by_hand_ignore_empty_rows_and_garbage(way, horizon, expected):
    values = tensor([1.0, 2.0, math.nan], [6.0, math.inf, math.nan], [math.nan, 5.0, 5.0])
    mask = torch.tensor([[1, 1, 0], [1, 0, 0], [0, 0, 0]]).bool()
    assert aggregate(values, mask, Totals(rows=2, tokens=3), way, horizon).item() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("estimator", "expected"), [("k1", 0.5), ("k2", 0.125), ("k3", math.exp(-0.5) - 1 + 0.5), ("abs", 0.5)]
)
def test_divergences_by_hand(estimator, expected):
    assert kl_estimate(tensor(0.5), estimator).item() == pytest.approx(expected)


def test_importance_weights_by_hand():
    log_ratio = tensor([math.log(1.5), math.log(1.2), 7.0], [math.log(0.5), math.log(0.5), 7.0])
    mask = torch.tensor([[True, True, False]] * 2)
    of_tokens = importance_weights(log_ratio, mask, "token", 1.4)
    of_rows = importance_weights(log_ratio, mask, "sequence", 1.4)
    assert of_tokens[mask].tolist() == pytest.approx([1.4, 1.2, 0.5, 0.5])
    assert of_rows[mask].tolist() == pytest.approx([1.4, 1.4, 0.25, 0.25])
    assert importance_weights(log_ratio, mask, "none", 1.4)[mask].tolist() == [1] * 4


def test_entropy_by_hand():
    assert token_entropy(torch.zeros(2, 8)).tolist() == pytest.approx([math.log(8)] * 2)
    assert token_entropy(tensor([50.0, 0.0])).item() == pytest.approx(0, abs=1e-12)


def test_equal_policies_give_the_policy_gradient():
    inputs = make_inputs(advantages=tensor([2.0, -1.0]))
    inputs.new.requires_grad_()
    found = policy_loss(inputs, LossSettings(), Totals(rows=1, tokens=2))
    found.loss.backward()
    assert found.loss.item() == -0.5
    assert inputs.new.grad.tolist() == [[-1.0, 0.5]]
    assert {name: value.item() for name, value in found.metrics.items()} == {
        "policy_loss": -0.5,
        "update_kl": 0,
        "clipped": 0,
        "dual_clipped": 0,
        "sampler_kl": 0,
        "sampler_kl_k3": 0,
        "sampler_weight": 1,
        "sampler_truncated": 0,
    }


def test_a_sampler_with_other_numerics_is_measured_and_corrected():
    inputs = make_inputs(sampler=tensor([-1.0 - math.log(1.5), -2.0 - math.log(4.0)]))
    found = policy_loss(inputs, LossSettings(sampler_cap=2.0), Totals(rows=1, tokens=2))
    assert found.loss.item() == pytest.approx(-(1.5 + 2.0) / 2)
    assert found.metrics["sampler_kl"].item() == pytest.approx(-math.log(6) / 2)
    assert found.metrics["sampler_weight"].item() == pytest.approx(1.75)
    assert found.metrics["sampler_truncated"].item() == 0.5
    off = policy_loss(inputs, LossSettings(sampler_correction="none"), Totals(rows=1, tokens=2))
    assert off.loss.item() == -1
    assert off.metrics["sampler_kl"].item() == found.metrics["sampler_kl"].item()


def test_a_penalty_needs_a_reference():
    with pytest.raises(ValueError, match="reference"):
        policy_loss(make_inputs(), LossSettings(kl="k3"), Totals(rows=1, tokens=2))


@settings(max_examples=60, deadline=None)
@given(batch=batches, data=st.data())
def test_micro_batches_add_up_to_the_batch_in_loss_gradient_and_metrics(batch, data):
    rows = len(batch["group"])
    order = data.draw(st.permutations(range(rows)))
    cuts = sorted(data.draw(st.sets(st.integers(1, max(rows - 1, 1)))))
    parts = [order[start:end] for start, end in itertools.pairwise([0, *cuts, rows]) if start < end]
    whole, gradient = run(our_answers.loss_inputs(batch), batch)
    pieces = [run(our_answers.loss_inputs(batch, part), batch) for part in parts]
    for name, value in whole.items():
        assert sum(piece[name].item() for piece, _ in pieces) == pytest.approx(value.item(), **exactly), name
    together = torch.cat([piece for _, piece in pieces])
    assert torch.allclose(together, gradient[list(itertools.chain(*parts))], rtol=0, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(batch=batches, more=st.integers(1, 5), garbage=st.sampled_from([math.nan, math.inf, -1e9]))
def test_neither_padding_nor_what_stands_outside_the_mask_matters(batch, more, garbage):
    whole, gradient = run(our_answers.loss_inputs(batch), batch)
    inputs = our_answers.loss_inputs(batch)
    wide = {"mask": torch.nn.functional.pad(inputs.mask, (0, more))}
    for name in ("new", "old", "sampler", "reference", "advantages", "entropy"):
        spoilt = torch.where(inputs.mask, getattr(inputs, name).detach(), garbage)
        wide[name] = torch.nn.functional.pad(spoilt, (0, more), value=garbage)
    inputs = replace(inputs, **{**wide, "new": wide["new"].requires_grad_()})
    found, padded = run(inputs, batch)
    for name, value in whole.items():
        assert found[name].item() == pytest.approx(value.item(), **exactly), name
    assert torch.allclose(padded[:, : gradient.shape[1]], gradient, rtol=0, atol=1e-12)
    assert not padded[:, gradient.shape[1] :].any()


def test_micro_batches_divide_by_the_tokens_of_the_batch_not_by_their_own():
    """What verl's issue 2368 was about: a row of one token and one of three, each in a micro-batch of its own."""
    values, mask = tensor([4.0, 0.0, 0.0], [1.0, 1.0, 1.0]), torch.tensor([[1, 0, 0], [1, 1, 1]]).bool()
    parts = [(values[[row]], mask[[row]]) for row in (0, 1)]
    added = sum(aggregate(*part, Totals(rows=2, tokens=4), "token-mean").item() for part in parts)
    averaged = (
        sum(aggregate(*part, Totals(rows=1, tokens=int(part[1].sum())), "token-mean").item() for part in parts) / 2
    )
    assert added == 7 / 4
    assert averaged == 5 / 2
