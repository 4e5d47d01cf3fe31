from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandmle.graphs.aide._replies import Review, Solution, read_review, read_solution
from sandmle.graphs.parsing import FormatFault


def test_a_solution_is_a_plan_and_a_script() -> None:
    assert read_solution("I try trees.\n\n```python\nprint(1)\n```\n") == Solution(
        plan="I try trees.", code="print(1)\n"
    )
    assert read_solution("hm\n```python\nbad\n```\n</think>P.\n```Python3\ngood = 1\n```\n```\npip install x\n```") == (
        Solution(plan="P.", code="good = 1\n")
    )
    assert read_solution("<think>```python\nx\n```</think>Plan.\n```py\na = 1\n```\nand\n```\nb = 2\n```") == Solution(
        plan="Plan.", code="a = 1\n\nb = 2\n"
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no script"),
        ("Only words.", "no script"),
        ("```python\n```", "no script"),
        ("```python\ndef f(:\n```", "no Python"),
        ("```python\nprint('\0')\n```", "no Python"),
    ],
)
def test_what_is_no_solution(text: str, fault: str) -> None:
    found = read_solution(text)
    assert isinstance(found, FormatFault)
    assert fault in found.message


def test_a_whole_number_is_a_score_and_infinity_is_none() -> None:
    told = '{"is_bug": false, "summary": "fine", "metric": %s, "lower_is_better": true}'
    assert read_review(f"So {{x}}:\n```json\n{told % 1}\n```") == Review(is_bug=False, summary="fine", metric=1.0)
    for odd in ("Infinity", "NaN", "-Infinity", "null"):
        review = read_review(told % odd)
        assert isinstance(review, Review)
        assert review.metric is None


@pytest.mark.parametrize("text", ["", "no", "{}", '{"is_bug": 1}', "[1, 2]", '{"is_bug": false, "summary": "s"}'])
def test_what_is_no_review(text: str) -> None:
    assert isinstance(read_review(text), FormatFault)


@given(st.text())
def test_nothing_raises(text: str) -> None:
    read_solution(text)
    read_review(text)
