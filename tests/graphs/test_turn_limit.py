"""What an episode's history says would count after so many turns is what counts in an episode with that limit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from sandmle.agents.session import AgentSession
from sandmle.agents.submissions import Submissions
from sandmle.graphs.scaffold import Budget, get_scaffold
from sandmle.sandboxes import LocalBackend
from sandmle.seeds import get_seed, materialize
from sandmle.task import Task
from sandmle.trajectory import Protocol

SHIFTS = (40.0, 0.0, 90.0, 10.0)


def code(shift: float | None) -> str:
    """Writes a submission that is the better the smaller the shift; None writes one that is not valid."""
    if shift is None:
        return "open('submission.csv', 'w').write('nothing')"
    read = "import pandas as pd\nd = pd.read_csv('input/sample_submission.csv')\n"
    return f"{read}d.iloc[:, 1] += {shift}\nd.to_csv('submission.csv', index=False)"


def react(shift: float | None) -> str:
    return f"<think>t</think><tool_call>python\n<code>\n{code(shift)}\n</code></tool_call>"


def solution(shift: float) -> str:
    return f"A plan.\n\n```python\n{code(shift)}\n```"


def review(metric: float) -> str:
    return json.dumps({"is_bug": False, "summary": "It ran.", "metric": metric})


SCORE = '<think>t</think><tool_call>{"name": "score"}</tool_call>'
REPLIES = {
    "react": tuple(map(react, (40.0, None, 0.0, 90.0, 10.0))),
    "aide": tuple(said for shift in SHIFTS for said in (solution(shift), review(shift + 1))),
}
PAPER = tuple(said for shift in SHIFTS for said in (react(shift), SCORE))


class Script(BaseChatModel):
    """Says its lines in order."""

    lines: tuple[str, ...]
    said: int = 0

    @property
    def _llm_type(self) -> str:
        return "script"

    def _generate(self, messages: list[BaseMessage], stop=None, run_manager=None, **kwargs: Any) -> ChatResult:
        self.said += 1
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.lines[self.said - 1]))])


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    return LocalBackend(concurrency=1, allow_unisolated=True)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return materialize(get_seed("diabetes"), tmp_path_factory.mktemp("tasks"))


async def play(
    task: Task, backend: LocalBackend, scaffold: str, lines: tuple[str, ...], turns: int, protocol: Protocol
) -> Submissions:
    async with await AgentSession.open(task, backend, protocol) as session:
        await get_scaffold(scaffold).rollout(Script(lines=lines), session, Budget(turns=turns), recorder=[])
    return session.submissions


@pytest.mark.parametrize(
    ("scaffold", "protocol", "lines"),
    [
        ("react", "clean", REPLIES["react"]),
        ("react", "paper", PAPER),
        ("aide", "clean", REPLIES["aide"]),
        ("aide", "paper", REPLIES["aide"]),
    ],
)
async def test_a_prefix_is_an_episode_with_fewer_turns(
    task: Task, backend: LocalBackend, scaffold: str, protocol: Protocol, lines: tuple[str, ...]
) -> None:
    whole = (await play(task, backend, scaffold, lines, len(lines), protocol)).history
    assert len({chosen.score for chosen in whole}) > 1
    assert [chosen.turn for chosen in whole] == sorted({chosen.turn for chosen in whole})
    for turns in range(2, len(lines) + 1):
        grade = (await play(task, backend, scaffold, lines, turns, protocol)).grade()
        before = [chosen for chosen in whole if chosen.turn < turns]
        assert grade.score == (before[-1].score if before else None)


async def test_under_dojo_the_history_only_gets_better(task: Task, backend: LocalBackend) -> None:
    submissions = Submissions(task, "clean")
    submissions._protocol = "dojo"  # whose board this task lacks
    async with await AgentSession.open(task, backend, "clean") as session:
        for turn, shift in enumerate((40.0, 90.0, 0.0)):
            await session.python(code(shift))
            submissions.turn = turn
            submissions.add(session.submissions.archive[-1])
    assert [chosen.turn for chosen in submissions.history] == [0, 2]
