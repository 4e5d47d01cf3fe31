from __future__ import annotations

import pytest

from sandmle.errors import BadInput
from sandmle.graphs.parsing import parse_reply
from sandmle.prompts import load_prompt, parse_prompt, prompt_names
from sandmle.trajectory import Action

REACT = {"turns": 20, "step_seconds": "90", "memory_mib": 4096, "protocol": "clean", "score_calls": 10}
HEAD = "---\nrole: system\nversion: 1\ninputs: [name]\n---\n"


def test_every_prompt_loads() -> None:
    assert "react" in prompt_names()
    for name in prompt_names():
        prompt = load_prompt(name)
        assert prompt.version >= 1
        assert prompt.body.strip()


@pytest.mark.parametrize("protocol", ["clean", "train", "paper", "dojo"])
def test_react_tells_each_protocol(protocol: str) -> None:
    text = load_prompt("react").render(**REACT | {"protocol": protocol})
    others = {
        load_prompt("react").render(**REACT | {"protocol": other}) for other in ("clean", "train", "paper", "dojo")
    }
    assert len(others) == 4
    assert "20 turns" in text
    assert "90 seconds" in text
    assert ("10 times" in text) == (protocol == "train")
    assert ("no score" in text) == (protocol == "clean")


def test_the_examples_of_react_parse() -> None:
    text = load_prompt("react").render(**REACT)
    blocks = ["<think>" + block.split("\n\n")[0] for block in text.split("<think>")[1:]]
    parsed = [parse_reply(block) for block in blocks]
    assert parsed == [
        Action(kind="python", code='print("a complete script")\n'),
        Action(kind="score"),
        Action(kind="answer"),
    ]


def test_missing_and_unknown_inputs_are_refused() -> None:
    prompt = parse_prompt("greet", HEAD + "Hello {{ name }}\n")
    assert prompt.render(name="{{ x }}") == "Hello {{ x }}"
    with pytest.raises(BadInput, match="'greet' misses name"):
        prompt.render()
    with pytest.raises(BadInput, match="'greet' has no age"):
        prompt.render(name="a", age=3)
    with pytest.raises(BadInput, match="greet"):
        parse_prompt("greet", HEAD + "{{ name.first }}").render(name="a")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Hello", "no YAML head"),
        (HEAD + "Hello", "disagree about the inputs name"),
        (HEAD + "{{ name }} {{ age }}", "disagree about the inputs age"),
        (HEAD + "{{ name", "greet"),
        ("---\nrole: [\n---\nx", "greet"),
        ("---\nrole: robot\nversion: 1\n---\nx", "role"),
        ("---\nrole: user\n---\nx", "version"),
        ("---\nrole: user\nversion: 1\nauthor: me\n---\nx", "author"),
    ],
)
def test_broken_prompts_are_refused_in_one_line(text: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem) as caught:
        parse_prompt("greet", text)
    assert "\n" not in str(caught.value)


def test_unknown_prompt_lists_those_there_are() -> None:
    with pytest.raises(BadInput, match=r"unknown prompt 'reakt'; choose from .*react"):
        load_prompt("reakt")
