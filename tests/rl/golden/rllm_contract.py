"""A small training in rLLM's own trainer. As a program, where rLLM is installed, it records a group.

PYTHONPATH=src python tests/rl/golden/rllm_contract.py     writes rllm_group.json: episodes as ours and as rLLM's
"""

import asyncio
import json
import tempfile
from pathlib import Path
from types import SimpleNamespace

from sandmle.agents.chat.tokens import SamplingSettings
from sandmle.api import aevaluate
from sandmle.rl.checkpoints import TinyModel
from sandmle.rl.rollouts import RolloutSettings
from sandmle.rl.trainer import (
    GrpoSettings,
    ModelSettings,
    OptimizerSettings,
    SftOptimizerSettings,
    SftSettings,
    TrainSettings,
)
from sandmle.rl.trainer.training import atrain
from sandmle.seeds import get_seed, materialize

GROUP = Path(__file__).with_name("rllm_group.json")


def make_inputs(root: Path) -> Path:
    """Two tasks, and episodes of a scripted policy on them."""
    for name in ("iris", "wine"):
        materialize(get_seed(name), root / "tasks")
    suite, models = f"synthetic:{root / 'tasks'}", ["scripted:dummy"]
    asyncio.run(aevaluate(suite=suite, models=models, out=root / "run", repeats=2, allow_unisolated=True))
    return root


def settings(root: Path, updates: int, group: int = 4) -> TrainSettings:
    """Enough imitation that some replies are code that runs and some are not, so that rewards differ."""
    tiny = TinyModel(hidden=64, layers=2, heads=2, kv_heads=1, feed_forward=128, context=8_192)
    sft = SftSettings(
        runs=(root / "run",),
        epochs=40,
        batch=4,
        max_tokens=8_192,
        optimizer=SftOptimizerSettings(learning_rate=1e-2, warmup=0, decay=False),
    )
    sampling = SamplingSettings(max_new_tokens=200, max_tokens=8_192)
    grpo = GrpoSettings(
        updates=updates,
        batch=2,
        rollouts=RolloutSettings(group=group, turns=3, sampling=sampling),
        optimizer=OptimizerSettings(learning_rate=1e-3),
        checkpoint_every=1,
    )
    model = ModelSettings(tiny=tiny, vocabulary=2_000, pieces="lines", reading="digest")
    return TrainSettings(tasks=root / "tasks", model=model, sft=sft, grpo=grpo)


def train(asked: TrainSettings, out: Path, backend=None, **unified) -> tuple[list[SimpleNamespace], list[dict]]:
    """What rLLM's trainer held at the end of each update, and our metrics of it."""
    from sandmle.rl.rllm.local import Unified

    held, metrics = [], []

    def keep(state) -> None:
        batch, step_s = state.backend_batch, state.timing_dict["step"]
        held.append(SimpleNamespace(episodes=state.episodes, groups=state.trajectory_groups, ours=batch, step_s=step_s))

    phase = Unified(on_batch=keep, **unified)
    on_step = metrics.append
    asyncio.run(
        atrain(asked, out, on_step=on_step, allow_unisolated=True, backend=backend, reinforce=phase, trainer="rllm")
    )
    return held, [step.metrics for step in metrics if step.phase == "grpo"]


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        root = make_inputs(Path(scratch))
        (update,), _ = train(settings(root, 1, group=2), root / "out", advantages="rllm")
    pairs = [
        {"ours": each.trajectories[0].output.model_dump(mode="json"), "theirs": plain(each)}
        for each in update.episodes
        if each.task_id == update.groups[0].task_id
    ]
    GROUP.write_text(json.dumps(pairs, separators=(",", ":")) + "\n")


def plain(episode) -> dict:
    """An episode of rLLM's as JSON values, without seconds, without the row of its task, which names folders, and
    without each step's ``model_output``, which says the step again.
    """
    found = episode.to_dict()
    found["task"] = found["task"]["id"]
    found["metrics"] = {name: value for name, value in found["metrics"].items() if not name.startswith("time/")}
    for step in (step for trajectory in found["trajectories"] for step in trajectory["steps"]):
        step["model_output"] = None
    return found


if __name__ == "__main__":
    main()
