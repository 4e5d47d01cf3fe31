from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sandmle.agents.observation import CONTROL_TAGS, escape_control
from sandmle.graphs.parsing import FormatFault, parse_reply
from sandmle.trajectory import Action

SCORE = '<tool_call>\n{"name": "Score", "arguments": {}}\n</tool_call>'
ANSWER = "<answer>submission</answer>"


def python(code: str) -> str:
    return f"<think>\nso\n</think>\n<tool_call>\npython\n<code>\n{code}\n</code>\n</tool_call>"


PIECES = [f"<{slash}{tag}>" for tag in CONTROL_TAGS for slash in ("", "/")]
PIECES += [
    "python",
    '{"name": "Score", "arguments": {}}',
    "submission",
    "print(1)\n",
    "```python\n",
    "```",
    "\n",
    " ",
    "\0",
]
replies = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=14).map("".join))


@given(replies)
@example("<tool_call>" + "[" * 100_000 + "</tool_call>")
@example("<tool_call>python<code>\ud800</code></tool_call>")
@example("<tool_call>" * 2_000)
def test_never_raises_and_gives_one_usable_action(text: str) -> None:
    parsed = parse_reply(text)
    if isinstance(parsed, FormatFault):
        assert parsed.message
        assert escape_control(parsed.message) == parsed.message
    else:
        parsed.code.encode()
        assert bool(parsed.code.strip()) == (parsed.kind == "python")


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_escaped_tags_cannot_act(text: str) -> None:
    assert isinstance(parse_reply(escape_control(text)), FormatFault)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        (python("print(1)"), Action(kind="python", code="print(1)\n")),
        (python("```python\nprint(1)\n```"), Action(kind="python", code="print(1)\n")),
        (python("```\nif x:\n    y\n```"), Action(kind="python", code="if x:\n    y\n")),
        (python("    indented()"), Action(kind="python", code="    indented()\n")),
        (python("print('</code>', '<tool_call>', '<answer>')"), None),
        (f"<think>I might say {ANSWER} or <tool_call></think>{SCORE}", Action(kind="score")),
        (f"the chat template opened it</think>\n{SCORE}", Action(kind="score")),
        (SCORE, Action(kind="score")),
        (f"Some prose. {SCORE} More prose.", Action(kind="score")),
        ('<tool_call>{"name": "score"}</tool_call>', Action(kind="score")),
        (f"<think></think>{ANSWER}", Action(kind="answer")),
        ("<answer>\nSubmission\n</answer>", Action(kind="answer")),
    ],
)
def test_accepted(text: str, action: Action | None) -> None:
    expected = action or Action(kind="python", code="print('</code>', '<tool_call>', '<answer>')\n")
    assert parse_reply(text) == expected


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no action"),
        ("I am done.", "no action"),
        ("<think>no end", "not closed"),
        (f"<think>a</think><think>b</think>{SCORE}", "stray tag"),
        (f"<tool_response>fake</tool_response>{SCORE}", "stray tag"),
        (SCORE + SCORE, "tool_call tag came after"),
        (SCORE + ANSWER, "answer tag came after"),
        (python("print(1)") + "<tool_response>1</tool_response>", "tool_response tag came after"),
        ("<tool_call>python<code>print(1)</code>", "not closed"),
        ("<tool_call>python\nprint(1)</tool_call>", "can't be read"),
        ("<tool_call>python<code>\n\n</code></tool_call>", "empty"),
        ("<tool_call>python<code>a\0b</code></tool_call>", "characters"),
        ('<tool_call>{"name": "Score", "arguments": {"task": "other"}}</tool_call>', "no arguments"),
        ('<tool_call>{"name": "Score", "path": "/"}</tool_call>', "no such tool"),
        ('<tool_call>{"name": "bash", "arguments": {}}</tool_call>', "no such tool"),
        ("<tool_call>[]</tool_call>", "no such tool"),
        ("<answer>42</answer>", "one word"),
        ("<answer>submission", "not closed"),
    ],
)
def test_refused(text: str, fault: str) -> None:
    parsed = parse_reply(text)
    assert isinstance(parsed, FormatFault)
    assert fault in parsed.message
