"""Losses, gradients and metrics equal verl's on 1,000 random batches (``golden/make_fixtures.py``)."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

import our_answers
import random_batches

FIXTURE = Path(__file__).parent / "golden" / "verl.npz"
NUMBERS = ("loss", "policy_loss", "kl", "update_kl", "clipped", "dual_clipped", "entropy")
SAMPLER_NUMBERS = ("sampler_kl", "sampler_kl_k3", "sampler_weight")


@pytest.fixture(scope="module")
def fixture():
    with np.load(FIXTURE) as archive:
        return dict(archive)


@pytest.fixture(scope="module")
def ours(fixture):
    return [our_answers.loss(batch) for batch in random_batches.split(fixture)]


@pytest.mark.parametrize("name", [*NUMBERS, *SAMPLER_NUMBERS])
def test_numbers_equal_verls(fixture, ours, name):
    found = np.array([answer.get(name, np.nan) for answer in ours])
    assert np.nanmax(np.abs(found)) > 0.1
    np.testing.assert_allclose(found, fixture[f"verl_{name}"], rtol=1e-6, atol=1e-6)


def test_gradients_equal_verls(fixture, ours):
    found = np.concatenate([answer["gradient"].ravel() for answer in ours])
    np.testing.assert_allclose(found, fixture["verl_gradient"], rtol=1e-6, atol=1e-6)
