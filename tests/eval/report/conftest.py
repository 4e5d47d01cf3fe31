"""Runs made by hand: ``make_run`` takes one row of facts an episode."""

from pathlib import Path

import pytest

from sandmle.eval.runs import EpisodeSummary, EvalSettings, Run, RunRecord, Timing
from sandmle.grades import GradeReport
from sandmle.task import Thresholds
from sandmle.trajectory import Reward

MASKED = ("infra_error", "internal_error", "model_timeout", "step_timeouts")


def summary(policy, task, repeat, reward, *, status="answered", medal=None, error=None, **facts):
    masked = status in MASKED
    grade = GradeReport(
        task_id=task,
        metric="accuracy",
        lower_is_better=facts.pop("lower_is_better", False),
        score=None if error else facts.pop("score", 0.5),
        public_score=facts.pop("public_score", None),
        human_rank=facts.pop("human_rank", None),
        error=error,
        medal=medal,
        thresholds=facts.pop("thresholds", Thresholds(median=0.5, bronze=0.6, silver=0.7, gold=0.8)),
        above_median=facts.pop("above_median", medal is not None),
    )
    return EpisodeSummary(
        **{
            "id": f"{policy}-{task}-{repeat}",
            "task_id": task,
            "task_hash": f"hash of {task}",
            "scaffold": "react",
            "policy": policy,
            "protocol": "clean",
            "repeat": repeat,
            "privileged": policy == "scripted:informed",
            "status": status,
            "reason": "",
            "turns": 2,
            "format_ok": 2,
            "steps": 1,
            "timed_out": 0,
            "tiers": ("A",),
            "grade": None if masked else grade,
            "reward": None if masked else Reward(preset="paper", total=reward, parts={}),
            "pruned": 0,
            "leaked": False,
            "timing": Timing(
                wall_s=2.0, code_s=1.0, overhead_s=0.5, model_s=0.25, prompt_tokens=10, completion_tokens=4
            ),
            **facts,
        }
    )


@pytest.fixture(scope="session")
def make_run():
    def make(episodes, *, folder="run", repeats=1, tasks=None, **changes):
        models = changes.pop("models", tuple(dict.fromkeys(episode.policy for episode in episodes)))
        names = tasks or sorted({episode.task_id for episode in episodes})
        known = {name: changes.pop(name) for name in ("scales", "ranked", "prices") if name in changes}
        settings = EvalSettings(suite="synthetic:tasks", models=models, repeats=repeats, **changes)
        if "scales" in known:
            known["scales"] = {name: scale for name, scale in known["scales"].items() if name in names}
        hashes = {name: f"hash of {name}" for name in names}
        record = RunRecord(settings=settings, tasks=hashes, versions={"python": "3.11"}, isolation="B", **known)
        return Run(Path(folder), record, tuple(episodes))

    return make


@pytest.fixture(scope="session")
def make_summary():
    return summary
