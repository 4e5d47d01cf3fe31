"""What the cells of each kind of prediction become, and what a key of groups must be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandmle.errors import BadInput
from sandmle.eval.grading import InvalidSubmission, decode_mask, encode_mask, grade_bytes, load_answers, read_answers

checked = settings(deadline=None, max_examples=60)


def naive_run_lengths(pixels):
    """The definition, one pixel at a time."""
    runs, start = [], None
    for place, pixel in enumerate([*pixels, 0], 1):
        if pixel and start is None:
            start = place
        if not pixel and start is not None:
            runs += [start, place - start]
            start = None
    return " ".join(map(str, runs)) or "none"


@checked
@given(st.integers(1, 7), st.integers(1, 7), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_a_mask_comes_back(height, width, share, seed):
    mask = (np.random.default_rng(seed).random((height, width)) < share).astype(float)
    text = encode_mask(mask)
    assert text == naive_run_lengths(mask.ravel())
    assert np.array_equal(decode_mask(text, (height, width)), mask.ravel())


def test_masks_of_booleans_and_bytes():
    assert encode_mask(np.array([[True, False], [True, True]])) == "1 1 3 2"
    assert encode_mask(np.array([[0, 255], [255, 0]], dtype=np.uint8)) == "2 2"
    assert encode_mask(np.zeros((0, 4))) == "none"


@checked
@given(st.lists(st.integers(-1, 14) | st.sampled_from(["x", "1.0", "none", "9" * 30]), max_size=7))
def test_run_lengths_are_taken_or_refused_as_the_definition_says(words):
    text = " ".join(map(str, words))
    pixels = _mask_by_definition(words)
    if pixels is None:
        with pytest.raises(InvalidSubmission):
            decode_mask(text, (3, 4))
    else:
        assert decode_mask(text, (3, 4)).tolist() == pixels


def _mask_by_definition(words):
    if words == ["none"]:
        return [0.0] * 12
    if len(words) % 2 or not all(isinstance(word, int) and word >= 0 for word in words):
        return None
    pixels, last = [0.0] * 12, 0
    for start, length in zip(words[::2], words[1::2], strict=True):
        if not (last < start <= start + length - 1 <= 12 and length > 0):
            return None
        last = start + length - 1
        pixels[start - 1 : last] = [1.0] * length
    return pixels


def test_the_truth_of_each_kind(tasks):
    truth = {kind: load_answers(task).truth for kind, task in tasks.items()}
    assert truth["label_set"].tolist()[:5] == [[1, 0, 0], [0, 0, 0], [1, 1, 1], [0, 1, 0], [0, 0, 0]]
    assert np.array_equal(truth["label_probabilities"], truth["label_set"])
    assert truth["ranked_labels"].tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
    assert truth["relevance"].tolist()[5:8] == [[1.5, 1], [0, 1], [1, 2]]
    assert truth["text"].tolist()[:3] == ["one", "", "two words"]
    assert truth["mask"][6].tolist() == [0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0]


def test_scores_of_the_private_rows_by_hand(tasks, perfect, to_bytes):
    cases = {
        "label_set": (4, "low", (1 / 1 * 6 + 0) / 7),
        "ranked_labels": (4, "1 low", (6 + 1 / 2) / 7),
        "text": (4, "Arge", 2 / 7),
        "mask": (4, "1 2 12 1", (6 + 2 * 2 / 5) / 7),
    }
    for kind, (row, cell, expected) in cases.items():
        rows = perfect(kind)
        rows[row][1] = cell
        assert grade_bytes(tasks[kind], to_bytes(rows)).score == pytest.approx(expected), kind
    rows = perfect("relevance")
    rows[4][1], rows[6][1] = rows[6][1], rows[4][1]
    low, high = 2**1.5 - 1, 7
    swapped = (low + high / np.log2(3)) / (high + low / np.log2(3))
    assert grade_bytes(tasks["relevance"], to_bytes(rows)).score == pytest.approx((swapped + 1) / 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("102,2,7,Public", "102,2,7,Private"), "a group of 'query' is both Public and Private"),
        (("query", "other"), "no group column 'query'"),
        (("101,1,", "101,-1,"), "-1 is outside"),
        (("101,1,", "101,many,"), "'many' is not a number"),
    ],
)
def test_a_broken_key_of_groups(tasks, tmp_path, change, message):
    path = tmp_path / "answers.csv"
    text = tasks["relevance"].answers.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    with pytest.raises(BadInput, match=message):
        read_answers(path, tasks["relevance"].manifest.submission)


@pytest.mark.parametrize(
    ("kind", "old", "new", "message"),
    [
        ("label_set", "low 1 high", "low 1 low", "'low' stands twice"),
        ("label_probabilities", "low 1 high", "low mid", "'mid' is not one of the labels"),
        ("label_probabilities", "labels,Usage", "labels,more", "needs one target column"),
        ("mask", "1 12", "1 13", "a run leaves the 12 pixels"),
        ("text", "one", "x" * 1001, "1001 characters"),
    ],
)
def test_a_broken_key_of_other_kinds(tasks, tmp_path, kind, old, new, message):
    path = tmp_path / "answers.csv"
    path.write_text(tasks[kind].answers.read_text().replace(old, new))
    with pytest.raises(BadInput, match=message):
        read_answers(path, tasks[kind].manifest.submission)
