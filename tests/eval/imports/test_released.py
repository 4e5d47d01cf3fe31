"""Bundles in the authors' layout, made here: brought in where they are sound, refused with the reason where not."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sandmle.agents.session import agent_spec
from sandmle.eval.grading import grade_submission
from sandmle.eval.imports import check_imported, import_released
from sandmle.sandboxes import LocalBackend
from sandmle.task import Task

EVALUATOR = """
import argparse, json
import numpy as np
import pandas as pd
from sklearn.metrics import {imports}

parser = argparse.ArgumentParser()
parser.add_argument("--submission_path", required=True)
given = pd.read_csv(parser.parse_args().submission_path)
answer = pd.read_csv("answer.csv")
if set(given["id"]) != set(answer["id"]):
    raise SystemExit("the ids differ")
both = answer.merge(given, on="id", suffixes=("_true", ""))
score = {score}
print(json.dumps({{"score": round(float(score), 6), "is_lower_better": {lower}, "gold_threshold": {tiers[3]},
    "silver_threshold": {tiers[2]}, "bronze_threshold": {tiers[1]}, "median_threshold": {tiers[0]}}}, indent=2))
"""
AUC = {
    "imports": "roc_auc_score",
    "score": 'roc_auc_score(both["sold_true"] == "yes", both["sold"])',
    "lower": False,
    "tiers": (0.6, 0.7, 0.8, 0.9),
}
RMSE = {
    "imports": "mean_squared_error",
    "score": 'mean_squared_error(both["sold_true"], both["sold"]) ** 0.5',
    "lower": True,
    "tiers": (1.1, 0.8, 0.5, 0.2),
}
KAPPA = {
    "imports": "cohen_kappa_score",
    "score": 'cohen_kappa_score(both["sold_true"].map(R), both["sold"].map(R), weights="quadratic")'.replace(
        "R", '{"poor": 0, "fair": 1, "good": 2}'
    ),
    "lower": False,
    "tiers": (0.2, 0.4, 0.6, 0.8),
}
LOG_LOSS = {
    "imports": "log_loss",
    "score": 'log_loss(both["level"], both[["high", "low", "mid"]], labels=["high", "low", "mid"])',
    "lower": True,
    "tiers": (1.05, 0.9, 0.7, 0.4),
}
ROWS = 60


def build(root: Path, told: dict[str, object], truth: list[object], sample: object, column: str = "sold") -> Path:
    """A task of the authors' layout with 60 test rows."""
    public = root / "prepared" / "public"
    public.mkdir(parents=True)
    (public / "description.md").write_text("# Shop\n\nPredict what is sold.\n")
    draw = np.random.default_rng(0)
    table = pd.DataFrame({"id": range(ROWS), "size": draw.normal(size=ROWS).round(3)})
    table.to_csv(public / "test.csv", index=False)
    table.assign(id=table["id"] + 1000, **{column: truth[::-1]}).to_csv(public / "train.csv", index=False)
    shown = sample if isinstance(sample, dict) else {column: sample}
    table[["id"]].assign(**shown).to_csv(public / "sample_submission.csv", index=False)
    table[["id"]].assign(**{column: truth}).to_csv(public / "answer.csv", index=False)
    (public / "evaluator.py").write_text(EVALUATOR.format(**told))
    return root


def labels(*names: object) -> list[object]:
    return [names[k] for k in np.random.default_rng(1).integers(len(names), size=ROWS)]


def printed_score(public: Path) -> float:
    """What the evaluator itself says of the sample submission."""
    command = [sys.executable, "evaluator.py", "--submission_path", "sample_submission.csv"]
    done = subprocess.run(command, cwd=public, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout)["score"])


@pytest.fixture(scope="module")
def numbers() -> list[object]:
    return list(np.random.default_rng(2).normal(size=ROWS).round(3))


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    return LocalBackend(allow_unisolated=True)


@pytest.mark.parametrize(
    ("told", "names", "sample", "column", "metric", "kind"),
    [
        (AUC, ("no", "yes"), 0.5, "sold", "roc_auc", "probability"),
        pytest.param(RMSE, None, 0.1, "sold", "rmse", "number", marks=pytest.mark.slow),
        pytest.param(
            KAPPA, ("poor", "fair", "good"), "fair", "sold", "quadratic_kappa", "label", marks=pytest.mark.slow
        ),
        pytest.param(
            LOG_LOSS,
            ("high", "low", "mid"),
            {"high": 0.2, "low": 0.2, "mid": 0.6},
            "level",
            "multiclass_log_loss",
            "class_probabilities",
            marks=pytest.mark.slow,
        ),
    ],
)
async def test_a_sound_task_is_recognised_and_graded_alike(
    tmp_path, backend, numbers, told, names, sample, column, metric, kind
):
    truth = labels(*names) if names else numbers
    root = build(tmp_path / "Shop_1", told, truth, sample, column)
    before = sorted(path.name for path in (root / "prepared/public").iterdir())
    report = await import_released(root, tmp_path / "tasks", backend)
    assert report.reason == ""
    task = Task.load(tmp_path / "tasks" / "shop-1")
    assert (task.manifest.metric, task.manifest.submission.kind, task.manifest.title) == (metric, kind, "Shop")
    assert tuple(task.manifest.thresholds.model_dump().values()) == told["tiers"]
    assert sorted(path.name for path in task.public.iterdir()) == sorted(set(before) - {"answer.csv", "evaluator.py"})
    assert "answer.csv quarantined" in report.told
    sample_score = grade_submission(task, task.public / "sample_submission.csv").score
    assert sample_score == pytest.approx(printed_score(root / "prepared/public"), abs=1e-6)
    shown = agent_spec(task)
    assert (set(shown.inputs.values()), shown.env) == ({task.public}, {})
    assert (await check_imported(task, backend)).findings == ()
    with (task.provenance / "released/prepared/public/evaluator.py").open("a") as stream:
        stream.write("raise SystemExit(1)\n")
    findings = (await check_imported(task, backend)).findings
    assert any("was changed" in finding for finding in findings)


def spoil_thresholds(root: Path) -> None:
    path = root / "prepared/public/evaluator.py"
    path.write_text(path.read_text().replace('"gold_threshold": 0.9', '"gold_threshold": 0.75'))


def spoil_direction(root: Path) -> None:
    path = root / "prepared/public/evaluator.py"
    path.write_text(path.read_text().replace('"is_lower_better": False', '"is_lower_better": True'))


def spoil_metric(root: Path) -> None:
    path = root / "prepared/public/evaluator.py"
    path.write_text(path.read_text().replace('both["sold"])\n', 'both["sold"]) ** 3\n'))


def spoil_evaluator(root: Path) -> None:
    (root / "prepared/public/evaluator.py").write_text("import no_such_library\n")


def spoil_repeatability(root: Path) -> None:
    path = root / "prepared/public/evaluator.py"
    path.write_text(path.read_text().replace("score = ", "score = 1e-3 * np.random.default_rng().random() + "))


def spoil_secrecy(root: Path) -> None:
    public = root / "prepared/public"
    answer = pd.read_csv(public / "answer.csv").sample(frac=1, random_state=0)
    answer.rename(columns={"sold": "note"}).to_csv(public / "extra.csv", index=False)


def spoil_bytes(root: Path) -> None:
    shutil.copyfile(root / "prepared/public/answer.csv", root / "prepared/public/copy.bin")


def spoil_sample(root: Path) -> None:
    public = root / "prepared/public"
    answer = pd.read_csv(public / "answer.csv")
    answer.assign(sold=(answer["sold"] == "yes") * 0.9).to_csv(public / "sample_submission.csv", index=False)


def spoil_answers(root: Path) -> None:
    path = root / "prepared/public/answer.csv"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")


def spoil_layout(root: Path) -> None:
    (root / "prepared/public/description.md").unlink()


def spoil_sums(root: Path) -> None:
    (root.parent / "SHA256SUMS").write_text(f"{'0' * 64}  {root.name}/prepared/public/test.csv\n")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (spoil_thresholds, "do not rise from median to gold"),
        pytest.param(spoil_direction, "says that lower is better, but it scores roc_auc", marks=pytest.mark.slow),
        (spoil_metric, "none of our metrics"),
        (spoil_evaluator, "no score: .*no_such_library"),
        (spoil_repeatability, "does not print the same"),
        (spoil_secrecy, "column 'note' of prepared/public/extra.csv holds the answers"),
        pytest.param(spoil_bytes, "copy.bin is a copy of prepared/public/answer.csv", marks=pytest.mark.slow),
        pytest.param(spoil_sample, "earns a medal", marks=pytest.mark.slow),
        (spoil_answers, "the answers name other rows"),
        (spoil_layout, "description.md is missing"),
        (spoil_sums, "SHA256SUMS: "),
    ],
)
async def test_what_is_wrong_is_told_and_nothing_stays(tmp_path, backend, spoil, says):
    root = build(tmp_path / "bundle" / "shop", AUC, labels("no", "yes"), 0.5)
    spoil(root)
    report = await import_released(root, tmp_path / "tasks", backend)
    assert report.task_id is None
    assert re.search(says, report.reason), report.reason
    assert list((tmp_path / "tasks").iterdir()) == []
