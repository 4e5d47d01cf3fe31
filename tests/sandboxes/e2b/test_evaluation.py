"""A whole evaluation whose code runs in E2B's machines."""

from __future__ import annotations

import pytest

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.eval.runner import EvalSettings, aevaluate
from sandmle.seeds import get_seed, materialize


@pytest.fixture
def settings(tmp_path) -> EvalSettings:
    materialize(get_seed("iris"), tmp_path / "tasks")
    return EvalSettings(suite=f"synthetic:{tmp_path / 'tasks'}", models=("scripted:dummy", "scripted:linear"))


async def test_the_same_result_as_at_home(server, settings, tmp_path):
    there = await aevaluate(settings, tmp_path / "there", sandbox="e2b", jobs=2)
    here = await aevaluate(settings, tmp_path / "here", jobs=2, allow_unisolated=True)
    assert [one.grade for one in there.episodes] == [one.grade for one in here.episodes]
    assert [one.reward for one in there.episodes] == [one.reward for one in here.episodes]
    assert there.record.isolation == "vm"
    assert server.machines == {}


async def test_no_key(settings, tmp_path, monkeypatch):
    monkeypatch.delenv("E2B_API_KEY", raising=False)
    with pytest.raises(EnvironmentProblem, match="E2B"):
        await aevaluate(settings, tmp_path / "run", sandbox="e2b")
    assert not (tmp_path / "run").exists()


async def test_unknown(settings, tmp_path):
    with pytest.raises(BadInput, match="sandbox 'cloud': unknown; it is one of local, e2b"):
        await aevaluate(settings, tmp_path / "run", sandbox="cloud")
    assert not (tmp_path / "run").exists()
