from __future__ import annotations

import asyncio

import numpy as np
import pandas as pd
import pytest

from sandmle.agents.procedural import dna as dna_module
from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.dna import extract_dna
from sandmle.agents.procedural.lexicon import get_domain
from sandmle.agents.procedural.problems import metrics_for
from sandmle.agents.procedural.strategist import ProceduralStrategist
from sandmle.agents.roles import TaskPlan
from sandmle.errors import BadInput
from sandmle.eval.metrics import get_metric
from sandmle.seeds import Seed, get_seed, load_table
from sandmle.task import TASK_ID


def test_a_candidate_depends_on_its_seed_and_index_alone(
    strategist: ProceduralStrategist, plans: list[TaskPlan]
) -> None:
    again = ProceduralStrategist(batch_seed=5, settings_hash="tests", n_train=120, n_test=600)
    assert asyncio.run(again.plan(get_seed("diabetes"), 2)) == plans[2]
    other = ProceduralStrategist(batch_seed=6, settings_hash="tests", n_train=120, n_test=600)
    assert asyncio.run(other.plan(get_seed("diabetes"), 2)) != plans[2]


def test_ids_are_portable_and_differ(plans: list[TaskPlan]) -> None:
    ids = [plan.task_id for plan in plans]
    assert len(set(ids)) == len(ids)
    assert all(TASK_ID.fullmatch(name) for name in ids)


def test_no_task_is_set_in_its_seeds_own_domain(plans: list[TaskPlan]) -> None:
    for index, plan in enumerate(plans):
        seed = get_seed(("breast-cancer", "wine", "diabetes")[index % 3])
        assert not {seed.id, seed.family} & set(get_domain(Blueprint.of(plan).domain).related)


def test_metric_and_submission_fit_the_problem(plans: list[TaskPlan]) -> None:
    for plan in plans:
        metric, problem = get_metric(plan.metric), Blueprint.of(plan).problem
        assert plan.metric in metrics_for(problem.link, len(problem.labels))
        assert Blueprint.of(plan).rule.link == problem.link
        assert plan.problem_type in metric.problem_types
        assert plan.submission.kind == metric.prediction


def test_every_problem_of_tables_is_drawn(plans: list[TaskPlan]) -> None:
    drawn = {plan.problem_type for plan in plans}
    assert drawn == {"binary", "multiclass", "multilabel", "ordinal", "regression", "ranking"}


def test_shifted_columns_are_declared(plans: list[TaskPlan]) -> None:
    for plan in plans:
        names = [name for mutation in Blueprint.of(plan).mutations for name in mutation.shifted()]
        assert plan.declared_shift == tuple(names)


def test_category_weights_sum_to_one(plans: list[TaskPlan]) -> None:
    for plan in plans:
        for column in Blueprint.of(plan).table.categorical():
            assert sum(column.weights) == pytest.approx(1.0)
            assert min(column.weights) > 0


def test_dna_counts_what_the_data_hold() -> None:
    seed = get_seed("breast-cancer")
    table = load_table(seed)
    found = extract_dna(seed)
    assert found.n_rows == len(table.train)
    assert found.n_numeric == table.train.drop(columns=[table.target, table.id_column]).shape[1]
    shares = table.train[table.target].value_counts(normalize=True)
    np.testing.assert_allclose(found.class_shares, shares.to_numpy(), atol=1e-4)
    assert 0 <= found.linear_share <= 1


def test_linear_share_tells_a_line_from_a_circle() -> None:
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.standard_normal((300, 3)), columns=list("abc"))
    line, circle = x["a"] + 0.1 * rng.standard_normal(300), x["a"] ** 2 + x["b"] ** 2
    assert dna_module._linear_share(x, line, "regression") > 0.95
    assert dna_module._linear_share(x, circle, "regression") < 0.5


def test_a_seed_without_data_is_refused() -> None:
    seed = Seed(
        id="some-competition",
        family="some-competition",
        source="mlebench",
        title="t",
        description="d",
        modality="tabular",
        problem_type="binary",
        metric="roc_auc",
        lower_is_better=False,
    )
    with pytest.raises(BadInput, match="no labelled data"):
        extract_dna(seed)
