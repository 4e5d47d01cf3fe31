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


def one_of_each(plans: list[TaskPlan]) -> list[TaskPlan]:
    """One plan for every link and metric that was drawn."""
    return list({(Blueprint.of(plan).rule.link, plan.metric): plan for plan in plans}.values())


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
    for plan in plans[:3]:
        first = hash_tree(generate(plan, run_script, tmp_path / f"{plan.task_id}-a"))
        assert hash_tree(generate(plan, run_script, tmp_path / f"{plan.task_id}-b")) == first
        other = hash_tree(generate(plan, run_script, tmp_path / f"{plan.task_id}-c", train_seed=9))
        assert other["public/train.csv"] != first["public/train.csv"]
        for name in ("public/test.csv", "private/answers.csv", "private/bayes.csv"):
            assert other[name] == first[name]


def test_files_have_the_promised_columns(plans: list[TaskPlan], run_script: Run, tmp_path: Path) -> None:
    for plan in plans[:6]:
        out = generate(plan, run_script, tmp_path / plan.task_id)
        train, test = (pd.read_csv(out / "public" / f"{name}.csv") for name in ("train", "test"))
        answers = pd.read_csv(out / "private" / "answers.csv")
        assert [*test.columns, plan.target] == list(train.columns)
        assert list(answers.columns) == [plan.submission.id_column, plan.target, "Usage", "canary"]
        assert set(answers["canary"]) == {canary(plan.task_id)}
        assert 0.29 < (answers["Usage"] == "Public").mean() < 0.31
        ids = plan.submission.id_column
        assert not set(train[ids]) & set(test[ids])
        assert test[ids].is_unique


def test_values_are_written_whole(plans: list[TaskPlan], run_script: Run, tmp_path: Path) -> None:
    """The rule reads observed values, so nothing may be lost on the way to the file."""
    for plan in plans[:6]:
        out = generate(plan, run_script, tmp_path / plan.task_id)
        test = pd.read_csv(out / "public" / "test.csv")
        for column in Blueprint.of(plan).table.numeric():
            values = test[column.name].dropna().to_numpy(float)
            np.testing.assert_allclose(values, np.round(values, column.decimals), rtol=0, atol=1e-9)
            assert values.min() >= column.low - 1e-9
            assert values.max() <= column.high + 1e-9


def test_bayes_predictions_beat_every_change_of_them(plans: list[TaskPlan], run_script: Run, tmp_path: Path) -> None:
    for plan in one_of_each(plans):
        out = generate(plan, run_script, tmp_path / plan.task_id, n_test=6000)
        metric, form = get_metric(plan.metric), plan.submission
        key = read_answers(out / "private" / "answers.csv", form)
        best = read_submission(out / "private" / "bayes.csv", form, key, domain=metric.domain)
        sign = -1.0 if metric.lower_is_better else 1.0
        score = sign * metric.score(key.truth, best)
        for name, changed in perturbed(best, form.kind, len(form.classes)).items():
            assert sign * metric.score(key.truth, changed) <= score + 0.004 * abs(score), (plan.metric, name)


def perturbed(best: np.ndarray, kind: str, n_classes: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    if kind == "label":
        flips = rng.random(len(best)) < 0.1
        return {"flipped": np.where(flips, (best + 1) % n_classes, best)}
    if kind == "number":
        spread = best.std()
        noise = best + 0.3 * spread * rng.standard_normal(len(best))
        return {
            "up": best * 1.05,
            "down": best * 0.95,
            "shrunk": best.mean() + 0.9 * (best - best.mean()),
            "noise": np.maximum(noise, 0.01 * best.min() if best.min() > 0 else noise.min()),
        }
    if kind == "probability":
        return {
            "sharper": best**1.5 / (best**1.5 + (1 - best) ** 1.5),
            "noise": 0.8 * best + 0.2 * rng.random(len(best)),
        }
    sharper = best**1.5
    return {"sharper": sharper / sharper.sum(axis=1, keepdims=True), "flatter": 0.9 * best + 0.1 / n_classes}


@pytest.mark.parametrize("index", range(6))
def test_every_baseline_writes_what_the_grader_accepts(
    plans: list[TaskPlan], run_script: Run, tmp_path: Path, index: int
) -> None:
    plan = one_of_each(plans)[index]
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
    assert scores["informed"] > scores["dummy"]
