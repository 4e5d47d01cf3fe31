from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.rules import HiddenRule, Part, RuleGrammar, Term, draw_signal, term_kinds
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
    few, other = (
        CategoricalColumn(name=name, description="d", levels=("a", "b", "c", "d"), weights=(0.25,) * 4)
        for name in ("few", "other")
    )
    many = CategoricalColumn(name="many", description="d", levels=tuple("abcdefghij"), weights=(0.1,) * 10)
    ordinal = OrdinalColumn(name="size", description="d", levels=("small", "medium", "large"))
    day = DateColumn(name="day", description="d", start="2021-01-01", end="2022-12-31")
    return TableSchema(id_column="id", id_prefix="T", columns=(*numbers, few, other, many, ordinal, day))


def frame(n: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    df = pd.DataFrame({f"x{k}": rng.uniform(1, 9, n) for k in range(5)})
    df["few"], df["other"] = rng.choice(list("abcd"), n), rng.choice(list("abcd"), n)
    df["many"] = rng.choice(list("abcdefghij"), n)
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
    signal = draw_signal(np.random.default_rng(3), table(), RuleGrammar(), easy_share=0.5)
    rule = HiddenRule(link="binary", signals=(signal,), noise=0.2)
    assert HiddenRule.model_validate(json.loads(rule.model_dump_json())) == rule


def test_no_part_of_a_signal_has_a_term_twice(plans: list[TaskPlan]) -> None:
    for plan in plans:
        for signal in Blueprint.of(plan).rule.signals:
            for part in (signal.easy, signal.hidden):
                sources = [weighted.term.source() for weighted in part]
                assert len(set(sources)) == len(sources)


def test_every_kind_occurs_in_a_few_hundred_signals() -> None:
    rng = np.random.default_rng(0)
    seen = {type(term) for _ in range(250) for term in draw_signal(rng, table(), RuleGrammar(), 0.5).terms()}
    assert seen == set(ALL_KINDS)


def test_there_are_enough_kinds_and_most_are_hidden() -> None:
    assert len(term_kinds("hidden")) >= 25
    assert len(ALL_KINDS) >= 30


def test_a_joint_part_always_has_a_term_of_several_columns() -> None:
    grammar = RuleGrammar(hidden=Part(share="hidden", count=(1, 2), joint=1))
    for seed in range(200):
        signal = draw_signal(np.random.default_rng(seed), table(), grammar, 0.5)
        assert any(len(weighted.term.columns()) > 1 for weighted in signal.hidden)


@pytest.mark.parametrize("kind", term_kinds("hidden"), ids=lambda kind: kind.__name__)
def test_a_linear_model_does_not_find_hidden_terms(kind: type[Term]) -> None:
    """R2 of straight lines in all numbers and effects of all levels; a gate is half a line on either side."""
    df = frame(600)
    x = pd.get_dummies(df.drop(columns="day"), dtype=float).to_numpy(float)
    basis = np.linalg.qr(np.column_stack([np.ones(len(x)), x]))[0]
    terms = [kind.draw(np.random.default_rng(seed), table()) for seed in range(6)]
    shares = []
    for values in (compute(term, df) for term in terms if term is not None and term.columns() != ("many",)):
        values = values - values.mean()
        shares.append(float(((basis.T @ values) ** 2).sum() / (values @ values)))
    assert not shares or np.median(shares) < (0.7 if "gate" in kind.__name__.lower() else 0.4)


def test_retuned_rules_keep_their_terms() -> None:
    signal = draw_signal(np.random.default_rng(3), table(), RuleGrammar(), easy_share=0.5)
    rule = HiddenRule(link="binary", signals=(signal,), noise=0.2, shares=(0.4,))
    assert rule.louder(0.5).noise == pytest.approx(0.1)
    assert rule.easier(0.2).signals[0].easy_share == pytest.approx(0.7)
    assert rule.easier(-0.9).signals[0].easy_share > 0
    assert rule.easier(0.2).louder(0.5).structure() == rule.structure()
    assert rule.easier(0.2).difficulty() < rule.difficulty() < rule.louder(2.0).difficulty()


def test_scaled_reads_as_a_formula() -> None:
    scaled = Scaled(column="mass", center=3.0, scale=2.0, log=True)
    values = eval(scaled.source(), {"np": np, "df": pd.DataFrame({"mass": [np.exp(5.0)]})})
    assert values[0] == pytest.approx(1.0)
    assert scaled.readable() == "z(log mass)"
