"""MLE-Agent: what is an action, and whole episodes in real sandboxes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from sandmle.agents.chat import make_policy
from sandmle.agents.observation import escape_control, plain_text
from sandmle.agents.session import AgentSession
from sandmle.graphs.mle_agent import parse_action
from sandmle.graphs.parsing import FormatFault
from sandmle.graphs.scaffold import Budget, Outcome, get_scaffold
from sandmle.sandboxes import LocalBackend
from sandmle.seeds import get_seed, materialize
from sandmle.task import Task
from sandmle.trajectory import Action, EpisodeStatus, Protocol

SUBMIT = "import shutil; shutil.copy('input/sample_submission.csv', 'submission.csv')"


class Recited(BaseChatModel):
    """Says the given replies one after the other, the last one over and over."""

    replies: tuple[str, ...]
    heard: list[list[str]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "recited"

    def _generate(self, messages: list[BaseMessage], stop=None, run_manager=None, **kwargs: Any) -> ChatResult:
        said = self.replies[min(len(self.heard), len(self.replies) - 1)]
        self.heard.append([str(message.text) for message in messages])
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])


def act(name: str, **params: str) -> str:
    return json.dumps({"action": name, "params": params})


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    return LocalBackend(concurrency=2, allow_unisolated=True)


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return materialize(get_seed("iris"), tmp_path_factory.mktemp("tasks"))


async def play(
    task: Task, backend: LocalBackend, *replies: str, turns: int = 20, protocol: Protocol = "clean"
) -> tuple[Outcome, AgentSession, list[list[str]]]:
    model = Recited(replies=replies)
    async with await AgentSession.open(task, backend, protocol) as session:
        outcome = await get_scaffold("mle-agent").rollout(model, session, Budget(turns=turns), recorder=[])
    return outcome, session, model.heard


@pytest.mark.parametrize(
    ("text", "action"),
    [
        (act("execute_code", code="print(1)"), Action(kind="python", code="print(1)\n")),
        (f"```json\n{act('validate_code', code='x = 1')}\n```", Action(kind="validate", code="x = 1\n")),
        (f"<think>hm {{}}</think>\n{act('get_history')}", Action(kind="history")),
        ('{"action": "reset"}', Action(kind="reset")),
        ('so {"action": "x"}?</think>{"action": "reset"}', Action(kind="reset")),
        (act("request_info", info_type="overview"), Action(kind="info", topic="overview")),
    ],
)
def test_actions(text: str, action: Action) -> None:
    assert parse_action(text) == action


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no JSON object"),
        ("I would run the code.", "no JSON object"),
        ("[1]", "other keys"),
        (act("get_history") + act("reset"), "no JSON object"),
        ('{"action": "reset", "params": {}, "why": 1}', "other keys"),
        (act("score"), "no action 'score'"),
        ('{"action": ["reset"]}', "no action"),
        ('{"action": "reset", "params": 1}', "no object"),
        (act("execute_code"), "params of execute_code are code"),
        (act("execute_code", code=" "), "empty"),
        ('{"action": "execute_code", "params": {"code": 1}}', "no text"),
        (act("request_info", info_type="answers"), "no info_type"),
        (act("reset", hard="yes"), "params of reset are empty"),
    ],
)
def test_what_is_no_action(text: str, fault: str) -> None:
    found = parse_action(text)
    assert isinstance(found, FormatFault)
    assert fault in found.message


@given(
    st.text()
    | st.recursive(st.none() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)).map(json.dumps)
)
def test_nothing_raises(text: str) -> None:
    parse_action(text)


async def test_repairs_are_shown_until_an_action_came_and_forgotten_then(task: Task, backend: LocalBackend) -> None:
    replies = (act("get_history"), "oops", "again", act("execute_code", code=SUBMIT), act("get_history"))
    outcome, session, heard = await play(task, backend, *replies, turns=5)
    assert outcome.status is EpisodeStatus.MAX_TURNS
    assert [turn.format_ok for turn in outcome.turns] == [True, False, False, True, True]
    assert [len(messages) for messages in heard] == [1, 3, 5, 7, 5]
    assert "oops" in heard[3]
    assert not any("oops" in message or "[format]" in message for message in heard[4])
    assert session.submissions.grade().valid
    assert "execute_code: " in outcome.turns[-1].observation


async def test_four_bad_replies_in_a_row_end_the_episode(task: Task, backend: LocalBackend) -> None:
    outcome, _, _ = await play(task, backend, "no")
    assert outcome.status is EpisodeStatus.FORMAT_ABORT
    assert len(outcome.turns) == 4


async def test_what_is_validated_does_not_count_and_what_is_executed_does(task: Task, backend: LocalBackend) -> None:
    outcome, session, _ = await play(task, backend, act("validate_code", code=SUBMIT), turns=2)
    assert "[submission" not in outcome.turns[0].observation
    assert session.submissions.grade().error is not None
    outcome, session, _ = await play(task, backend, act("execute_code", code=SUBMIT), turns=2)
    assert outcome.turns[0].observation.endswith("[submission: valid]")
    assert session.submissions.grade().valid


async def test_information_history_and_reset(task: Task, backend: LocalBackend) -> None:
    topics = ("overview", "sample_submission", "data_structure", "data_path", "output_path")
    replies = [act("request_info", info_type=topic) for topic in topics]
    replies += [act("execute_code", code="open('kept.txt', 'w').write('x')"), act("reset"), act("get_history")]
    replies += [act("execute_code", code="import os; print(sorted(os.listdir()))")]
    outcome, _, _ = await play(task, backend, *replies, turns=9)
    told = [turn.observation for turn in outcome.turns]
    assert told[0] == escape_control(plain_text((task.public / "description.md").read_text()))
    assert told[1].splitlines()[0] == (task.public / "sample_submission.csv").read_text().splitlines()[0]
    assert "input/train.csv (" in told[2]
    assert told[3:5] == ["/workspace/input", "/workspace/submission.csv"]
    assert told[6] == "[reset: the history is forgotten; the working folder is empty]"
    assert told[7] == "[nothing was done yet]"
    assert "kept.txt" not in told[8]
    assert "input" in told[8]


@pytest.mark.parametrize("protocol", ["clean", "train", "paper"])
async def test_each_protocol_tells_what_it_may(task: Task, backend: LocalBackend, protocol: Protocol) -> None:
    outcome, session, _ = await play(task, backend, act("execute_code", code=SUBMIT), turns=1, protocol=protocol)
    told = outcome.turns[0].observation
    assert session.submissions.grade().valid
    assert {"clean": "[submission: valid]", "train": "public score: ", "paper": "] score: "}[protocol] in told


@pytest.mark.parametrize("policy", ["scripted:dummy", "scripted:linear"])
async def test_scripted_policies_speak_it(task: Task, backend: LocalBackend, policy: str) -> None:
    async with await AgentSession.open(task, backend, "clean") as session:
        outcome = await get_scaffold("mle-agent").rollout(
            make_policy(policy).model, session, Budget(turns=4), recorder=[]
        )
    kinds = [turn.action.kind for turn in outcome.turns if turn.action]
    assert kinds == ["validate", "python", "history", "history"]
    assert session.submissions.grade().valid
