"""The one episode runner, and evaluations made of it. Training drives the same ``run_episode``.

    EvalSettings ──▶ aevaluate ──▶ run_episode (bounded many at once) ──▶ run folder ──▶ report

An episode: make the sandbox from the task's public folder alone, let the scaffold drive the model, close the sandbox,
then take the grade of the submission that the protocol selects, and the reward from the grade.
"""

from sandmle.eval.runner._episode import EpisodePlan, EpisodeResult, run_episode
from sandmle.eval.runner._evaluate import (
    EpisodeFinished,
    RunEvent,
    RunLimits,
    RunStarted,
    RunStopped,
    aevaluate,
)
from sandmle.eval.runner._prepare import Endpoint
from sandmle.eval.runs import BudgetSettings, EvalSettings

__all__ = [
    "BudgetSettings",
    "Endpoint",
    "EpisodeFinished",
    "EpisodePlan",
    "EpisodeResult",
    "EvalSettings",
    "RunEvent",
    "RunLimits",
    "RunStarted",
    "RunStopped",
    "aevaluate",
    "run_episode",
]
