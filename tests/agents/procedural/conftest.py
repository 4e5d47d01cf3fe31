from __future__ import annotations

import asyncio
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sandmle.agents.procedural.strategist import ProceduralStrategist
from sandmle.agents.roles import TaskPlan
from sandmle.seeds import get_seed

SEEDS = ("breast-cancer", "wine", "diabetes")


@pytest.fixture(scope="session")
def strategist() -> ProceduralStrategist:
    return ProceduralStrategist(batch_seed=5, settings_hash="tests", n_train=120, n_test=600)


@pytest.fixture(scope="session")
def plans(strategist: ProceduralStrategist) -> list[TaskPlan]:
    """Thirty candidates, and one of every problem that is not among them."""
    found = [asyncio.run(strategist.plan(get_seed(SEEDS[k % 3]), k)) for k in range(30)]
    missing = {"binary", "multiclass", "multilabel", "ordinal", "regression", "ranking"} - {
        p.problem_type for p in found
    }
    for k in range(30, 400):
        if not missing:
            break
        plan = asyncio.run(strategist.plan(get_seed(SEEDS[k % 3]), k))
        if plan.problem_type in missing:
            missing.remove(plan.problem_type)
            found.append(plan)
    return found


@pytest.fixture
def run_script(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run a generated script in this process, in the given folder."""

    def run(script: Path, folder: Path, *args: str) -> None:
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", [str(script), *args])
        runpy.run_path(str(script), run_name="__main__")

    return run
