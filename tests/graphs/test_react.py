"""The ReAct graph with scripted policies in real sandboxes, driven by a scaffold and by a JSON context as in Studio."""

from __future__ import annotations

from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from sandmle.agents.chat import make_policy
from sandmle.agents.session import AgentSession
from sandmle.errors import BadInput
from sandmle.graphs.conversation import ConversationState
from sandmle.graphs.episode import Reply
from sandmle.graphs.react import graph, react
from sandmle.graphs.scaffold import Budget, get_scaffold, scaffold_names
from sandmle.sandboxes import LocalBackend
from sandmle.seeds import get_seed, materialize
from sandmle.task import Task
from sandmle.trajectory import EpisodeStatus, Turn


@pytest.fixture(scope="session")
def backend() -> LocalBackend:
    return LocalBackend(concurrency=2, allow_unisolated=True)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Task]:
    out = tmp_path_factory.mktemp("tasks")
    return {name: materialize(get_seed(name), out) for name in ("iris", "wine", "breast-cancer", "diabetes", "digits")}


@pytest.mark.parametrize(
    ("seed", "policy"),
    [
        *((seed, "scripted:dummy") for seed in ("iris", "wine", "breast-cancer", "diabetes", "digits")),
        ("iris", "scripted:linear"),
        ("breast-cancer", "scripted:gbdt"),
        ("diabetes", "scripted:best"),
    ],
)
async def test_scripted_episodes(seed: str, policy: str, tasks: dict[str, Task], backend: LocalBackend) -> None:
    recorder: list[Turn] = []
    async with await AgentSession.open(tasks[seed], backend, "train") as session:
        outcome = await get_scaffold("react").rollout(make_policy(policy).model, session, Budget(), recorder=recorder)
    assert outcome.status is EpisodeStatus.ANSWERED
    assert [turn.action.kind for turn in outcome.turns if turn.action] == ["python", "python", "score", "answer"]
    assert all(turn.format_ok for turn in outcome.turns)
    assert [turn.index for turn in recorder] == [0, 1, 2, 3]
    assert session.submissions.grade().valid
    assert not session.leaked
    assert [message.role for message in outcome.turns[0].messages] == ["system", "user"]
    assert outcome.turns[2].messages[0].content == f"<tool_response>\n{outcome.turns[1].observation}\n</tool_response>"


async def test_a_lost_sandbox_is_an_infrastructure_error_and_keeps_the_turn(
    tasks: dict[str, Task], backend: LocalBackend
) -> None:
    async with await AgentSession.open(tasks["iris"], backend, "clean") as session:
        await session._sandbox.aclose()
        recorder: list[Turn] = []
        model = make_policy("scripted:dummy").model
        outcome = await get_scaffold("react").rollout(model, session, Budget(), recorder=recorder)
    assert outcome.status is EpisodeStatus.INFRA_ERROR
    assert outcome.reason
    assert len(recorder) == 1


async def test_a_json_context_opens_its_own_session_and_grades_it(tasks: dict[str, Task]) -> None:
    context = {"task": str(tasks["iris"].root), "model": "scripted:dummy", "protocol": "train", "turns": 9}
    state = ConversationState.model_validate(await graph.ainvoke({}, context=context))
    assert state.status is EpisodeStatus.ANSWERED
    assert state.grade is not None
    assert state.grade.valid


async def test_a_forked_thread_replays_its_sandbox(tasks: dict[str, Task]) -> None:
    compiled = react.builder().compile(checkpointer=InMemorySaver(), interrupt_after=["act"])
    context = {"task": str(tasks["iris"].root), "model": "scripted:dummy"}
    config = {"configurable": {"thread_id": "t"}}
    await compiled.ainvoke({}, config, context=context)
    await compiled.ainvoke(None, config, context=context)  # the submission is written
    written = (await compiled.aget_state(config)).config
    while (await compiled.aget_state(config)).next:
        await compiled.ainvoke(None, config, context=context)
    first = ConversationState.model_validate((await compiled.aget_state(config)).values)
    assert first.grade is not None
    await compiled.ainvoke(None, written, context=context)  # again from there: its session is closed by now
    while (await compiled.aget_state(config)).next:
        await compiled.ainvoke(None, config, context=context)
    second = ConversationState.model_validate((await compiled.aget_state(config)).values)
    assert second.grade == first.grade
    assert [turn.observation for turn in second.turns] == [turn.observation for turn in first.turns]


async def test_a_thread_that_was_forked_does_not_get_the_sandbox_of_its_fork(tasks: dict[str, Task]) -> None:
    compiled = react.builder().compile(checkpointer=InMemorySaver(), interrupt_after=["act"])
    context = {"task": str(tasks["iris"].root), "model": "scripted:dummy"}
    config = {"configurable": {"thread_id": "t"}}
    await compiled.ainvoke({}, config, context=context)
    looked = (await compiled.aget_state(config)).config
    await compiled.ainvoke(None, config, context=context)
    written = await compiled.aget_state(config)
    other = await compiled.aupdate_state(
        looked, {"reply": Reply(text="<tool_call>\npython\n<code>\nprint(1)\n</code>\n</tool_call>")}, as_node="think"
    )
    await compiled.ainvoke(None, other, context=context)  # the fork plays its second turn: no submission
    await compiled.ainvoke(None, written.config, context=context)
    scored = ConversationState.model_validate((await compiled.aget_state(config)).values)
    assert scored.turns[1].observation == ConversationState.model_validate(written.values).turns[1].observation
    assert scored.turns[2].observation == "[submission: valid]"


async def test_bad_contexts(tmp_path: Path, tasks: dict[str, Task]) -> None:
    with pytest.raises(BadInput, match="needs a context"):
        await graph.ainvoke({})
    with pytest.raises(BadInput, match="no such task folder"):
        await graph.ainvoke({}, context={"task": str(tmp_path / "none")})
    with pytest.raises(BadInput, match="unknown policy"):
        await graph.ainvoke({}, context={"task": str(tasks["iris"].root), "model": "magic"})


def test_schemas_and_drawing() -> None:
    assert set(graph.get_context_jsonschema()["properties"]) == {"task", "model", "base_url", "protocol", "turns"}
    assert "turns" in graph.get_input_jsonschema()["properties"]
    drawn = graph.get_graph().draw_mermaid()
    for edge in ("begin --> think", "think -.-> act", "think -.-> finish", "act -.-> think", "act -.-> finish"):
        assert edge in drawn.replace("&nbsp;", "")


def test_names() -> None:
    assert scaffold_names() == ("aide", "mle-agent", "react")
    with pytest.raises(BadInput, match="unknown scaffold 'aida'; choose from aide, mle-agent, react"):
        get_scaffold("aida")
    with pytest.raises(BadInput, match="turns must be positive"):
        Budget(turns=0)
