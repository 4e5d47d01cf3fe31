"""Advantages equal verl's on 1,000 random batches of ragged groups with masked rollouts."""

from pathlib import Path

import numpy as np
import our_answers
import pytest
import random_batches

FIXTURE = Path(__file__).parent / "golden" / "verl.npz"


@pytest.fixture(scope="module")
def fixture():
    with np.load(FIXTURE) as archive:
        return dict(archive)


@pytest.fixture(scope="module")
def ours(fixture):
    return [our_answers.advantages(batch) for batch in random_batches.split(fixture)]


def test_the_fixture_is_small_and_has_all_that_is_hard(fixture):
    assert FIXTURE.stat().st_size < 1_000_000
    batches = list(random_batches.split(fixture))
    assert len(batches) == 1000
    assert any(not batch["mask"].any(axis=1).all() for batch in batches)
    assert any(np.any(np.diff(batch["mask"].astype(int), axis=1) > 0) for batch in batches)
    assert sum(batch["masked"].any() for batch in batches) > 100
    assert len({tuple(batch["choices"][:3]) for batch in batches}) == 4 * 3 * 5
    assert 50 < sum(fixture["verl_clipped"] > 0) < 950
    assert sum(fixture["verl_dual_clipped"] > 0) > 50


@pytest.mark.parametrize("name", our_answers.ESTIMATORS)
def test_advantages_equal_verls(fixture, ours, name):
    found = np.concatenate([answer[name].ravel() for answer in ours])
    assert np.abs(fixture[f"verl_{name}"]).max() > 0.5
    np.testing.assert_allclose(found, fixture[f"verl_{name}"], rtol=0, atol=1e-6)
