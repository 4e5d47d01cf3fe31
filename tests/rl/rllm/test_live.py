"""The real Hydra and rLLM's own code agree with what is worked out without them.

pip install hydra-core
SANDMLE_TEST_RLLM=(a checkout of rLLM) SANDMLE_TEST_VERL=(the folder that holds the package verl) pytest tests/rl/rllm
"""

import ast
import json
import logging
import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from sandmle.rl.rllm.compose import compose
from sandmle.rl.rllm.keys import collect
from sandmle.rl.rllm.recipe import Hardware, Recipe

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
