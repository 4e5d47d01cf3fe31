"""The procedural Data Strategist: from a seed's DNA to a new domain, a table, a hidden rule and its noise.

Candidate ``i`` of a batch draws from ``SeedSequence([batch_seed, i])`` alone, so it is the same whatever else runs.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.dna import extract_dna
from sandmle.agents.procedural.lexicon import BinaryTarget, Domain, MulticlassTarget, RegressionTarget, load_domains
from sandmle.agents.procedural.rules import HiddenRule, Link, Signal, draw_signal
from sandmle.agents.procedural.schema import (
    CategoricalColumn,
    Column,
    DateColumn,
    NumericColumn,
    OrdinalColumn,
    TableSchema,
)
from sandmle.agents.roles import TaskPlan
from sandmle.eval.metrics import get_metric
from sandmle.record import sha256_json
from sandmle.seeds import Seed
from sandmle.task import StructuralDNA, SubmissionFormat

__all__ = ["METRICS", "ProceduralStrategist"]

METRICS = {
    "binary": ("roc_auc", "log_loss", "accuracy", "macro_f1", "mcc"),
    "multiclass": ("multiclass_log_loss", "accuracy", "macro_f1"),
    "gaussian": ("rmse", "mae", "r2"),
    "lognormal": ("rmsle", "mae", "mape"),
}
NOISE = {
    "binary": (0.16, 0.22, 0.3),
    "multiclass": (0.14, 0.18, 0.24),
    "gaussian": (0.25, 0.4, 0.55),
    "lognormal": (0.25, 0.4, 0.55),
}
"""Low, medium and high noise of each link; for classes the strength of the signal is 1 / noise."""
REDRAWS = 3
WIDE_SPREAD = 0.25
"""Spread over center from which a normal law would give negative values."""
_measured_dna = lru_cache(maxsize=256)(extract_dna)
Target = BinaryTarget | MulticlassTarget | RegressionTarget


class ProceduralStrategist:
    """Draws candidates of one batch.

    Args:
        batch_seed: the batch's ``--seed``.
        settings_hash: hash of the settings that shape the batch; part of every task id.
        n_train: training rows; ``n_test`` hidden test rows.
    """

    def __init__(self, batch_seed: int, settings_hash: str, n_train: int, n_test: int) -> None:
        self._batch_seed = batch_seed
        self._settings_hash = settings_hash
        self._n_train = n_train
        self._n_test = n_test

    async def plan(self, seed: Seed, candidate: int) -> TaskPlan:
        """Draw candidate ``candidate`` from ``seed``."""
        dna = await asyncio.to_thread(_measured_dna, seed)
        rng = np.random.default_rng(np.random.SeedSequence([self._batch_seed, candidate]))
        domain = _draw_domain(rng, seed)
        target = _target_of(domain, dna)
        table = _draw_table(rng, domain, dna)
        rule = _draw_rule(rng, table, target, dna)
        metric = _draw_metric(rng, rule, seed)
        classes = () if isinstance(target, RegressionTarget) else target.labels
        digest = sha256_json([self._batch_seed, self._settings_hash, seed.id, candidate])
        return TaskPlan(
            task_id=f"{domain.slug}-{digest[:8]}",
            candidate=candidate,
            title=target.title,
            modality="tabular",
            problem_type=dna.problem_type,
            metric=metric,
            target=target.column,
            submission=_submission(domain.id.column, target, classes, metric),
            dna=dna,
            train_seeds=tuple(int(value) for value in rng.integers(2**31, size=REDRAWS)),
            test_seed=int(rng.integers(2**31)),
            n_train=self._n_train,
            n_test=self._n_test,
            rule_terms=tuple(term.readable() for term in rule.terms()),
            details=Blueprint(domain=domain.slug, table=table, rule=rule, classes=classes).model_dump(mode="json"),
        )


def _draw_domain(rng: np.random.Generator, seed: Seed) -> Domain:
    """Any domain but those that resemble the seed's own."""
    own = {seed.id, seed.family, *seed.id.lower().split("-")}
    domains = [domain for domain in load_domains() if not own & set(domain.related)]
    return domains[int(rng.integers(len(domains)))]


def _target_of(domain: Domain, dna: StructuralDNA) -> Target:
    if dna.problem_type == "binary":
        return domain.targets.binary
    if dna.problem_type == "multiclass":
        return domain.targets.multiclass
    return domain.targets.regression


def _draw_table(rng: np.random.Generator, domain: Domain, dna: StructuralDNA) -> TableSchema:
    """Columns in the seed's proportions, mutated by a little, so that no two tasks of a seed look alike."""
    n_numeric = int(np.clip(dna.n_numeric + rng.integers(-1, 3), 5, 11))
    n_categorical = int(np.clip(dna.n_categorical + rng.integers(0, 3), 1, 4))
    n_ordinal = int(rng.integers(0, 3))
    missing = dna.missing_share or (0.0, 0.0, 0.03, 0.06)[int(rng.integers(4))]
    group = domain.groups[int(rng.integers(len(domain.groups)))] if rng.random() < 0.6 else ()
    members = [column for column in domain.numeric if column.name in group]
    others = [column for column in domain.numeric if column.name not in group]
    order = rng.permutation(len(others))[: max(n_numeric - len(members), 2)]
    chosen = [*members, *(others[int(index)] for index in order)]
    loading = round(float(rng.uniform(0.6, 0.8)), 2)
    columns: list[Column] = [
        NumericColumn(
            **{key: getattr(column, key) for key in ("name", "unit", "description", "low", "high", "shape")},
            decimals=_decimals(column.high, column.decimals),
            group=0 if column.name in group else None,
            loading=loading if column.name in group else 0.0,
            missing=_missing(rng, missing),
        )
        for column in chosen
    ]
    for index in rng.permutation(len(domain.categorical))[:n_categorical]:
        entry = domain.categorical[int(index)]
        weights = rng.dirichlet(np.full(len(entry.levels), 12.0))
        shares = [round(float(weight), 3) for weight in weights[:-1]]
        columns.append(
            CategoricalColumn(
                name=entry.name,
                description=entry.description,
                levels=entry.levels,
                weights=(*shares, round(1.0 - sum(shares), 3)),
                missing=_missing(rng, missing),
            )
        )
    for index in rng.permutation(len(domain.ordinal))[:n_ordinal]:
        ordinal = domain.ordinal[int(index)]
        columns.append(OrdinalColumn(name=ordinal.name, description=ordinal.description, levels=ordinal.levels))
    if dna.n_dates or rng.random() < 0.5:
        day = domain.dates[0]
        start, end = day.start.isoformat(), day.end.isoformat()
        columns.append(DateColumn(name=day.name, description=day.description, start=start, end=end))
    shuffled = tuple(columns[int(index)] for index in rng.permutation(len(columns)))
    return TableSchema(id_column=domain.id.column, id_prefix=domain.id.prefix, columns=shuffled)


def _missing(rng: np.random.Generator, share: float) -> float:
    """About every third column has empty cells, up to three times ``share`` of them."""
    return round(float(min(share * rng.uniform(1.0, 3.0), 0.2)), 3) if share and rng.random() < 0.35 else 0.0


def _decimals(high: float, decimals: int) -> int:
    """At most six significant digits, so that ``%.6g`` writes a value whole."""
    return max(min(decimals, 6 - len(str(int(abs(high))))), 0)


def _draw_rule(rng: np.random.Generator, table: TableSchema, target: Target, dna: StructuralDNA) -> HiddenRule:
    link = _link(target)
    base = 0.5 + 0.2 * (dna.linear_share - 0.5)
    signals: tuple[Signal, ...] = tuple(
        draw_signal(
            rng,
            table,
            easy=int(rng.integers(2, 4)),
            hidden=int(rng.integers(1, 4)) if link != "multiclass" else int(rng.integers(1, 3)),
            easy_share=round(float(np.clip(base + rng.uniform(-0.15, 0.1), 0.3, 0.7)), 2),
        )
        for _ in range(2 if link == "multiclass" else 1)
    )
    noise = NOISE[link][int(rng.integers(3))]
    if isinstance(target, RegressionTarget):
        spread = target.spread if link == "gaussian" else round(target.spread / target.center, 2)
        return HiddenRule(link=link, signals=signals, noise=noise, center=target.center, spread=spread)
    largest = dna.class_shares[0] if link == "binary" else 0.5
    share = round(float(np.clip(1.0 - largest + rng.uniform(-0.05, 0.05), 0.25, 0.5)), 2)
    return HiddenRule(link=link, signals=signals, noise=noise, positive_share=share)


def _link(target: Target) -> Link:
    """Numbers that can't be negative but spread widely follow a lognormal law, others a normal one."""
    if not isinstance(target, RegressionTarget):
        return "binary" if isinstance(target, BinaryTarget) else "multiclass"
    return "lognormal" if target.positive and target.spread / target.center >= WIDE_SPREAD else "gaussian"


def _draw_metric(rng: np.random.Generator, rule: HiddenRule, seed: Seed) -> str:
    """The seed's own metric half of the time, where it suits the new target."""
    choices = METRICS[rule.link]
    drawn = choices[int(rng.integers(len(choices)))]
    return seed.metric if seed.metric in choices and rng.random() < 0.5 else drawn


def _submission(id_column: str, target: Target, classes: tuple[str, ...], metric: str) -> SubmissionFormat:
    kind = get_metric(metric).prediction
    columns = classes if kind == "class_probabilities" else (target.column,)
    return SubmissionFormat(id_column=id_column, prediction_columns=columns, kind=kind, classes=classes)
