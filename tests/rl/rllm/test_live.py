"""The real Hydra and rLLM's own code agree with what is worked out without them.

pip install hydra-core
SANDMLE_TEST_RLLM=(a checkout of rLLM) SANDMLE_TEST_VERL=(the folder that holds the package verl) pytest tests/rl/rllm
"""

import ast
import importlib.util
import json
import logging
import os
import sys
import types
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from rllm_example import GOLDEN, played

from sandmle.rl.rllm.compose import compose
from sandmle.rl.rllm.keys import collect
from sandmle.rl.rllm.recipe import Hardware, Recipe
from sandmle.rl.rllm.records import rllm_episode
from sandmle.trajectory import MASKED_STATUSES, EpisodeStatus

CHECKOUT, VERL = os.environ.get("SANDMLE_TEST_RLLM"), os.environ.get("SANDMLE_TEST_VERL")

pytestmark = pytest.mark.skipif(not CHECKOUT, reason="set SANDMLE_TEST_RLLM to a checkout of rLLM")

RECIPE = Recipe.load("qwen3-30b-a3b").model_copy(
    update={"recipe": "sft+rl", "hardware": Hardware(nodes=2, ray_address="auto", vllm_share=0.5)}
)
STAGES = [pytest.param(stage, id=stage.stage) for stage in compose(RECIPE)]


def test_the_committed_keys_are_those_of_the_pinned_versions():
    committed = files("sandmle.rl.rllm").joinpath("known_keys.json").read_text(encoding="utf-8")
    assert json.loads(committed) == json.loads(json.dumps(collect(Path(CHECKOUT), Path(VERL))))


@pytest.mark.parametrize("stage", STAGES)
def test_hydra_and_their_own_copying_give_the_same_configuration(stage):
    from omegaconf import OmegaConf

    config = _hydra(stage.stage, stage.arguments())
    if stage.stage == "grpo":
        _their_sync_config()(config, stage.arguments())
    checked = 0
    for path, value in stage.effective.items():
        theirs = OmegaConf.select(config, path)
        if path in stage.known.keys and stage.known.keys[path].added and path not in stage.overrides:
            continue
        if not (isinstance(value, str) and ("${" in value or value == "???")):
            plain = OmegaConf.to_container(theirs) if OmegaConf.is_config(theirs) else theirs
            assert plain == value, path
            checked += 1
    assert checked > 100


def _hydra(stage: str, arguments: list[str]) -> Any:
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from omegaconf import OmegaConf

    theirs, ours = Path(VERL) / "verl/trainer/config", Path(CHECKOUT) / "rllm/trainer/config"
    folder, name = (ours, "unified") if stage == "grpo" else (theirs, "sft_trainer_engine")
    with initialize_config_dir(config_dir=str(folder), version_base=None):
        config = hydra_compose(name, overrides=[f"hydra.searchpath=[file://{theirs}]", *arguments])
    OmegaConf.set_struct(config, False)
    return config


def _their_sync_config() -> Any:
    """``sync_config`` alone, without the imports of its module (torch, verl)."""
    from omegaconf import DictConfig, OmegaConf

    names: dict[str, Any] = {
        "OmegaConf": OmegaConf,
        "DictConfig": DictConfig,
        "logger": logging.getLogger("rllm"),
        "Any": Any,
    }
    wanted = {
        "_explicit_override_keys",
        "_plain",
        "sync_shared_keys",
        "sync_config",
        "_SHARED_KEYS",
        "_TOTAL_TRAINING_STEPS_KEY",
    }
    for source in ("algorithms/config.py", "verl/utils.py"):
        tree = ast.parse((Path(CHECKOUT) / "rllm/trainer" / source).read_text())
        tree.body = [node for node in tree.body if _name(node) in wanted]
        future = ast.parse("from __future__ import annotations").body
        exec(compile(ast.Module(future + tree.body, []), source, "exec"), names)
    return names["sync_config"]


def _name(node: ast.stmt) -> str:
    target = getattr(node, "target", None)
    return getattr(target, "id", "") if target is not None else getattr(node, "name", "")


def test_their_classes_read_our_records_and_group_and_mask_as_we_do(monkeypatch):
    theirs = _their_records(monkeypatch)
    records = [rllm_episode(played(status, repeat=i)) for i, status in enumerate(EpisodeStatus)]
    episodes = [theirs["Episode"].from_dict(record) for record in records]
    assert [episode.to_dict() for episode in episodes] == records
    assert rllm_episode(played()) == theirs["Episode"].from_dict(json.loads(GOLDEN.read_text())).to_dict()
    (stage,) = compose(Recipe.load("qwen3-8b"))
    prefix = "rllm.compact_filtering."
    filtering = {key.removeprefix(prefix): value for key, value in stage.effective.items() if key.startswith(prefix)}
    (group,) = theirs["_build_trajectory_groups"](episodes, theirs["CompactFilteringConfig"](**filtering))
    assert group.task_id == "rocks-1a2b"
    assert len(group.trajectories) == len(EpisodeStatus) - len(MASKED_STATUSES)


def _their_records(patch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The classes of ``rllm/types.py`` and the grouping of ``transform.py``, without what else their modules import."""
    root = Path(CHECKOUT) / "rllm"
    reason = _defined(root / "workflows/workflow.py", {"TerminationReason"}, "from enum import Enum")
    tools = {name: type(name, (), {}) for name in ("ToolCall", "ToolOutput")}
    for name, content in (
        ("rllm.workflows.workflow", reason),
        ("rllm.engine.rollout", {"ModelOutput": None}),
        ("rllm.tools.tool_base", tools),
    ):
        patch.setitem(sys.modules, name, types.ModuleType(name))
        vars(sys.modules[name]).update(content)
    spec = importlib.util.spec_from_file_location("rllm.types", root / "types.py")
    module = importlib.util.module_from_spec(spec)
    patch.setitem(sys.modules, "rllm.types", module)
    spec.loader.exec_module(module)
    imports = (
        "from collections import defaultdict\nfrom dataclasses import dataclass\n"
        "from rllm.types import Episode, Trajectory, TrajectoryGroup\n"
        "from rllm.workflows.workflow import TerminationReason\n"
    )
    grouping = _defined(root / "trainer/algorithms/transform.py", {"_build_trajectory_groups"}, imports)
    filtering = _defined(root / "trainer/algorithms/config.py", {"CompactFilteringConfig"}, imports)
    return vars(module) | grouping | filtering


def _defined(source: Path, names: set[str], before: str) -> dict[str, Any]:
    """What a module defines under these names, after the imports ``before`` in place of its own."""
    found: dict[str, Any] = {"__name__": "builtins"}
    body = [node for node in ast.parse(source.read_text()).body if _name(node) in names]
    start = ast.parse("from __future__ import annotations\n" + before).body
    exec(compile(ast.Module(start + body, []), str(source), "exec"), found)
    return found
