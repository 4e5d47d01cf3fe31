"""Drawing a whole rule for a problem."""

from __future__ import annotations

import numpy as np

from sandmle.agents.procedural.problems import Link, Problem
from sandmle.agents.procedural.rules._rule import HiddenRule, RuleGrammar, draw_signal
from sandmle.agents.procedural.rules._term import Generator
from sandmle.agents.procedural.schema import TableSchema
from sandmle.task import StructuralDNA

__all__ = ["NOISE", "draw_rule"]

NOISE: dict[Link, tuple[float, float, float]] = {
    "binary": (0.16, 0.22, 0.3),
    "multiclass": (0.14, 0.18, 0.24),
    "multilabel": (0.14, 0.2, 0.26),
    "mask": (0.16, 0.22, 0.3),
    "ordinal": (0.2, 0.35, 0.5),
    "relevance": (0.2, 0.35, 0.5),
    "gaussian": (0.25, 0.4, 0.55),
    "lognormal": (0.25, 0.4, 0.55),
    "rewrite": (0.03, 0.06, 0.1),
}
"""Low, medium and high noise of each link; for classes the strength of the signal is 1 / noise."""
RELEVANCE_SHARES = (0.5, 0.25, 0.15, 0.1)


def draw_rule(
    rng: Generator, schema: TableSchema, grammar: RuleGrammar, problem: Problem, dna: StructuralDNA
) -> HiddenRule:
    """Draw the signals, the noise and the shares of a problem's labels; the seed's DNA leans the easy share."""
    low, high = grammar.easy_share
    base = (low + high) / 2 + 0.2 * (dna.linear_share - 0.5)

    def share() -> float:
        return round(float(np.clip(base + rng.uniform(-0.15, 0.1), low, high)), 2)

    count = {"multiclass": 2, "multilabel": len(problem.labels)}.get(problem.link, 1)
    signals = tuple(draw_signal(rng, schema, grammar, share()) for _ in range(count))
    noise = NOISE[problem.link][int(rng.integers(3))]
    spread = problem.spread if problem.link != "lognormal" else round(problem.spread / problem.center, 2)
    return HiddenRule(
        link=problem.link,
        signals=signals,
        noise=noise,
        shares=_shares(rng, problem, dna),
        center=problem.center,
        spread=spread,
    )


def _shares(rng: Generator, problem: Problem, dna: StructuralDNA) -> tuple[float, ...]:
    match problem.link:
        case "binary":
            largest = dna.class_shares[0] if dna.class_shares else rng.uniform(0.5, 0.75)
            return (round(float(np.clip(1.0 - largest + rng.uniform(-0.05, 0.05), 0.25, 0.5)), 2),)
        case "mask":
            return (round(float(rng.uniform(0.2, 0.4)), 2),)
        case "multilabel":
            return tuple(round(float(rng.uniform(0.2, 0.5)), 2) for _ in problem.labels)
        case "ordinal":
            drawn = rng.dirichlet(np.full(len(problem.labels), 8.0))
            kept = [round(float(value), 3) for value in drawn[:-1]]
            return (*kept, round(1.0 - sum(kept), 3))
        case "relevance":
            return RELEVANCE_SHARES
        case _:
            return ()
