"""AIDE in real sandboxes: which solution counts, and what becomes of bad replies."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import Field

from sandmle.agents.chat import make_policy
from sandmle.agents.session import AgentSession
from sandmle.graphs.aide import AideState
from sandmle.graphs.aide._graph import builder
from sandmle.graphs.scaffold import Budget, Outcome, get_scaffold
from sandmle.sandboxes import LocalBackend
from sandmle.seeds import get_seed, materialize
from sandmle.task import Task
from sandmle.trajectory import EpisodeStatus, Protocol

COPY = "import pandas as pd\nd = pd.read_csv('input/sample_submission.csv')\n"


class Told(BaseChatModel):
    """Writes the given solutions in turn, and reviews each as it is told."""

    solutions: tuple[str, ...]
    reviews: tuple[str, ...]
    heard: list[str] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "told"

    def _generate(self, messages: list[BaseMessage], stop=None, run_manager=None, **kwargs: Any) -> ChatResult:
        text = str(messages[0].text)
        self.heard.append(text)
        kind = self.reviews if '"is_bug"' in text else self.solutions
        said = sum(('"is_bug"' in other) == ('"is_bug"' in text) for other in self.heard) - 1
        return ChatResult(generations=[ChatGeneration(message=AIMessage(kind[min(said, len(kind) - 1)]))])


def solution(code: str, plan: str = "A plan.") -> str:
    return f"{plan}\n\n```python\n{code}\n```"


def writes(shift: int) -> str:
    """A valid submission whose bytes depend on ``shift``."""
    turned = f"d = pd.concat([d.iloc[{shift}:], d.iloc[:{shift}]])\n"
    return solution(COPY + turned + "d.to_csv('submission.csv', index=False)")


def says(metric: float | None, bug: bool = False, **more: Any) -> str:
    return json.dumps({"is_bug": bug, "summary": f"It got {metric}.", "metric": metric, **more})


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    return LocalBackend(concurrency=2, allow_unisolated=True)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return materialize(get_seed("iris"), tmp_path_factory.mktemp("tasks"))


async def play(
    task: Task, backend: LocalBackend, model: BaseChatModel, turns: int, protocol: Protocol = "clean"
) -> tuple[Outcome, AgentSession]:
    async with await AgentSession.open(task, backend, protocol) as session:
        outcome = await get_scaffold("aide").rollout(model, session, Budget(turns=turns), recorder=[])
    return outcome, session


@pytest.mark.parametrize("protocol", ["clean", "paper"])
async def test_the_best_by_validation_counts_and_not_the_last(
    task: Task, backend: LocalBackend, protocol: Protocol
) -> None:
    assert task.manifest.lower_is_better
    model = Told(
        solutions=(writes(0), writes(1), writes(2)),
        reviews=(says(0.5), says(0.2, lower_is_better=False), says(0.9)),
    )
    outcome, session = await play(task, backend, model, 6, protocol)
    assert outcome.status is EpisodeStatus.MAX_TURNS
    kinds = [turn.action.kind for turn in outcome.turns if turn.action]
    assert kinds == ["python", "review"] * 3
    selected = session.submissions.selected()
    assert selected is not None
    assert selected.step == 1
    assert "A plan." in model.heard[2]
    assert "Validation score: 0.5" in model.heard[2]


async def test_no_bug_is_believed_of_a_run_without_a_valid_submission(task: Task, backend: LocalBackend) -> None:
    model = Told(
        solutions=(solution("print('done')"), solution("raise ValueError"), solution("open('submission.csv', 'w')")),
        reviews=(says(0.1),),
    )
    outcome, session = await play(task, backend, model, 6)
    assert not session.submissions.grade().valid
    assert "Your solutions so far" not in model.heard[-2]
    assert [turn.step.status for turn in outcome.turns if turn.step] == ["ok", "error", "ok"]


async def test_bad_replies(task: Task, backend: LocalBackend) -> None:
    outcome, _ = await play(task, backend, Told(solutions=("no script",), reviews=()), 20)
    assert outcome.status is EpisodeStatus.FORMAT_ABORT
    assert [turn.format_ok for turn in outcome.turns] == [False] * 3
    model = Told(solutions=("oops", writes(0)), reviews=("what?", says(0.3)))
    outcome, session = await play(task, backend, model, 5)
    assert [turn.format_ok for turn in outcome.turns] == [False, True, False, True]
    assert session.submissions.grade().valid


async def test_a_turn_that_could_not_be_reviewed_is_not_begun(task: Task, backend: LocalBackend) -> None:
    outcome, _ = await play(task, backend, Told(solutions=(writes(0),), reviews=(says(0.3),)), 5)
    assert len(outcome.turns) == 4


async def test_a_scripted_policy_speaks_it(task: Task, backend: LocalBackend) -> None:
    outcome, session = await play(task, backend, make_policy("scripted:linear").model, 6)
    assert session.submissions.grade().valid
    assert [turn.format_ok for turn in outcome.turns] == [True] * 6
    ran = [turn for turn in outcome.turns if turn.step]
    assert "rows written" in ran[0].observation
    assert "nothing to add" in ran[1].observation


async def test_a_forked_thread_replays_its_sandbox(task: Task) -> None:
    compiled = builder().compile(checkpointer=InMemorySaver(), interrupt_after=["review"])
    context = {"task": str(task.root), "model": "scripted:dummy", "turns": 4}
    config = {"configurable": {"thread_id": "t"}}
    await compiled.ainvoke({}, config, context=context)
    reviewed = (await compiled.aget_state(config)).config
    grades = []
    for start in (config, reviewed):
        await compiled.ainvoke(None, start, context=context)
        while (await compiled.aget_state(config)).next:
            await compiled.ainvoke(None, config, context=context)
        grades.append(AideState.model_validate((await compiled.aget_state(config)).values).grade)
    assert grades[0] is not None
    assert grades[0].valid
    assert grades[0] == grades[1]
