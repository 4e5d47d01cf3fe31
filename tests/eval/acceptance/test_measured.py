import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sandmle.errors import SandmleError
from sandmle.eval.acceptance import Measured

SCORES = st.floats(-100, 100).map(lambda value: round(value, 3))


def measured(dummy, generic, tuned, *, lower=False):
    scores = {"dummy": (dummy,), "linear": (generic,), "tuned": tuple(tuned)}
    return Measured(data="0", metric="any", lower_is_better=lower, scores=scores, versions={})


def tiers(found):
    return tuple(found.thresholds().model_dump().values())


def test_where_the_reference_is_clearly_better_it_stands_for_the_informed_score():
    assert tiers(measured(0.0, 0.6, [0.9, 1.0, 1.1])) == pytest.approx((0.3, 0.54, 0.76, 0.92))


def test_where_it_is_not_the_generic_score_is_lowered():
    """g becomes 0.9 of the way from 0 to the best, 1.0."""
    for tuned in ([1.0], [0.7], [-5.0]):
        assert tiers(measured(0.0, 1.0, tuned)) == pytest.approx((0.45, 0.81, 0.94, 0.98))


def test_where_the_ladder_does_not_beat_the_dummy_the_generic_score_is_raised():
    """g becomes 0.1 of the way from 0 to the best, 1.0."""
    for generic in (0.0, -5.0):
        assert tiers(measured(0.0, generic, [1.0])) == pytest.approx((0.05, 0.09, 0.46, 0.82))


def test_lower_scores_may_be_better():
    assert tiers(measured(10.0, 4.0, [0.0], lower=True)) == pytest.approx((7.0, 4.6, 2.4, 0.8))


def test_the_best_rung_counts():
    found = measured(0.0, 0.2, [1.0]).model_copy(
        update={"scores": {"dummy": (0.0,), "linear": (0.2,), "trees": (0.5,), "tuned": (1.0,)}}
    )
    assert tiers(found) == tiers(measured(0.0, 0.5, [1.0]))


@given(SCORES, SCORES, st.lists(SCORES, min_size=1, max_size=3), st.booleans())
def test_thresholds_rise_strictly_and_gold_was_reached(dummy, generic, tuned, lower):
    sign = -1 if lower else 1
    best = max(sign * generic, sign * float(np.mean(tuned)))
    assume(best - sign * dummy > 0.01)
    found = [sign * value for value in tiers(measured(dummy, generic, tuned, lower=lower))]
    assert sign * dummy < found[0] < found[1] < found[2] < found[3] <= best


@given(SCORES, st.floats(0, 50))
def test_nothing_better_than_the_dummy_is_no_ground_for_thresholds(dummy, less):
    with pytest.raises(SandmleError, match="beats the dummy"):
        measured(dummy, dummy - less, [dummy - less]).thresholds()
