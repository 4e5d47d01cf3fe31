"""One way to make a small task of a given kind and problem, and to run its scripts in this process."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import runpy
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.developer import ProceduralDeveloper
from sandmle.agents.procedural.kinds import get_kind
from sandmle.agents.procedural.strategist import ProceduralStrategist
from sandmle.agents.roles import TaskPlan
from sandmle.eval.grading import read_answers, read_submission
from sandmle.eval.metrics import get_metric
from sandmle.seeds import get_seed

SEEDS = ("breast-cancer", "wine", "diabetes")


def run_script(script: Path, folder: Path, *args: str) -> dict[str, Any]:
    """Run a script in a folder; its global names."""
    folder.mkdir(parents=True, exist_ok=True)
    argv = sys.argv
    with contextlib.chdir(folder):
        try:
            sys.argv = [str(script), *args]
            return runpy.run_path(str(script), run_name="__main__")
        finally:
            sys.argv = argv


@dataclass(frozen=True)
class Made:
    """A drawn task whose data lie in ``root/draw``."""

    plan: TaskPlan
    root: Path

    @property
    def public(self) -> Path:
        return self.root / "draw" / "public"

    def generate(self, name: str = "draw") -> Path:
        return self.draw_again(self.root / name)

    def draw_again(self, out: Path, *, train_seed: int | None = None, n_test: int | None = None) -> Path:
        """Run generate.py with the plan's seeds and sizes, or others."""
        plan = self.plan
        seeds = ("--train-seed", str(train_seed or plan.train_seeds[0]), "--test-seed", str(plan.test_seed))
        sizes = ("--n-train", str(plan.n_train), "--n-test", str(n_test or plan.n_test))
        run_script(self.root / "provenance/generate.py", self.root, *seeds, *sizes, "--out", str(out))
        return out

    def generator(self) -> dict[str, Any]:
        """The names of generate.py, which does nothing on import."""
        return runpy.run_path(str(self.root / "provenance/generate.py"), run_name="generator")

    def run(self, rung: str) -> dict[str, Any]:
        """Run a baseline; its global names."""
        folder = self.root / "runs" / rung
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "input").exists():
            (folder / "input").symlink_to(self.public)
        return run_script(self.root / f"provenance/baselines/{rung}.py", folder)

    def score(self, rung: str) -> float:
        """Better is larger."""
        self.run(rung)
        return self._grade(self.root / "runs" / rung / "submission.csv")

    def bayes(self) -> float:
        return self._grade(self.root / "draw/private/bayes.csv")

    def _grade(self, path: Path) -> float:
        metric, form = get_metric(self.plan.metric), self.plan.submission
        key = read_answers(self.root / "draw/private/answers.csv", form)
        value = metric.score(key.truth, read_submission(path, form, key, domain=metric.domain))
        return -value if metric.lower_is_better else value

    def table(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self.public / name)


Make = Callable[..., Made]


@pytest.fixture(scope="session")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """``make(kind, problem=None, n_train=100, n_test=300, **content)``: the first such candidate and its data."""
    made: dict[tuple[Any, ...], Made] = {}

    def draw(kind: str, problem: str | None, sizes: tuple[int, int], content: Mapping[str, Any]) -> TaskPlan:
        strategist = ProceduralStrategist(11, "tests", *sizes)
        for candidate in itertools.count():
            seed = get_seed(SEEDS[candidate % len(SEEDS)])
            plan = asyncio.run(strategist.plan(seed, candidate, get_kind(kind).modality))
            blueprint = Blueprint.of(plan)
            fits = blueprint.kind == kind and problem in (None, plan.problem_type)
            if fits and all(blueprint.content[key] == value for key, value in content.items()):
                return plan
        raise AssertionError("unreachable")

    def build(kind: str, problem: str | None = None, n_train: int = 100, n_test: int = 300, **content: Any) -> Made:
        key = (kind, problem, n_train, n_test, *sorted(content.items()))
        if key not in made:
            plan = draw(kind, problem, (n_train, n_test), content)
            root = tmp_path_factory.mktemp(plan.task_id)
            plan = asyncio.run(ProceduralDeveloper().develop(plan, root, None))
            made[key] = Made(plan, root)
            made[key].generate()
        return made[key]

    return build
