"""Labels that follow a rule pass, and labels that follow another do not, whatever the law."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from sandmle.agents.procedural.problems import Link
from sandmle.agents.procedural.rules import Formula, HiddenRule, Signal, WeightedTerm
from sandmle.agents.procedural.schema import NumericColumn, TableSchema
from sandmle.graphs.synthesis.relabel import expected_labels, judge_labels

NAMES = ("a", "b", "c", "d")
TABLE = TableSchema(
    id_column="id",
    id_prefix="T",
    columns=tuple(
        NumericColumn(name=name, unit="", description="", low=-3, high=3, shape="normal", decimals=3) for name in NAMES
    ),
)
FORMULAS = ("z(a)", "z(b)", "z(c) * z(d)", "abs(z(a) - 0.5)")
LINKS: dict[Link, tuple[float, tuple[float, ...]]] = {
    "binary": (0.2, (0.35,)),
    "multiclass": (0.2, ()),
    "multilabel": (0.2, (0.3, 0.5, 0.4)),
    "ordinal": (0.35, (0.5, 0.3, 0.2)),
    "relevance": (0.35, (0.5, 0.25, 0.15, 0.1)),
    "gaussian": (0.4, ()),
    "lognormal": (0.4, ()),
}


def rule(link: Link, weights: tuple[float, ...] = (0.9, -0.7, 1.0, 0.8)) -> HiddenRule:
    def signal(turn: int) -> Signal:
        order = [(k + turn) % 2 for k in range(2)] + [2, 3]
        terms = [WeightedTerm(term=Formula.over(TABLE, FORMULAS[k]), weight=weights[k]) for k in order]
        return Signal(easy=tuple(terms[:2]), hidden=tuple(terms[2:]), easy_share=0.4 + 0.05 * turn)

    noise, shares = LINKS[link]
    count = {"multiclass": 2, "multilabel": 3}.get(link, 1)
    numbers = {"center": 50.0, "spread": 7.0} if link == "gaussian" else {"center": 50.0, "spread": 0.3}
    return HiddenRule(link=link, signals=tuple(map(signal, range(count))), noise=noise, shares=shares, **numbers)


def terms_of(found: HiddenRule, df: pd.DataFrame) -> np.ndarray:
    return np.column_stack([eval(term.source(), {"np": np, "df": df}) for term in found.terms()])


def drawn(link: Link, seed: int, n: int = 1500) -> tuple[HiddenRule, np.ndarray, np.ndarray]:
    """A rule, its terms on n rows, and labels that are drawn here, by the formulas of the rules' own page."""
    found, rng = rule(link), np.random.default_rng(seed)
    terms = terms_of(found, pd.DataFrame(rng.standard_normal((n, 4)), columns=list(NAMES)))
    return found, terms, draw_labels(found, signals_of(found, terms), rng)


def signals_of(found: HiddenRule, terms: np.ndarray) -> np.ndarray:
    def unit(values):
        return (values - values.mean(axis=0)) / values.std(axis=0)

    place = [term.source() for term in found.terms()]
    columns = []
    for signal in found.signals:
        parts = []
        for part in (signal.easy, signal.hidden):
            chosen = unit(terms[:, [place.index(each.term.source()) for each in part]])
            parts.append(unit(chosen @ np.array([each.weight for each in part])))
        share = signal.easy_share
        columns.append(unit(np.sqrt(share) * parts[0] + np.sqrt(1 - share) * parts[1]))
    return np.column_stack(columns)


def draw_labels(found: HiddenRule, signals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    n = len(signals)
    match found.link:
        case "binary":
            c = np.linspace(-20, 20, 4001)
            means = expit(signals / found.noise + c).mean(axis=0)
            p = expit(signals[:, 0] / found.noise + c[np.argmin(abs(means - found.shares[0]))])
            y = rng.random(n) < p
            return np.column_stack([~y, y]).astype(float)
        case "multilabel":
            c = np.linspace(-20, 20, 4001)
            columns = []
            for signal, share in zip(signals.T, found.shares, strict=True):
                means = expit(signal[:, None] / found.noise + c).mean(axis=0)
                columns.append(rng.random(n) < expit(signal / found.noise + c[np.argmin(abs(means - share))]))
            return np.column_stack(columns).astype(float)
        case "multiclass":
            angle = 2 * np.pi * np.arange(4) / 4
            utility = (signals[:, :1] * np.cos(angle) + signals[:, 1:] * np.sin(angle)) / found.noise
            return np.eye(4)[np.argmax(utility + rng.gumbel(size=utility.shape), axis=1)]
        case "ordinal" | "relevance":
            latent = signals[:, 0] + found.noise * rng.standard_normal(n)
            cuts = np.quantile(latent, np.cumsum(found.shares)[:-1])
            return np.eye(len(found.shares))[(latent[:, None] > cuts).sum(axis=1)]
        case "gaussian":
            return found.center + found.spread * (signals + found.noise * rng.standard_normal((n, 1)))
        case _:
            return found.center * np.exp(found.spread * (signals + found.noise * rng.standard_normal((n, 1))))


NOTHING = pd.DataFrame()


@pytest.mark.parametrize("link", LINKS)
def test_labels_that_follow_the_rule_pass(link: Link) -> None:
    for seed in range(8):
        found, terms, labels = drawn(link, seed)
        verdict = judge_labels(found, labels, terms, NOTHING)
        assert verdict.passed, (seed, verdict)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(
    "weights", [(0.9, -0.7, 1.0, 0.0), (0.9, -0.7, 0.0, 0.8), (0.9, 0.0, 1.0, 0.8), (0.9, -0.7, -1.0, 0.8)]
)
def test_labels_of_another_rule_do_not(link: Link, weights: tuple[float, ...]) -> None:
    _, terms, labels = drawn(link, 3)
    other = rule(link, weights)
    assert not judge_labels(other, labels, terms, NOTHING).passed


@pytest.mark.parametrize("link", LINKS)
def test_labels_that_follow_nothing_do_not(link: Link) -> None:
    found, terms, labels = drawn(link, 4)
    shuffled = labels[np.random.default_rng(0).permutation(len(labels))]
    verdict = judge_labels(found, shuffled, terms, NOTHING)
    assert "labels do not follow the rule" in verdict.reason


@pytest.mark.parametrize("noise", [0.4, 2.5])
def test_labels_with_other_noise_do_not(noise: float) -> None:
    found, terms, _ = drawn("gaussian", 5)
    loud = found.louder(noise)
    labels = draw_labels(loud, signals_of(found, terms), np.random.default_rng(1))
    assert "scatter" in judge_labels(found, labels, terms, NOTHING).reason


def test_labels_that_were_replaced_at_random_are_allowed_where_they_are_declared() -> None:
    found, terms, labels = drawn("binary", 6)
    rng = np.random.default_rng(2)
    replaced = rng.random(len(labels)) < 0.15
    labels[replaced] = np.eye(2)[rng.integers(2, size=replaced.sum())]
    assert not judge_labels(found, labels, terms, NOTHING).passed
    assert judge_labels(found, labels, terms, NOTHING, label_noise=0.15).passed


@pytest.mark.parametrize("link", [link for link in LINKS if link != "relevance"])
def test_the_generators_own_expectation_must_be_the_rules(link: Link) -> None:
    found, terms, labels = drawn(link, 7)
    expected, _, _ = expected_labels(found, terms, labels.shape[1])
    told = np.exp(expected) if link == "lognormal" else expected
    assert judge_labels(found, labels, terms, pd.DataFrame(told)).passed
    wrong = told[np.random.default_rng(3).permutation(len(told))]
    assert "is not what the rule expects" in judge_labels(found, labels, terms, pd.DataFrame(wrong)).reason
