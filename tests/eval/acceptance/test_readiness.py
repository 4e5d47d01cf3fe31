from __future__ import annotations

import pytest

from sandmle.eval.acceptance import calibrate
from sandmle.eval.acceptance.readiness import Readiness, assess_readiness, intended_tiers, pool_reliability
from sandmle.task import Thresholds, Tier

TIERS = Thresholds(median=4.0, bronze=3.0, silver=2.0, gold=1.0)


@pytest.fixture(scope="module")
def calibration(regression):
    return calibrate(regression, resamples=20).model_copy(update={"thresholds": TIERS})


def test_the_rule_of_intended_tiers():
    assert intended_tiers("blend") == {"dummy": None, "blend": Tier.BRONZE, "informed": Tier.GOLD}


def test_shares_by_hand_where_lower_is_better(calibration):
    redrawn = [
        {"dummy": [5.0, 4.5], "linear": [3.0, 2.5], "informed": [1.0, 0.5], "trees": [9.0]},
        {"dummy": [3.9, 9.0], "linear": [2.0, 3.1], "informed": [1.1, float("nan")], "trees": [9.0]},
    ]
    found = assess_readiness(calibration, redrawn).reliability
    assert (found.tests, found.pairs, found.pairs_in_order) == (2, 4, 3)
    assert found.intended == {"dummy": 3, "linear": 2, "informed": 2}
    assert found.tiers["linear"] == {"none": 0, "median": 1, "bronze": 2, "silver": 1, "gold": 0}
    assert found.tiers["informed"] == {"none": 1, "median": 0, "bronze": 0, "silver": 1, "gold": 2}
    assert found.order_share == 3 / 4
    assert found.tier_share == 7 / 12


def test_ideas_to_gold_is_the_first_that_earns_it(calibration):
    found = assess_readiness(calibration, [], {64: 0.9, 1: 3.5, 16: 1.0, 4: 1.2})
    assert list(found.search) == [1, 4, 16, 64]
    assert found.search_tier == {1: "median", 4: "silver", 16: "gold", 64: "gold"}
    assert found.ideas_to_gold == 16
    assert assess_readiness(calibration, [], {1: 3.5}).ideas_to_gold is None
    assert found.reliability.order_share is None
    assert found.headroom["informed"] == calibration.rungs["informed"].headroom
    assert Readiness.model_validate_json(found.to_text()) == found


def test_counts_of_tasks_are_added(calibration):
    one = assess_readiness(calibration, [{"dummy": [5.0], "linear": [3.0], "informed": [1.0]}]).reliability
    trees = assess_readiness(
        calibration.model_copy(update={"best_generic": "trees"}),
        [{"dummy": [5.0], "trees": [0.5], "informed": [1.0]}],
    ).reliability
    both = pool_reliability([one, trees])
    assert (both.tests, both.pairs, both.pairs_in_order) == (2, 4, 3)
    assert both.reruns == {"dummy": 2, "generic": 2, "informed": 2}
    assert both.tiers["generic"]["gold"] == both.tiers["generic"]["bronze"] == 1
    assert both.tier_share == 5 / 6
    assert pool_reliability([]).tier_share is None


def test_what_is_missing_is_named(calibration):
    with pytest.raises(ValueError, match=r"redrawn test 0: no scores of the rung\(s\) linear, informed"):
        assess_readiness(calibration, [{"dummy": [1.0], "linear": []}])
    with pytest.raises(ValueError, match="without thresholds"):
        assess_readiness(calibration.model_copy(update={"thresholds": None}), [])
