from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandmle.agents.procedural.rules import Formula, HiddenRule, Signal, WeightedTerm
from sandmle.agents.procedural.schema import (
    CategoricalColumn,
    DateColumn,
    NumericColumn,
    OrdinalColumn,
    TableSchema,
)

TABLE = TableSchema(
    id_column="id",
    id_prefix="T",
    columns=(
        NumericColumn(name="age", unit="", description="", low=0, high=12, shape="normal", decimals=1),
        NumericColumn(name="size", unit="", description="", low=1, high=100, shape="lognormal", decimals=1),
        CategoricalColumn(name="site", description="", levels=("north", "south"), weights=(0.5, 0.5)),
        OrdinalColumn(name="grade", description="", levels=("low", "mid", "high")),
        DateColumn(name="day", description="", start="2021-01-01", end="2021-12-31"),
    ),
)
ROWS = pd.DataFrame(
    {
        "age": [6.0, 8.0, 2.0],
        "size": [10.0, 1.0, 100.0],
        "site": ["north", "south", "north"],
        "grade": ["low", "mid", "high"],
        "day": ["2021-03-01", "2021-11-30", "2021-07-04"],
    }
)


def compute(formula: str) -> np.ndarray:
    source = Formula.over(TABLE, formula).source()
    return np.broadcast_to(np.asarray(eval(source, {"np": np, "pd": pd, "df": ROWS}), dtype=float), 3)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("z(age)", [0, 1, -2]),
        ("z(size)", [0, -3, 3]),
        ("rank(grade)", [-1, 0, 1]),
        ("is_in(site, 'north')", [1, 0, 1]),
        ("is_in(grade, 'low', 'high') * 2", [2, 0, 2]),
        ("month(day) + weekday(day) / 10", [3.0, 11.1, 7.6]),
        ("abs(z(age)) ** 2 - 1", [-1, 0, 3]),
        ("where(z(age) >= 1, z(size), -z(size))", [0, -3, -3]),
        ("maximum(z(age), 0) + minimum(sign(z(age) + 3), 0) + tanh(0 * z(age))", [0, 1, 0]),
    ],
)
def test_a_formula_is_what_it_says(formula: str, expected: list[float]) -> None:
    np.testing.assert_allclose(compute(formula), expected, atol=1e-4)


@pytest.mark.parametrize(
    ("formula", "problem"),
    [
        ("age", "read the column 'age' with one of z"),
        ("1 + 2", "reads no column"),
        ("z(nothing)", "there is no column 'nothing'"),
        ("z(site)", "z can't read 'site', which is categorical"),
        ("rank(age)", "rank can't read 'age'"),
        ("is_in(site)", "levels in quotes"),
        ("is_in(site, 'west')", "has no level 'west'"),
        ("z(age, 3)", "levels in quotes"),
        ("z('age')", "the first argument of z is the name of a column"),
        ("median(z(age))", "unknown function 'median'"),
        ("where(z(age), 1)", "where takes 3 arguments, not 2"),
        ("z(age) if 1 else 2", "not allowed"),
        ("z(age).real", "not allowed"),
        ("lambda: z(age)", "not allowed"),
        ("[z(age)]", "not allowed"),
        ("z(age) * True", "write 1 and 0"),
        ("__import__('os').system('x')", "not allowed"),
        ("open('x')", "unknown function 'open'"),
        ("z(age)) + (1", "no formula"),
        ("z(age) + " * 60 + "1", "at most 300 characters"),
        ("z(age=age)", "not allowed"),
    ],
)
def test_nothing_else_is_a_formula(formula: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        Formula.over(TABLE, formula)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="z(age)rank+-*/ ,.'_[]{}:0123456789\n\\x00", max_size=40))
def test_any_text_is_a_formula_or_a_value_error(text: str) -> None:
    try:
        source = Formula.over(TABLE, text).source()
    except ValueError:
        return
    assert "__" not in source


def test_a_rule_of_formulas_survives_json() -> None:
    term = WeightedTerm(term=Formula.over(TABLE, "z(age) * z(size)"), weight=0.5)
    rule = HiddenRule(link="gaussian", signals=(Signal(easy=(term,), hidden=(term,), easy_share=0.4),), noise=0.3)
    read = HiddenRule.model_validate(json.loads(rule.model_dump_json()))
    assert read == rule
    assert rule.primitives() == ("formula",)
    assert rule.structure() == ("gaussian", "formula age size")
