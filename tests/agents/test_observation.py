from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandmle.agents.observation import CONTROL_TAGS, OBSERVATION_CHARS, escape_control, observe_step, plain_text
from sandmle.trajectory import StepResult

PIECES = [f"<{slash}{tag}>" for tag in CONTROL_TAGS for slash in ("", "/")]
PIECES += [
    "<",
    ">",
    "/",
    "think",
    "code",
    "<|im_end|>",
    "<|",
    "\x1b[0m",
    "\x00",
    "\u200b",
    "\r",
    "ans",
    "wer",
    " ",
    "x",
]
forged = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=4)), max_size=30).map("".join)


def step(output: str = "", **fields) -> StepResult:
    return StepResult(**({"status": "ok", "tier": "D", "head": output, "total_bytes": len(output.encode())} | fields))


@given(forged)
def test_no_control_tag_survives(output: str) -> None:
    observation = observe_step(step(output.encode("utf-8", "replace").decode()), step_seconds=90, memory_mib=64)
    assert not re.search(r"<\s*/?\s*(tool_response|tool_call|answer|think|code)\b", observation, re.IGNORECASE)
    assert "<|" not in observation
    assert "\x1b" not in observation
    assert "\u200b" not in observation
    assert escape_control(observation) == observation
    observation.encode()


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C"], exclude_characters="<[\u2028\u2029")))
def test_plain_output_is_untouched(output: str) -> None:
    assert escape_control(plain_text(output)) == output


@pytest.mark.parametrize(
    "token",
    ["<|endoftext|>", "<s>", "</s>", "[INST]", "[/INST]", "<<SYS>>", "<start_of_turn>", "<｜User｜>", "< / think >"],
)
def test_chat_template_tokens_are_escaped(token: str) -> None:
    assert token not in escape_control(f"a {token} b")


def test_ordinary_comparisons_stay() -> None:
    text = "if a < b and c <d> [0] <string> x[i]: <class 'int'> <codec>"
    assert escape_control(text) == text


def test_long_output_keeps_head_and_tail() -> None:
    text = "a" * OBSERVATION_CHARS + "b" * OBSERVATION_CHARS
    observation = observe_step(step(text), step_seconds=90, memory_mib=64)
    assert len(observation) < OBSERVATION_CHARS + 100
    assert observation.startswith("aaa")
    assert observation.endswith("bbb")
    assert f"[{OBSERVATION_CHARS} characters left out]" in observation


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"status": "timeout", "wall_s": 91.234}, "[the step hit its limit of 90 s and was stopped]"),
        ({"status": "oom"}, "[the step hit its limit of 64 MiB of memory and was stopped]"),
        ({"status": "error", "exit_code": 3}, "[the step failed: exit code 3]"),
        ({"status": "error", "signal": 11}, "[the step failed: signal 11]"),
        ({"status": "output_limit"}, "[the step printed too much and was stopped]"),
        ({"status": "killed"}, "[the step was stopped]"),
        ({}, "[the step printed nothing]"),
    ],
)
def test_endings(fields: dict[str, object], told: str) -> None:
    assert observe_step(step(**fields), step_seconds=90, memory_mib=64) == told
