"""The procedural Data Strategist: reads a seed's structure and draws a new task from it.

Everything random comes from ``SeedSequence([batch seed, candidate])``, so a candidate is the same whoever draws it. The
seed says kind, problem and metric where the new domain can pose them; what it leaves open is drawn.
"""

from __future__ import annotations

import asyncio
from functools import lru_cache

import numpy as np

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.dna import read_dna
from sandmle.agents.procedural.kinds import TaskKind, task_kinds
from sandmle.agents.procedural.lexicon import Domain, RankingTarget, Target, load_domains
from sandmle.agents.procedural.problems import Link, Problem, link_of, metrics_for
from sandmle.agents.roles import TaskPlan
from sandmle.errors import BadInput
from sandmle.eval.metrics import get_metric
from sandmle.record import sha256_json
from sandmle.seeds import Seed
from sandmle.submission import SPACE_SEPARATED
from sandmle.task import Modality, ProblemType, StructuralDNA

__all__ = ["ProceduralStrategist"]

REDRAWS = 3
KEEP_PROBLEM = 0.7
"""How often a task asks for the same type of problem as its seed, where its kind can."""
KEEP_METRIC = 0.5
_dna = lru_cache(maxsize=256)(read_dna)


class ProceduralStrategist:
    """Draws candidates of one batch.

    Args:
        batch_seed: the batch's ``--seed``.
        settings_hash: hash of the settings that shape the batch; part of every task id.
        n_train: training rows.
        n_test: hidden test rows; None for what suits the kind of task.
    """

    def __init__(self, batch_seed: int, settings_hash: str, n_train: int, n_test: int | None) -> None:
        self._batch_seed = batch_seed
        self._settings_hash = settings_hash
        self._n_train = n_train
        self._n_test = n_test

    async def try_seed(self, seed: Seed, modality: Modality | None = None) -> None:
        """Draw a plan and forget it: one that can't be drawn says why."""
        await self.plan(seed, 0, modality)

    async def plan(self, seed: Seed, candidate: int, modality: Modality | None = None) -> TaskPlan:
        """Draw candidate ``candidate`` from ``seed``, in the seed's own modality unless another is asked for."""
        dna = await asyncio.to_thread(_dna, seed)
        return await asyncio.to_thread(self._draw, seed, dna, candidate, modality or dna.modality)

    def _draw(self, seed: Seed, dna: StructuralDNA, candidate: int, modality: Modality) -> TaskPlan:
        rng = np.random.default_rng(np.random.SeedSequence([self._batch_seed, candidate]))
        kind, problem_type = _draw_kind(rng, modality, dna)
        domain, target = _draw_domain(rng, seed, kind, problem_type)
        problem = _draw_problem(rng, seed, kind, problem_type, domain, target)
        factors = kind.draw_factors(rng, domain, problem, dna)
        rule = kind.draw_rule(rng, factors, problem, dna)
        mutations = kind.draw_mutations(rng, factors, problem)
        for mutation in mutations:
            rule = mutation.changed(rule)
        blueprint = Blueprint(
            domain=domain.slug,
            kind=kind.name,
            problem=problem,
            table=factors.table,
            rule=rule,
            content=factors.content.model_dump(mode="json") if factors.content else {},
            mutations=mutations,
        )
        digest = sha256_json([self._batch_seed, self._settings_hash, seed.id, candidate])
        return TaskPlan(
            task_id=f"{domain.slug}-{digest[:8]}",
            candidate=candidate,
            title=problem.title,
            modality=kind.modality,
            problem_type=problem_type,
            metric=problem.metric,
            target=problem.target,
            submission=problem.submission(factors.table.id_column),
            dna=dna,
            rungs=kind.rungs,
            rows_apart=kind.rows_apart,
            preload=kind.preload,
            train_seeds=tuple(int(value) for value in rng.integers(2**31, size=REDRAWS)),
            test_seed=int(rng.integers(2**31)),
            n_train=self._n_train,
            n_test=self._n_test or kind.n_test,
            declared_shift=tuple(name for mutation in mutations for name in mutation.shifted()),
            rule_terms=tuple(term.readable() for term in rule.terms()),
            details=blueprint.model_dump(mode="json"),
        )


def _draw_kind(rng: np.random.Generator, modality: Modality, dna: StructuralDNA) -> tuple[TaskKind, ProblemType]:
    """A kind of the modality and a problem that it can pose, the seed's own where it can, most of the time."""
    choices = [(kind, problem, weight) for kind in task_kinds(modality) for problem, weight in kind.problems.items()]
    if not choices:
        raise BadInput(f"the procedural team makes no tasks of modality {modality!r}")
    own = [choice for choice in choices if choice[1] == dna.problem_type]
    pool = own if own and rng.random() < KEEP_PROBLEM else choices
    weights = np.array([weight for _, _, weight in pool], dtype=float)
    kind, problem, _ = pool[int(rng.choice(len(pool), p=weights / weights.sum()))]
    return kind, problem


def _draw_domain(rng: np.random.Generator, seed: Seed, kind: TaskKind, problem: ProblemType) -> tuple[Domain, Target]:
    """Any domain that has words for the task, but those that resemble the seed's own."""
    own = {seed.id, seed.family, *seed.id.lower().split("-")}
    found = [
        (domain, target)
        for domain in load_domains()
        if not own & set(domain.related) and (target := kind.target(domain, problem)) is not None
    ]
    return found[int(rng.integers(len(found)))]


def _draw_problem(
    rng: np.random.Generator, seed: Seed, kind: TaskKind, problem: ProblemType, domain: Domain, target: Target
) -> Problem:
    center, spread, positive = kind.scale(domain, target)
    link = link_of(problem, positive=positive, center=center, spread=spread)
    labels: tuple[str, ...] = getattr(target, "labels", ())
    metric = _draw_metric(rng, kind, seed, link, len(labels))
    if get_metric(metric).prediction in SPACE_SEPARATED:
        labels = tuple(label.replace(" ", "_") for label in labels)
    return Problem(
        type=problem,
        link=link,
        metric=metric,
        target=target.column,
        title=target.title,
        question=target.question,
        description=target.description,
        labels=labels,
        unit=getattr(target, "unit", ""),
        center=center,
        spread=spread,
        group=(target.group.column, target.group.prefix) if isinstance(target, RankingTarget) else None,
        mask_shape=kind.mask_shape(rng),
    )


def _draw_metric(rng: np.random.Generator, kind: TaskKind, seed: Seed, link: Link, n_labels: int) -> str:
    """The seed's own metric half of the time, where it suits the new target."""
    choices = [name for name in metrics_for(link, n_labels) if name not in kind.unsuited_metrics]
    drawn = choices[int(rng.integers(len(choices)))]
    return seed.metric if seed.metric in choices and rng.random() < KEEP_METRIC else drawn
