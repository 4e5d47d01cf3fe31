"""What rLLM needs is asked for before it is imported."""

import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from sandmle.errors import EnvironmentProblem
from sandmle.rl.rllm.installed import need_rllm
from sandmle.rl.rllm.known import pinned_versions

MODULE = "sandmle.rl.rllm.installed"


def test_what_rllm_itself_imports_is_named(monkeypatch):
    monkeypatch.setattr(f"{MODULE}.find_spec", lambda name: None if name == "codetiming" else name)
    with pytest.raises(EnvironmentProblem, match=r"^rLLM needs codetiming, which is not installed"):
        need_rllm()


def gateway(*calls):
    """A gateway whose clients have these methods."""
    client = type("Client", (), dict.fromkeys(calls))
    return SimpleNamespace(GatewayClient=client, AsyncGatewayClient=client)


def test_a_gateway_of_another_commit_is_told_before_a_training_meets_it(monkeypatch):
    monkeypatch.setattr(f"{MODULE}.find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "rllm_model_gateway", gateway("set_weight_version", "delete_sessions"))
    need_rllm()
    monkeypatch.setitem(sys.modules, "rllm_model_gateway", gateway("set_weight_version"))
    with pytest.raises(
        EnvironmentProblem, match=r"it lacks AsyncGatewayClient.delete_sessions; .*#subdirectory="
    ) as told:
        need_rllm()
    assert "\n" not in str(told.value)


def test_the_group_names_rllm_and_its_gateway_at_the_commit_of_the_known_keys():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    group = project["dependency-groups"]["rllm"]
    commit = pinned_versions()["commit"][:8]
    assert len(group) == 2
    assert all(f"git+https://github.com/rllm-org/rllm@{commit}" in each for each in group)
    assert group[1].endswith("#subdirectory=rllm-model-gateway")
    assert [{"group": "rllm"}, {"extra": "vllm"}] in project["tool"]["uv"]["conflicts"]
