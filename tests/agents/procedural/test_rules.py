from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.rules import HiddenRule, Term, draw_signal, term_kinds
from sandmle.agents.procedural.schema import (
    CategoricalColumn,
    DateColumn,
    NumericColumn,
    OrdinalColumn,
    Scaled,
    TableSchema,
)
from sandmle.agents.roles import TaskPlan

ALL_KINDS = (*term_kinds("easy"), *term_kinds("hidden"))


def table() -> TableSchema:
    numbers = [
        NumericColumn(
            name=f"x{k}", unit="", description="d", low=1.0, high=9.0, shape="uniform", decimals=2, group=group
        )
        for k, group in enumerate((0, 0, None, None, None))
    ]
    few = CategoricalColumn(name="few", description="d", levels=("a", "b", "c", "d"), weights=(0.25,) * 4)
    many = CategoricalColumn(name="many", description="d", levels=tuple("abcdefghij"), weights=(0.1,) * 10)
    ordinal = OrdinalColumn(name="size", description="d", levels=("small", "medium", "large"))
    day = DateColumn(name="day", description="d", start="2021-01-01", end="2022-12-31")
    return TableSchema(id_column="id", id_prefix="T", columns=(*numbers, few, many, ordinal, day))


def frame(n: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    df = pd.DataFrame({f"x{k}": rng.uniform(1, 9, n) for k in range(5)})
    df["few"], df["many"] = rng.choice(list("abcd"), n), rng.choice(list("abcdefghij"), n)
    df["size"] = rng.choice(["small", "medium", "large"], n)
    df["day"] = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D")
    return df.assign(day=df["day"].dt.strftime("%Y-%m-%d"))


def compute(term: Term, df: pd.DataFrame) -> np.ndarray:
    return eval(term.source(), {"np": np, "pd": pd, "df": df})


@pytest.mark.parametrize("kind", ALL_KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_computes_finite_varying_values_from_the_columns_it_names(kind: type[Term]) -> None:
    df = frame()
    for seed in range(10):
        term = kind.draw(np.random.default_rng(seed), table())
        assert term is not None
        values = compute(term, df)
        assert values.shape == (len(df),)
        assert np.isfinite(values).all()
        assert values.std() > 0
        untouched = [name for name in df if name not in term.columns()]
        shuffled = df.assign(**{name: df[name].sample(frac=1, random_state=1).to_numpy() for name in untouched})
        np.testing.assert_array_equal(compute(term, shuffled), values)
        assert all(name in term.readable() for name in term.columns())


@pytest.mark.parametrize("kind", ALL_KINDS, ids=lambda kind: kind.__name__)
def test_a_kind_that_lacks_its_columns_draws_nothing(kind: type[Term]) -> None:
    empty = TableSchema(id_column="id", id_prefix="T", columns=())
    assert kind.draw(np.random.default_rng(0), empty) is None


def test_a_rule_survives_json() -> None:
    signal = draw_signal(np.random.default_rng(3), table(), easy=3, hidden=3, easy_share=0.5)
    rule = HiddenRule(link="binary", signals=(signal,), noise=0.2)
    assert HiddenRule.model_validate(json.loads(rule.model_dump_json())) == rule


def test_no_part_of_a_signal_has_a_term_twice(plans: list[TaskPlan]) -> None:
    for plan in plans:
        for signal in Blueprint.of(plan).rule.signals:
            for part in (signal.easy, signal.hidden):
                sources = [weighted.term.source() for weighted in part]
                assert len(set(sources)) == len(sources)


def test_most_kinds_occur_among_thirty_candidates(plans: list[TaskPlan]) -> None:
    seen = {type(term) for plan in plans for term in Blueprint.of(plan).rule.terms()}
    assert len(seen) >= len(ALL_KINDS) - 3


def test_scaled_reads_as_a_formula() -> None:
    scaled = Scaled(column="mass", center=3.0, scale=2.0, log=True)
    values = eval(scaled.source(), {"np": np, "df": pd.DataFrame({"mass": [np.exp(5.0)]})})
    assert values[0] == pytest.approx(1.0)
    assert scaled.readable() == "z(log mass)"
