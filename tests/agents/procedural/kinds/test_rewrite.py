"""Lines to rewrite: the rule on its own, what the rungs learn from pairs, and the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import TypeAdapter

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds import get_kind
from sandmle.agents.procedural.rules import AnyRule, HiddenRule, RewriteRule
from sandmle.agents.procedural.rules.rewrite import StyleChoice
from sandmle.files import hash_tree

if TYPE_CHECKING:
    from conftest import Make

RULE = RewriteRule(
    choices=(
        StyleChoice(token="short", usual="long", other="as_is", condition="bracket"),
        StyleChoice(token="measure", usual="digits_long", other="words_long", condition="above", cut=40),
        StyleChoice(token="date", usual="iso", other="day_month_year", condition="desk", desks=("N", "S")),
        StyleChoice(token="code", usual="dashed", other="dotted"),
    ),
    noise=0.06,
    easy_share=0.4,
)


def test_rules_of_both_kinds_are_told_apart() -> None:
    adapter: TypeAdapter[AnyRule] = TypeAdapter(AnyRule)
    assert adapter.validate_python(RULE.model_dump(mode="json")) == RULE
    assert not isinstance(adapter.validate_json(RULE.model_dump_json()), HiddenRule)


def test_a_rule_reads_and_turns_like_any_other() -> None:
    assert RULE.primitives() == ("rewrite", "rewrite_above", "rewrite_bracket", "rewrite_desk")
    assert RULE.readable()[1] == "measure as words_long if [value > 40] else digits_long"
    assert len(RULE.terms()) == len(RULE.readable()) == 4
    assert RULE.louder(0.5).noise == 0.03
    assert RULE.easier(0.2).rare < RULE.rare < RULE.easier(-0.2).rare
    assert RULE.easier(5).easy_share == 0.85
    assert 0 < RULE.easier(0.2).difficulty() < RULE.difficulty() < 1


@pytest.fixture(scope="module")
def lines(make: Make) -> dict[str, object]:
    """The functions of an informed rung, with words of their own."""
    names = make("rewrite").run("informed")
    names["WORDS"].update(LV="lake view", nts="nights", km="kilometres")
    return names


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("14.03.2023", ("date", (14, 3, 2023), False)),
        ("(02/11/2021)", ("date", (2, 11, 2021), True)),
        ("9h05", ("time", (9, 5), False)),
        ("K2041", ("code", ("K", 2041), False)),
        ("x3", ("times", (3,), False)),
        ("(340 nts)", ("measure", (340, "nts"), True)),
        ("12km", ("measure", (12, "km"), False)),
        ("LV", ("short", ("LV",), False)),
    ],
)
def test_tokens_are_read(lines: dict, text: str, token: tuple) -> None:
    assert lines["tokens_of"](text) == [token]


@pytest.mark.parametrize(
    ("kind", "style", "fields", "written"),
    [
        ("short", "capitals", ("LV",), "Lake View"),
        ("short", "long_and_short", ("LV",), "lake view (LV)"),
        ("measure", "words_long", (340, "nts"), "three hundred and forty nights"),
        ("measure", "words_long", (21, "km"), "twenty-one kilometres"),
        ("measure", "unit_first", (7, "km"), "kilometres 7"),
        ("date", "iso", (4, 3, 2023), "2023-03-04"),
        ("date", "month_day_year", (14, 12, 2022), "December 14, 2022"),
        ("time", "half_day", (0, 5), "12:05 am"),
        ("time", "half_day", (12, 30), "12:30 pm"),
        ("code", "dotted", ("K", 2041), "K.20.41"),
        ("times", "fold", (3,), "3-fold"),
    ],
)
def test_styles_write_tokens_out(lines: dict, kind: str, style: str, fields: tuple, written: str) -> None:
    assert lines["STYLES"][kind][style](lines["full"], *fields) == written


def test_long_forms_are_learnt_from_pairs_alone(make: Make) -> None:
    made = make("rewrite", n_train=200)
    learnt = made.run("patterns")["WORDS"]
    content = Blueprint.of(made.plan).content
    shortenings = dict(content["shortenings"])
    assert {word: learnt.get(word) for word in shortenings} == shortenings
    assert not set(content["linking"]) & set(learnt)


def test_the_ladder_climbs_and_the_bayes_lines_follow_the_rule(make: Make) -> None:
    made = make("rewrite", n_train=200)
    scores = {rung: made.score(rung) for rung in made.plan.rungs}
    assert scores["dummy"] < scores["patterns"] < scores["informed"] <= made.bayes() + 0.01
    assert scores["dummy"] <= scores["dictionary"] + 0.01


def test_equal_seeds_give_equal_bytes(make: Make) -> None:
    made = make("rewrite")
    assert hash_tree(made.generate("again")) == hash_tree(made.root / "draw")


def test_lines_begin_with_a_desk_and_the_brief_names_both_columns(make: Make) -> None:
    made = make("rewrite")
    content = Blueprint.of(made.plan).content
    train = made.table("train.csv")
    assert train[content["source"]].str.match(rf"[{''.join(content['desks'])}]\d ").all()
    blueprint = Blueprint.of(made.plan)
    brief = get_kind("rewrite").brief(blueprint)
    assert {column.name for column in brief.columns} == {content["source"]}
    assert not any(choice.usual in " ".join(brief.paragraphs) for choice in blueprint.rule.terms())
