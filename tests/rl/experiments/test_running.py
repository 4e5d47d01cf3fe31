"""An experiment from constant scripts to the table, small: real demonstrations, sandboxes and updates."""

import asyncio
import json
import shutil

import pytest

pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")

from sandmle.rl.experiments import ExperimentSettings, running
from sandmle.rl.trainer.sandboxes import local_backend
from sandmle.seeds import get_seed, materialize
from sandmle.task import load_tasks

pytestmark = pytest.mark.slow

TINY = {
    "demonstrations": 4,
    "samples": 2,
    "match": {"arm": "grpo", "costs": ["tokens"]},
    "tasks": {
        "seeds": ["iris"],
        "other_seeds": ["wine"],
        "constants": ["last/shared/none/numbers-only/filled/none/linear", "last/shared/none/codes/filled/none/dummy"],
    },
    "train": {
        "model": {
            "vocabulary": 500,
            "pieces": "lines",
            "reading": "digest",
            "tiny": {"hidden": 32, "layers": 1, "heads": 2, "kv_heads": 1, "feed_forward": 64, "context": 1024},
        },
        "sft": {"epochs": 2, "batch": 2, "max_tokens": 1024},
        "grpo": {
            "updates": 1,
            "batch": 1,
            "groups": {"flat": "keep", "refills": 0},
            "rollouts": {"group": 2, "turns": 2, "sampling": {"max_new_tokens": 24, "max_tokens": 4096}},
        },
    },
    "arms": [
        {"name": "sft", "source": "imitation"},
        {"name": "grpo"},
        {"name": "permuted", "change": {"grpo": {"rollouts": {"permute_rewards": True}}}, "control": True},
        {"name": "rejection", "change": {"grpo": {"estimator": {"name": "best-of"}}}, "control": True},
        {"name": "cool", "of": "sft", "temperatures": [0.5, 1.0], "control": True},
        {"name": "constant", "source": "constant", "control": True},
        {"name": "other-brief", "of": "grpo", "brief": "other", "control": True},
    ],
}


async def play(settings, out, told):
    """All but the making of tasks: sets of one real task each."""
    backend = local_backend(allow_unisolated=True)
    experiment = running._Experiment(settings, out, told.append, backend)
    try:
        experiment.sets = {name: load_tasks(out / "sets" / name) for name in ("train", "same", "other", "unseen")}
        tasks = list({task.id: task for found in experiment.sets.values() for task in found}.values())
        await experiment.try_constants(tasks, settings.train.grpo.rollouts)
        await experiment.demonstrate()
        return await experiment.report(settings.arms)
    finally:
        await backend.aclose()


def test_every_arm_is_trained_and_measured_and_a_second_call_only_reads(tmp_path):
    materialize(get_seed("iris"), tmp_path / "sets" / "train")
    for name in ("same", "other", "unseen"):
        shutil.copytree(tmp_path / "sets" / "train", tmp_path / "sets" / name)
    settings, told = ExperimentSettings.model_validate(TINY), []
    report = asyncio.run(play(settings, tmp_path, told))
    rows = {row.name: row for row in report.rows}
    assert list(rows) == [arm.name for arm in settings.arms]
    assert rows["grpo"].cost.rollouts == 2
    for name in ("permuted", "rejection"):
        assert rows[name].cost.tokens >= rows["grpo"].cost.tokens or rows[name].cost.updates == 2
    assert {way: cell.episodes for way, cell in rows["sft"].cells["all"].items()} == {"sampled": 6, "greedy": 3}
    assert rows["constant"].cells["same"]["greedy"].reward.mean > 0.3
    assert rows["constant"].note == settings.tasks.constants[0]
    assert float(rows["cool"].note) in (0.5, 1.0)
    lines = (tmp_path / "seed-0" / "grpo" / "metrics-grpo.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["sampled"] == rows["grpo"].cost.tokens > 0

    again = []
    assert asyncio.run(play(settings, tmp_path, again)) == report
    assert not any("update" in line or "sft " in line for line in again)
