from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandmle.agents.llm import PRESETS, parse_team
from sandmle.agents.roles import ROLES
from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.settings import get_settings

FILE = """
task_tokens = 5000
[roles]
writer = "small"
[models.small]
name = "little"
temperature = 0.2
"""


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("SANDMLE_MODEL", "big")
    monkeypatch.chdir(tmp_path)
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()


@pytest.mark.parametrize("text", ["", "procedural", "writer=procedural"])
def test_code_of_ours_plays_unless_told_otherwise(text: str) -> None:
    assert set(parse_team(text).players().values()) == {"procedural"}


def test_roles_and_models_are_chosen_one_by_one() -> None:
    team = parse_team("strategist=llm, writer=openai:small,developer=procedural")
    assert [role for role, player in team.players().items() if player == "llm"] == ["strategist", "writer"]
    assert team.model("strategist").name == "big"
    assert team.model("writer").name == "small"
    assert team.model("developer") is None


def test_presets() -> None:
    assert [parse_team("paper").players()[role] for role in ROLES] == ["llm"] * 4 + ["procedural"]
    local = parse_team("local-vllm")
    assert set(local.players().values()) == {"llm"}
    assert local.model("writer").base_url == "http://127.0.0.1:8000/v1"
    assert set(PRESETS) == {"paper", "local-vllm"}


def test_a_file_names_models_and_budgets(tmp_path: Path) -> None:
    path = tmp_path / "team.toml"
    path.write_text(FILE)
    team = parse_team(str(path))
    assert team.task_tokens == 5000
    assert team.model("writer").temperature == 0.2
    moved = path.with_name("other.toml")
    moved.write_text(FILE + 'base_url = "http://127.0.0.1:1/v1"\ninput_price = 3.0\nat_once = 2\n')
    assert parse_team(str(moved)).shaping() == team.shaping()
    moved.write_text(FILE.replace("0.2", "0.3"))
    assert parse_team(str(moved)).shaping() != team.shaping()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("experts", "unknown team 'experts'"),
        ("boss=llm", "unknown role 'boss'"),
        ("writer=openai:", "unknown player 'openai:'"),
        ("writer=claude", "unknown player 'claude'"),
        ("nowhere.toml", "nowhere.toml"),
    ],
)
def test_what_can_not_be_used_is_named(text: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        parse_team(text)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("roles = 3", "roles"),
        ('[roles]\nwriter = "gone"', "no model 'gone'"),
        ("[roles", "no TOML"),
        ("repairs = -1", "repairs"),
        ("colour = 1", "colour"),
    ],
)
def test_a_broken_file_is_named_with_its_fault(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "team.toml"
    path.write_text(content)
    with pytest.raises(BadInput, match=problem):
        parse_team(str(path))


def test_a_model_must_have_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SANDMLE_MODEL")
    get_settings.cache_clear()
    with pytest.raises(EnvironmentProblem, match="SANDMLE_MODEL"):
        parse_team("llm")
