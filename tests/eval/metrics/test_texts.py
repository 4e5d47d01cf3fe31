"""Metrics of texts against the textbook recursion and by hand."""

import time
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandmle.eval.metrics import get_metric

TEXT = st.text("ab é😀", max_size=12)


def arrays(rows):
    return tuple(np.array(column, dtype=np.str_) for column in zip(*rows, strict=True))


def levenshtein(a, b):
    @cache
    def distance(i, j):
        if not i or not j:
            return i + j
        swapped = distance(i - 1, j - 1) + (a[i - 1] != b[j - 1])
        return min(swapped, distance(i - 1, j) + 1, distance(i, j - 1) + 1)

    return distance(len(a), len(b))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=30))
def test_distances_and_error_rate(rows):
    truth, prediction = arrays(rows)
    expected = [levenshtein(*row) for row in rows]
    assert get_metric("edit_distance").units(truth, prediction).tolist() == expected
    total = sum(len(true) for true, _ in rows)
    if total:
        found = get_metric("character_error_rate").score(truth, prediction)
        assert found == pytest.approx(sum(expected) / total)


def test_more_rows_than_one_block():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc"), rng.integers(0, 9))) for _ in range(1200)]
    rows = list(zip(words[:600], words[600:], strict=True))
    found = get_metric("edit_distance").units(*arrays(rows))
    assert found.tolist() == [levenshtein(*row) for row in rows]


def test_two_thousand_texts_take_well_under_a_second():
    rng = np.random.default_rng(0)
    truth, prediction = (
        np.array(["".join(row) for row in rng.choice(list("abcdefgh "), (2000, 80))]) for _ in range(2)
    )
    prediction[7] = "x" * 1000
    started = time.process_time()
    get_metric("edit_distance").score(truth, prediction)
    assert time.process_time() - started < 1


def test_hand_computed():
    truth, prediction = arrays([("kitten", "sitting"), ("", ""), ("a b c", "a c"), ("a b", "b a b")])
    assert get_metric("edit_distance").units(truth, prediction).tolist() == [3, 0, 2, 2]
    assert get_metric("exact_match").score(truth, prediction) == 0.25
    assert get_metric("token_accuracy").score(truth, prediction) == pytest.approx(1 / 6)
    assert get_metric("character_error_rate").score(truth, prediction) == pytest.approx(7 / 14)
