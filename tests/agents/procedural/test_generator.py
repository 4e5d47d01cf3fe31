"""The generator that the team writes: reproducible, whole in its files, and its Bayes predictions really best."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.developer import ProceduralDeveloper
from sandmle.agents.roles import BASELINE_RUNGS, TaskPlan
from sandmle.canary import canary
from sandmle.eval.grading import read_answers, read_submission
from sandmle.eval.metrics import get_metric
from sandmle.files import hash_tree

Run = Callable[..., None]


PROBLEMS = ("binary", "multiclass", "multilabel", "ordinal", "regression", "ranking")


def one_of_each(plans: list[TaskPlan]) -> dict[str, TaskPlan]:
    """One plan for every type of problem."""
    return {plan.problem_type: plan for plan in plans}


def generate(
    plan: TaskPlan, run: Run, out: Path, *, train_seed: int = 1, test_seed: int = 2, n_test: int = 600
) -> Path:
    script = out.parent / f"{plan.task_id}-script"
    if not script.exists():
        asyncio.run(ProceduralDeveloper().develop(plan, script, None))
    sizes = ("--n-train", "120", "--n-test", str(n_test))
    seeds = ("--train-seed", str(train_seed), "--test-seed", str(test_seed))
    run(script / "provenance" / "generate.py", out.parent, *seeds, *sizes, "--out", str(out))
    return out


def test_equal_seeds_give_equal_bytes_and_the_test_rows_depend_on_the_test_seed_alone(
    plans: list[TaskPlan], run_script: Run, tmp_path: Path
) -> None:
    for plan in list(one_of_each(plans).values())[:4]:
        first = hash_tree(generate(plan, run_script, tmp_path / f"{plan.task_id}-a"))
        assert hash_tree(generate(plan, run_script, tmp_path / f"{plan.task_id}-b")) == first
        other = hash_tree(generate(plan, run_script, tmp_path / f"{plan.task_id}-c", train_seed=9))
        assert other["public/train.csv"] != first["public/train.csv"]
        for name in ("public/test.csv", "private/answers.csv", "private/bayes.csv"):
            assert other[name] == first[name]


def test_files_have_the_promised_columns(plans: list[TaskPlan], run_script: Run, tmp_path: Path) -> None:
    for plan in one_of_each(plans).values():
        out = generate(plan, run_script, tmp_path / plan.task_id)
        train, test = (pd.read_csv(out / "public" / f"{name}.csv") for name in ("train", "test"))
        answers = pd.read_csv(out / "private" / "answers.csv")
        assert [*test.columns, plan.target] == list(train.columns)
        group = plan.submission.group_column
        names = [plan.submission.id_column, plan.target, *([group] if group else []), "Usage", "canary"]
        assert list(answers.columns) == names
        assert set(answers["canary"]) == {canary(plan.task_id)}
        assert 0.29 < (answers["Usage"] == "Public").mean() < 0.31
        ids = plan.submission.id_column
        assert not set(train[ids]) & set(test[ids])
        assert test[ids].is_unique


def test_values_are_written_whole(plans: list[TaskPlan], run_script: Run, tmp_path: Path) -> None:
    """The rule reads observed values, so nothing may be lost on the way to the file."""
    for plan in one_of_each(plans).values():
        out = generate(plan, run_script, tmp_path / plan.task_id)
        test = pd.read_csv(out / "public" / "test.csv")
        blueprint = Blueprint.of(plan)
        changed = {name for mutation in blueprint.mutations for name in mutation.columns()}
        for column in (column for column in blueprint.table.numeric() if column.name not in changed):
            values = test[column.name].dropna().to_numpy(float)
            np.testing.assert_allclose(values, np.round(values, column.decimals), rtol=0, atol=1e-9)
            assert values.min() >= column.low - 1e-9
            assert values.max() <= column.high + 1e-9


def test_groups_are_whole(plans: list[TaskPlan], run_script: Run, tmp_path: Path) -> None:
    plan = one_of_each(plans)["ranking"]
    out = generate(plan, run_script, tmp_path / plan.task_id)
    train, test = (pd.read_csv(out / "public" / f"{name}.csv") for name in ("train", "test"))
    answers = pd.read_csv(out / "private" / "answers.csv")
    group = plan.submission.group_column
    assert group is not None
    assert not set(train[group]) & set(test[group])
    for table in (train, test):
        assert table[group].value_counts().between(8, 12).all()
    assert (answers.groupby(group)["Usage"].nunique() == 1).all()
    assert answers[group].equals(test[group])


@pytest.mark.parametrize(
    "problem", [p if p == "multilabel" else pytest.param(p, marks=pytest.mark.slow) for p in PROBLEMS]
)
def test_every_baseline_writes_what_the_grader_accepts(
    plans: list[TaskPlan], run_script: Run, tmp_path: Path, problem: str
) -> None:
    plan = one_of_each(plans)[problem]
    out = generate(plan, run_script, tmp_path / plan.task_id)
    metric, form = get_metric(plan.metric), plan.submission
    key = read_answers(out / "private" / "answers.csv", form)
    scores = {}
    for rung in BASELINE_RUNGS:
        folder = tmp_path / rung
        folder.mkdir()
        (folder / "input").symlink_to(out / "public")
        run_script(tmp_path / f"{plan.task_id}-script" / "provenance" / "baselines" / f"{rung}.py", folder)
        prediction = read_submission(folder / "submission.csv", form, key, domain=metric.domain)
        scores[rung] = (-1.0 if metric.lower_is_better else 1.0) * metric.score(key.truth, prediction)
    best = read_submission(out / "private" / "bayes.csv", form, key, domain=metric.domain)
    scores["bayes"] = (-1.0 if metric.lower_is_better else 1.0) * metric.score(key.truth, best)
    gap = scores["bayes"] - scores["dummy"]
    assert scores["dummy"] + 0.4 * gap < scores["informed"] <= scores["bayes"] + 0.05 * gap
