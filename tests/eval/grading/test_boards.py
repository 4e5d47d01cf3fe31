"""Medals from leaderboards, and HumanRank.

``golden/medal_rows.json`` and ``golden/lite_thresholds.json`` were produced with MLE-bench's original code.
"""

import csv
import json
import math
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandmle.errors import BadInput
from sandmle.eval.grading.human_rank import human_rank
from sandmle.eval.grading.medals import (
    board_lower_is_better,
    board_score,
    medal_of,
    medal_rows,
    thresholds_from_leaderboard,
)
from sandmle.task import Thresholds

GOLDEN = Path(__file__).parent / "golden"
BOARDS = sorted(path.name.removesuffix(".private.csv") for path in GOLDEN.glob("*.private.csv"))


def board(name):
    with (GOLDEN / f"{name}.private.csv").open() as stream:
        return [float(row["score"]) for row in csv.DictReader(stream)]


def test_every_golden_medal_row():
    rows = json.loads((GOLDEN / "medal_rows.json").read_text())["rows"]
    assert len(rows) > 600
    for teams, (gold, silver, bronze, middle) in rows.items():
        n = int(teams)
        assert tuple(medal_rows(n)) == (gold, silver, bronze), n
        assert thresholds_from_leaderboard(list(range(1, n + 1))) == Thresholds(
            median=middle, bronze=bronze, silver=silver, gold=gold
        )


@pytest.mark.parametrize("name", BOARDS)
def test_golden_thresholds(name):
    expected = json.loads((GOLDEN / "lite_thresholds.json").read_text())[name]
    scores = board(name)
    assert len(scores) == expected["teams"]
    assert board_lower_is_better(scores) is expected["lower"]
    found = thresholds_from_leaderboard(scores)
    assert found.model_dump() == {
        tier: expected[f"{tier}_threshold"] for tier in ("median", "bronze", "silver", "gold")
    }


def test_three_boards_are_checked():
    assert len(BOARDS) == 3


def test_a_constant_board_counts_as_higher():
    assert board_lower_is_better([0.5, 0.5]) is False
    assert board_lower_is_better([0.1, 0.5]) is True


def test_shared_thresholds_give_the_best_medal():
    shared = thresholds_from_leaderboard([1.0] * 50 + [0.9] * 51)
    assert shared == Thresholds(median=0.9, bronze=1.0, silver=1.0, gold=1.0)
    assert medal_of(1.0, shared, lower_is_better=False) == "gold"
    assert medal_of(0.99, shared, lower_is_better=False) is None


def test_mle_bench_compares_scores_rounded_to_five_places():
    gold = Thresholds(median=0.1, bronze=0.2, silver=0.3, gold=0.9835)
    assert medal_of(0.983496, gold, lower_is_better=False) == "silver"
    assert medal_of(board_score(0.983496), gold, lower_is_better=False) == "gold"


@pytest.mark.parametrize("scores", [[], [math.nan, 1.0], [math.inf, 1.0]])
def test_a_board_without_usable_scores(scores):
    with pytest.raises(BadInput, match="leaderboard"):
        thresholds_from_leaderboard(scores)


def test_human_rank_by_hand():
    scores = [0.9, 0.8, 0.8, 0.5]
    ranks = {1.0: 1.0, 0.9: 1.0, 0.85: 0.75, 0.8: 0.75, 0.6: 0.25, 0.5: 0.25, 0.4: 0.0}
    for score, rank in ranks.items():
        assert human_rank(score, scores, lower_is_better=False) == rank
        assert human_rank(-score, [-other for other in scores], lower_is_better=True) == rank
    assert human_rank(math.nan, scores, lower_is_better=False) == 0.0
    with pytest.raises(BadInput, match="at least one team"):
        human_rank(1.0, [], lower_is_better=False)


@settings(deadline=None)
@given(
    st.lists(st.integers(-20, 20).map(float), min_size=1, max_size=50), st.integers(-21, 21).map(float), st.booleans()
)
def test_human_rank_is_the_share_beaten_or_tied(scores, score, lower):
    ordered = sorted(scores, reverse=not lower)
    count = sum(score <= other if lower else score >= other for other in ordered)
    assert human_rank(score, ordered, lower_is_better=lower) == pytest.approx(count / len(ordered))


@pytest.mark.parametrize("name", BOARDS)
def test_human_rank_on_golden_boards_is_a_direct_count(name):
    scores = board(name)
    lower, draw = board_lower_is_better(scores), random.Random(name)
    spread = max(scores) - min(scores)
    around = [draw.uniform(min(scores) - spread / 10, max(scores) + spread / 10) for _ in range(600)]
    for score in [*around, *draw.choices(scores, k=398), math.nan, math.inf]:
        met = [other for other in scores if (score <= other if lower else score >= other)]
        assert human_rank(score, scores, lower_is_better=lower) == len(met) / len(scores)
