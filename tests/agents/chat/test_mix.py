"""The corpus of short scripts: all are complete, the right parts work, the bad habits fail, and none knows the rule."""

import ast
import asyncio
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from sandmle.agents.chat.scripted import get_scripted
from sandmle.agents.chat.scripted.mix import MixChat, asked_kind
from sandmle.agents.chat.scripted.parts import KINDS, SLOTS, WRITERS, Recipe, compose, draw, right_writer
from sandmle.agents.chat.tokens import READINGS
from sandmle.graphs.parsing import FormatFault, parse_reply
from sandmle.trajectory import Message

GOOD = Recipe("last", "shared", "weekday", "dummies", "standard", "none", "linear")
SYSTEM = SystemMessage("... <answer>submission</answer>")
BRIEF = """# Kilns: How Hot?

Every row is one firing; submit the probability that `cracked` is `yes`.

| column | kind | description |
| --- | --- | --- |
| `firing_id` | id | Unique number |
| `clay_mass` | number (kg) | Mass of the clay |
| `glaze` | ordered category: thin < thick | Glaze |
| `fired_on` | date (YYYY-MM-DD) | Day |
| `cracked` | target | Whether it cracked: `no`, `yes` |

Some cells are empty: the value was not recorded.

Submissions are scored by **Log loss**. Lower is better.
It is the mean negative natural logarithm.

`cracked` holds the probability of `yes`, between 0 and 1.
"""


def test_every_combination_of_a_part_with_good_ones_is_a_complete_script():
    for kind in KINDS:
        for place, parts in enumerate(SLOTS.values()):
            for name in parts:
                recipe = Recipe(*(name if slot == place else part for slot, part in enumerate(GOOD)))
                for writer in WRITERS[kind]:
                    script = compose(recipe, kind, writer)
                    ast.parse(script)
                    assert 'read_csv("input/train.csv")' in script
                    assert 'to_csv("submission.csv"' in script


def test_no_script_names_anything_of_a_task():
    rng = np.random.default_rng(0)
    scripts = [compose(*_asked(rng, kind)) for kind in KINDS for _ in range(50)]
    texts = {node.value for script in scripts for node in ast.walk(ast.parse(script)) if isinstance(node, ast.Constant)}
    words = {text for text in texts if isinstance(text, str) and re.fullmatch(r"[a-z_]+", text)}
    assert words <= {"target", "row", "written", "number", "prior", "l1", "liblinear", "_on"}


def _asked(rng, kind):
    recipe, writer = draw(rng, kind)
    return recipe, kind, writer


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Tables of a made-up task; ``ask`` gives them another target."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    (tmp_path / "input").mkdir()

    def ask(kind):
        frame = pd.DataFrame(
            {
                "firing_id": [f"F-{number}" for number in range(90)],
                "clay_mass": rng.normal(3, 1, 90),
                "heat": rng.normal(900, 50, 90),
                "drift": rng.permutation(np.linspace(-1, 1, 90)),
                "glaze": rng.choice(["thin", "thick"], 90),
                "fired_on": pd.date_range("2024-01-01", periods=90).strftime("%Y-%m-%d"),
            }
        )
        frame.loc[3, "clay_mass"] = np.nan
        high = (frame["heat"] > 900).to_numpy()
        frame["cracked"] = frame["heat"] if kind == "number" else np.where(high, "aye", "nay")
        frame[:60].to_csv("input/train.csv", index=False)
        frame[60:].drop(columns="cracked").to_csv("input/test.csv", index=False)
        sample = pd.DataFrame({"firing_id": frame["firing_id"][60:]})
        columns = ["nay", "aye"] if kind == "class_probabilities" else ["cracked"]
        sample[columns] = "nay" if kind == "label" else 0.5
        sample.to_csv("input/sample_submission.csv", index=False)
        (tmp_path / "input" / "description.md").write_text("holds the probability of `aye`, between")
        return high[60:]

    return ask


def run(script):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(script, "script", "exec"), {})
    return pd.read_csv("submission.csv")


@pytest.mark.parametrize("kind", KINDS)
def test_a_good_recipe_predicts_what_is_asked_for(workspace, kind):
    high = workspace(kind)
    found = run(compose(GOOD, kind, right_writer(kind)))
    assert len(found) == 30
    column = found["aye"] if kind == "class_probabilities" else found["cracked"]
    said = column == "aye" if kind == "label" else column > (900 if kind == "number" else 0.5)
    assert np.mean(said == high) > 0.8


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"target": "guessed"}, KeyError),
        ({"words": "untouched"}, (TypeError, ValueError)),
        ({"scale": "as-is"}, ValueError),
        ({"model": "plain"}, ValueError),
    ],
)
def test_bad_habits_crash(workspace, changed, error):
    workspace("label")
    with pytest.raises(error):
        run(compose(GOOD._replace(**changed), "label", "predict"))


@pytest.mark.parametrize("frame", ["with-target", "row-number"])
def test_bad_frames_run_and_mislead(workspace, frame):
    high = workspace("label")
    found = run(compose(GOOD._replace(frame=frame, model="forest"), "label", "predict"))["cracked"] == "aye"
    good = run(compose(GOOD._replace(model="forest"), "label", "predict"))["cracked"] == "aye"
    assert np.mean(found == high) <= np.mean(good == high)


def test_the_second_class_is_the_wrong_one_where_names_are_so_ordered(workspace):
    high = workspace("probability")
    found = run(compose(GOOD, "probability", "second"))["cracked"]
    assert np.mean((found > 0.5) == high) < 0.1


def test_a_number_in_place_of_labels_is_not_what_was_asked_for(workspace):
    workspace("label")
    assert set(run(compose(GOOD, "label", "classes"))["cracked"]).isdisjoint({"aye", "nay"})


@pytest.mark.parametrize("more", SLOTS["more"])
@pytest.mark.parametrize("model", ["shrunk", "slow-boosted"])
def test_ideas_run(workspace, more, model):
    workspace("probability")
    assert run(compose(GOOD._replace(more=more, model=model), "probability", "told"))["cracked"].between(0, 1).all()


@pytest.mark.parametrize(
    ("says", "kind"),
    [
        ("`y` holds the probability of `yes`, between 0 and 1.", "probability"),
        ("The columns `a`, `b` hold one probability per class, between 0 and 1.", "class_probabilities"),
        ("`y` holds one of the labels `a`, `b`.", "label"),
        ("`y` holds a number.", "number"),
    ],
)
def test_the_kind_is_read_from_the_brief(says, kind):
    assert asked_kind(says) == kind


def reply(seed, *said):
    messages = [SYSTEM, HumanMessage(BRIEF)]
    for code, observation in said:
        messages += [AIMessage(code), HumanMessage(f"<tool_response>\n{observation}\n</tool_response>")]
    return asyncio.run(MixChat(seed=seed).ainvoke(messages)).text


def test_replies_are_turns_but_for_a_few():
    faults = [isinstance(parse_reply(reply(seed)), FormatFault) for seed in range(200)]
    assert 0 < sum(faults) < 20


def test_the_seed_fixes_a_reply():
    assert reply(7) == reply(7) != reply(8)


def test_after_a_failure_comes_another_script_and_after_success_the_answer():
    code = reply(2)
    again = reply(2, (code, "ValueError: no\n[the step failed: exit code 1]"))
    assert parse_reply(again).kind == "python"
    assert again != code
    assert parse_reply(reply(2, (code, "written"))).kind == "answer"


def test_the_policy_has_a_name():
    assert isinstance(get_scripted("mix").model(task=None, seed=3), MixChat)


def test_a_digest_holds_lines_of_the_brief_and_no_description():
    digest = READINGS["digest"](Message(role="user", content=BRIEF))
    assert digest.splitlines() == [
        "Some cells are empty: the value was not recorded.",
        "Submissions are scored by **Log loss**. Lower is better.",
        "holds the probability of `yes`, between 0 and 1.",
        "id number ordered date target",
    ]


def test_a_digest_of_an_observation_is_its_end_and_the_instructions_are_left_out():
    long = "<tool_response>\nfirst\nsecond\n" + "x" * 99 + "\n</tool_response>"
    assert READINGS["digest"](Message(role="user", content=long)) == "second\n" + "x" * 48
    assert READINGS["digest"](Message(role="system", content="rules")) is None
    assert READINGS["whole"](Message(role="system", content="rules")) == "rules"
