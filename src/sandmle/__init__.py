"""sandmle: micro-scale machine-learning tasks, sandboxes, rollouts and rewards for MLE agents.

    seeds -> synthesis team -> verified tasks -> rollouts in sandboxes -> trajectories + rewards -> RL trainer

The names below are the public API; they load on first use, so ``import sandmle`` costs almost nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandmle.api import aevaluate, agenerate_tasks, atrain, evaluate, generate_tasks, grade, train
    from sandmle.grades import GradeReport
    from sandmle.task import Task, load_tasks
    from sandmle.trajectory import Episode

__version__ = "0.1.0"

__all__ = [
    "Episode",
    "GradeReport",
    "Task",
    "__version__",
    "aevaluate",
    "agenerate_tasks",
    "atrain",
    "evaluate",
    "generate_tasks",
    "grade",
    "load_tasks",
    "train",
]

_HOME = {
    "Episode": "sandmle.trajectory",
    "GradeReport": "sandmle.grades",
    "Task": "sandmle.task",
    "load_tasks": "sandmle.task",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - PEP 562
    if name not in __all__:
        raise AttributeError(f"module 'sandmle' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME.get(name, "sandmle.api")), name)
