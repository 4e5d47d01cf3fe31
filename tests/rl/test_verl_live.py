"""The same against verl itself, on new batches, where it is installed or SANDMLE_TEST_VERL names its folder."""

import importlib.util
import os

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

import our_answers
import random_batches
import verl_oracle

NAMED = os.environ.get("SANDMLE_TEST_VERL")
SPEC = None if NAMED else importlib.util.find_spec("verl")


@pytest.mark.skipif(NAMED is None and SPEC is None, reason="verl is not installed")
def test_fresh_batches_get_verls_answers():
    verl = verl_oracle.load(NAMED or SPEC.submodule_search_locations[0])
    for index in range(200):
        batch = random_batches.draw([8, index])
        theirs = verl_oracle.answer(verl, batch)
        ours = {**our_answers.advantages(batch), **our_answers.loss(batch)}
        assert set(ours) - {"sampler_truncated"} == set(theirs)
        for name in theirs:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-6, atol=1e-6, err_msg=f"{name}, batch {index}")
