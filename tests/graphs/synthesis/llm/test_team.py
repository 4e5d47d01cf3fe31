"""The whole graph with a model in every role: hand-written fixtures, the real client, real sandboxes, real checks."""

from __future__ import annotations

from collections.abc import Callable
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


def told(server, role: str) -> list[str]:
    return [text for who, text in server.asked if who == role]


def replaced(old: str, new: str) -> Callable[[str], str]:
    def fault(good: str) -> str:
        assert old in good
        return good.replace(old, new)

    return fault


def test_work_comes_back_to_the_role_that_can_mend_it_and_a_replay_sends_nothing(
    server, team_file: Path, tmp_path: Path
) -> None:
    server.faults = {
        "strategist": [lambda good: "I am sorry, I can't do that.", replaced('"hidden"', '"hiden"')],
        "developer": [
            replaced("args = parser.parse_args()\n", "args = parser.parse_args()\n    open('/etc/shadow')\n"),
            replaced("(rng.random(len(p)) < p)", "(rng.random(len(p)) < sigmoid(3 * signal))"),
        ],
        "engineer": [replaced("def main", "print('{\"score\": 1.0}')\nraise SystemExit\n\n\ndef main")],
        "writer": [replaced("Higher is better", "Lower is better")],
        "reviewer": [lambda good: '{"faults": [{"quote": "Bees that leave", "why": "it gives the pair away"}]}'],
    }
    (task,), seen = make(team_file, tmp_path / "one")
    assert task.manifest.made_by.team == "llm"
    assert task.manifest.made_by.models == ("strategist", "developer", "engineer", "writer", "reviewer")
    assert "no JSON object" in told(server, "strategist")[1]
    assert "hidden: Field required" in told(server, "strategist")[2]
    assert "generate.py" in told(server, "developer")[1].partition("came back")[2]
    assert "labels do not follow the rule" in told(server, "developer")[2]
    assert "score is" in told(server, "engineer")[1]
    assert "Lower is better" in told(server, "writer")[1].partition("came back")[2]
    assert "it gives the pair away" in told(server, "writer")[2]
    assert not [event for event in seen if event.rejection]
    settled = next(event.settled for event in seen if event.settled)
    assert settled.tokens == 120 * sum(server.calls.values())
    calls = server.calls.copy()
    assert [again.id for again in make(team_file, tmp_path / "one")[0]] == [task.id]
    replies = tmp_path / "one" / ".sandmle" / "models" / "replies"
    (again,), _ = make(team_file, tmp_path / "two", replies=replies, offline=True)
    assert server.calls == calls
    assert hash_tree(again.root) == hash_tree(task.root)


@pytest.mark.slow
def test_six_good_tasks_in_three_modalities(server, team_file: Path, tmp_path: Path) -> None:
    tasks, seen = make(team_file, tmp_path / "out", n=6, mix="tabular=1,text=1,series=1")
    assert sorted(task.manifest.modality for task in tasks) == ["series"] * 2 + ["tabular"] * 2 + ["text"] * 2
    assert len({task.manifest.title for task in tasks}) == 6
    assert not [event for event in seen if event.rejection]
