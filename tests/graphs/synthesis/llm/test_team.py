"""The whole graph with a model in every role: hand-written fixtures, the real client, real sandboxes, real checks."""

from __future__ import annotations

from pathlib import Path

import pytest

import sandmle
from sandmle.files import hash_tree
from sandmle.graphs.synthesis import Progress

pytestmark = pytest.mark.flow


def make(team: Path, out: Path, n: int = 1, mix: str = "tabular=1", **settings) -> tuple[list, list[Progress]]:
    seen: list[Progress] = []
    options = {"out": out, "team": str(team), "mix": mix, "n_test": 1000, "on_progress": seen.append} | settings
    return list(sandmle.generate_tasks(["iris", "wine"], n, **options)), seen


def test_a_batch_goes_on_at_once_and_a_replay_sends_nothing(server, team_file: Path, tmp_path: Path) -> None:
    (task,), seen = make(team_file, tmp_path / "one")
    assert task.manifest.made_by.team == "llm"
    assert task.manifest.made_by.models == ("strategist", "developer", "engineer", "writer", "reviewer")
    assert not [event for event in seen if event.rejection]
    settled = next(event.settled for event in seen if event.settled)
    assert settled.tokens == 120 * sum(server.calls.values())
    assert max(event.tokens or 0 for event in seen) == settled.tokens
    calls = server.calls.copy()
    assert [again.id for again in make(team_file, tmp_path / "one")[0]] == [task.id]
    replies = tmp_path / "one" / ".sandmle" / "models" / "replies"
    (again,), _ = make(team_file, tmp_path / "two", replies=replies, offline=True)
    assert server.calls == calls
    assert hash_tree(again.root) == hash_tree(task.root)


@pytest.mark.slow
def test_six_good_tasks_in_three_modalities_and_their_replay(server, team_file: Path, tmp_path: Path) -> None:
    tasks, seen = make(team_file, tmp_path / "out", n=6, mix="tabular=1,text=1,series=1")
    assert sorted(task.manifest.modality for task in tasks) == ["series"] * 2 + ["tabular"] * 2 + ["text"] * 2
    assert len({task.manifest.title for task in tasks}) == 6
    assert not [event for event in seen if event.rejection]
    calls = server.calls.copy()
    replies = tmp_path / "out" / ".sandmle" / "models" / "replies"
    settings = {"n": 6, "mix": "tabular=1,text=1,series=1", "replies": replies, "offline": True}
    again, _ = make(team_file, tmp_path / "again", **settings)
    assert server.calls == calls
    assert [hash_tree(task.root) for task in again] == [hash_tree(task.root) for task in tasks]
