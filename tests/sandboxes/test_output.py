from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandmle.sandboxes._guest.output import OutputBuffer


def shown(data: bytes, limit: int = 1000, chunk: int = 7) -> tuple[str, str]:
    buffer = OutputBuffer(limit)
    for start in range(0, len(data), chunk):
        buffer.add(data[start : start + chunk])
    assert buffer.total_bytes == len(data)
    return buffer.finish()


def test_short_output_is_all_head():
    assert shown(b"one\ntwo\n") == ("one\ntwo\n", "")


def test_long_output_keeps_both_ends():
    head, tail = shown(b"".join(b"line %d\n" % i for i in range(1000)), limit=100)
    assert head.startswith("line 0\nline 1\n")
    assert len(head) == 50
    assert tail.endswith("line 998\nline 999\n")
    assert len(tail) == 50


def test_exactly_the_limit_is_not_cut():
    assert shown(b"x" * 100, limit=100) == ("x" * 100, "")
    head, tail = shown(b"x" * 101, limit=100)
    assert (len(head), len(tail)) == (50, 50)


def test_progress_bar_keeps_its_last_state():
    assert shown(b"start\n 1%\r50%\r100%\ndone\r\n") == ("start\n100%\ndone\n", "")
    assert shown(b" 1%\r50%\r") == ("50%", "")


def test_invalid_and_torn_bytes_are_replaced():
    assert shown(b"a\xffb") == ("a\ufffdb", "")
    head, tail = shown("é".encode() * 100, limit=101)
    assert set(head) | set(tail) == {"é"}


def test_endless_line_does_not_accumulate():
    buffer = OutputBuffer(100)
    for _ in range(2000):
        buffer.add(b"y" * 10_000)
    assert len(buffer._line) <= 10_000 + 4096
    assert buffer.finish() == ("y" * 50, "y" * 50)


@pytest.mark.parametrize("data", [b"\r\n" + b"x" * (1 << 22) + b"\n", b"\r" * (1 << 22) + b"x\n"])
def test_carriage_returns_cost_linear_time(data: bytes):
    """Quadratic time, as of a careless regular expression, would take hours here."""
    head, tail = shown(data, chunk=1 << 20)
    assert (head + tail).endswith("x\n")


def collapse(text: str) -> str:
    """What a terminal would show of each line, written the plain way."""
    lines = []
    for line in text.split("\n"):
        lines.append(line.rstrip("\r").rpartition("\r")[2])
    return "\n".join(lines)


@given(st.text(alphabet="ab\r\n", max_size=60), st.integers(1, 9))
def test_equals_the_plain_rule_however_it_is_cut(text: str, chunk: int):
    head, tail = shown(text.encode(), limit=10_000, chunk=chunk)
    assert (head, tail) == (collapse(text), "")


@given(st.binary(max_size=300), st.integers(2, 40), st.integers(1, 50))
def test_is_bounded_for_any_bytes(data: bytes, limit: int, chunk: int):
    head, tail = shown(data, limit=limit, chunk=chunk)
    assert len(head) + len(tail) <= limit
