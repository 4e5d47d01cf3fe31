"""The real ChatOpenAI client and the whole ReAct loop against an OpenAI-compatible server on 127.0.0.1."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from sandmle.agents.chat import ContextOverflow, ModelTimeout, make_policy
from sandmle.agents.chat import openai as endpoint_module
from sandmle.agents.chat.openai import EndpointChat, endpoint_model
from sandmle.agents.session import AgentSession
from sandmle.errors import EnvironmentProblem, InfraError
from sandmle.graphs.react import ReAct
from sandmle.graphs.scaffold import Budget, Outcome, get_scaffold
from sandmle.sandboxes import LocalBackend
from sandmle.settings import get_settings
from sandmle.task import Task
from sandmle.trajectory import EpisodeStatus, TokenFields, Turn, Usage

LOOK = "<think>look</think><tool_call>python\n<code>\nprint('seen ' * 3)\n</code></tool_call>"
SUBMIT = """<think>write</think>
<tool_call>
python
<code>
open("submission.csv", "w").write("id,y\\n" + "".join(f"{i},{i}\\n" for i in range(10)))
</code>
</tool_call>"""
ANSWER = "<think>done</think><answer>submission</answer>"
BUDGET = Budget(turns=6, model_seconds=20)


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "SANDMLE_API_KEY", "SANDMLE_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    get_settings.cache_clear()
    yield
    get_settings.cache_clear()


def model(endpoint, **options) -> EndpointChat:
    return endpoint_model("m", base_url=endpoint.url, **{"max_retries": 2} | options)


async def roll(
    chat: EndpointChat, task: Task, backend: LocalBackend, budget: Budget = BUDGET, scaffold: str = "react"
) -> tuple[Outcome, AgentSession]:
    recorder: list[Turn] = []
    async with await AgentSession.open(task, backend, "clean") as session:
        outcome = await get_scaffold(scaffold).rollout(chat, session, budget, recorder=recorder)
    assert tuple(recorder) == outcome.turns
    return outcome, session


async def test_a_whole_episode(endpoint, completion, task: Task, backend: LocalBackend) -> None:
    endpoint.answers = [completion(LOOK), completion("What?"), completion(SUBMIT), completion(ANSWER)]
    policy = make_policy("openai:m", base_url=endpoint.url, temperature=0.5)
    assert (policy.name, policy.privileged, policy.scripted) == ("openai:m", False, False)
    outcome, session = await roll(policy.model, task, backend)
    assert outcome.status is EpisodeStatus.ANSWERED
    assert [turn.format_ok for turn in outcome.turns] == [True, False, True, True]
    assert [turn.usage for turn in outcome.turns] == [Usage(prompt_tokens=100, completion_tokens=7)] * 4
    assert session.submissions.grade().score == 0
    sent = endpoint.requests[-1]
    assert sent["temperature"] == 0.5
    assert "seed" not in sent
    assert [message["role"] for message in sent["messages"]] == ["system", *["user", "assistant"] * 3, "user"]
    assert "seen seen seen" in sent["messages"][3]["content"]
    assert "no action" in sent["messages"][5]["content"]
    assert endpoint.headers[0]["authorization"] == "Bearer EMPTY"
    # every prompt is what the turns say it was
    said = [message.model_dump() for turn in outcome.turns[:-1] for message in turn.messages]
    assert [message for message in sent["messages"] if message["role"] != "assistant"][: len(said)] == said


async def test_429_then_ok(endpoint, completion, task: Task, backend: LocalBackend) -> None:
    busy = (429, json.dumps({"error": {"message": "slow down"}}))
    endpoint.answers = [busy, (503, "{}"), completion(ANSWER)]
    outcome, _ = await roll(model(endpoint), task, backend)
    assert outcome.status is EpisodeStatus.ANSWERED
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    "answer",
    [
        (500, json.dumps({"error": {"message": "boom"}})),
        (429, "{}"),
        (200, "<html>login</html>"),
        (200, "{}"),
        (200, json.dumps({"choices": None})),
        (200, json.dumps({"choices": []})),
        (200, json.dumps({"choices": [{"index": 0}]})),
        (200, json.dumps({"error": "out of memory"})),
        (422, "{}"),
    ],
)
async def test_a_broken_endpoint_is_an_infrastructure_error(
    endpoint, completion, task: Task, backend: LocalBackend, answer
) -> None:
    endpoint.answers = [completion(LOOK), answer]
    outcome, _ = await roll(model(endpoint), task, backend)
    assert outcome.status is EpisodeStatus.INFRA_ERROR
    assert "endpoint http://127.0.0.1" in outcome.reason
    assert "\n" not in outcome.reason
    assert len(outcome.turns) == 1  # the finished turn survives


async def test_a_refused_connection_is_an_infrastructure_error(endpoint, task: Task, backend: LocalBackend) -> None:
    chat = model(endpoint, max_retries=0)
    endpoint.server.server_close()
    outcome, _ = await roll(chat, task, backend)
    assert outcome.status is EpisodeStatus.INFRA_ERROR


async def test_a_hanging_endpoint_is_a_model_timeout(
    endpoint, completion, hang, task: Task, backend: LocalBackend
) -> None:
    endpoint.answers = [completion(LOOK), hang]
    outcome, _ = await roll(model(endpoint), task, backend, replace(BUDGET, model_seconds=1.0))
    assert outcome.status is EpisodeStatus.MODEL_TIMEOUT
    assert outcome.reason == "no reply within 1 s"
    assert len(outcome.turns) == 1


async def test_the_wall_budget_ends_a_hanging_call_too(endpoint, hang, task: Task, backend: LocalBackend) -> None:
    endpoint.answers = [hang]
    outcome, _ = await roll(model(endpoint), task, backend, replace(BUDGET, wall_seconds=0.5))
    assert outcome.status is EpisodeStatus.WALL_BUDGET


async def test_the_clients_own_timeout_is_a_model_timeout(endpoint, hang, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "REQUEST_SECONDS", 0.3)
    endpoint.answers = [hang]
    with pytest.raises(ModelTimeout, match="no answer"):
        await model(endpoint, max_retries=0).ainvoke("hello")


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        "context_length_exceeded",
        "The prompt is too long: 5000, model maximum context length: 4096",
    ],
)
async def test_a_full_context_is_the_token_budget(endpoint, task: Task, backend: LocalBackend, message: str) -> None:
    endpoint.answers = [(400, json.dumps({"error": {"message": message, "code": 400}}))]
    with pytest.raises(ContextOverflow):
        await model(endpoint).ainvoke("hello")
    outcome, _ = await roll(model(endpoint), task, backend)
    assert outcome.status is EpisodeStatus.TOKEN_BUDGET


@pytest.mark.parametrize(
    ("status", "said"), [(401, "key was refused"), (403, "key was refused"), (404, "no such model")]
)
async def test_what_the_user_must_mend_is_raised(
    endpoint, task: Task, backend: LocalBackend, status: int, said: str
) -> None:
    endpoint.answers = [(status, json.dumps({"error": {"message": "no"}}))]
    with pytest.raises(EnvironmentProblem, match=said):
        await roll(model(endpoint), task, backend)


async def test_three_faults_in_a_row_abort(endpoint, completion, task: Task, backend: LocalBackend) -> None:
    endpoint.answers = [completion("?"), completion("?"), completion(LOOK), completion(None)]
    outcome, _ = await roll(model(endpoint), task, backend, replace(BUDGET, turns=20))
    assert outcome.status is EpisodeStatus.FORMAT_ABORT
    assert len(outcome.turns) == 3 + ReAct.faults_in_a_row
    assert outcome.turns[-1].observation.startswith("[format] ")


async def test_turns_are_bounded(endpoint, completion, task: Task, backend: LocalBackend) -> None:
    endpoint.answers = [completion(LOOK)]
    outcome, _ = await roll(model(endpoint), task, backend, replace(BUDGET, turns=3))
    assert outcome.status is EpisodeStatus.MAX_TURNS
    assert len(outcome.turns) == len(endpoint.requests) == 3


async def test_old_observations_are_pruned(endpoint, completion, task: Task, backend: LocalBackend) -> None:
    noisy = LOOK.replace("'seen ' * 3", "'x' * 5000")
    reply = completion(noisy)
    reply["usage"] = None  # an endpoint that doesn't count: the estimate stands
    endpoint.answers = [reply]
    outcome, _ = await roll(model(endpoint), task, backend, replace(BUDGET, turns=5, prompt_tokens=3_600))
    assert outcome.status is EpisodeStatus.MAX_TURNS
    assert outcome.pruned > 0
    contents = [message["content"] for message in endpoint.requests[-1]["messages"]]
    assert "left out to fit" in contents[3]
    assert "xxx" in contents[-1]
    assert contents[:2] == [message.content for message in outcome.turns[0].messages]


def replies(scaffold: str, code: str) -> str:
    """Code as the scaffold's agent runs it."""
    if scaffold == "react":
        return f"<think>t</think><tool_call>python\n<code>\n{code}\n</code></tool_call>"
    return json.dumps({"action": "execute_code", "params": {"code": code}})


@pytest.mark.parametrize("scaffold", ["react", "mle-agent"])
async def test_the_task_and_the_code_of_the_last_submission_are_never_left_out(
    endpoint, completion, task: Task, backend: LocalBackend, scaffold: str
) -> None:
    write = "open('submission.csv', 'w').write('id,y\\n' + ''.join(f'{i},{i}\\n' for i in range(10)))"
    looks = [f"print('{letter}' * 2000)  # {letter * 2000}" for letter in "abcdef"]
    codes = [looks[0], f"# first\n{write}", looks[1], f"# second\n{write}", *looks[2:]]
    endpoint.answers = [completion(replies(scaffold, code)) | {"usage": None} for code in codes]
    outcome, _ = await roll(model(endpoint), task, backend, replace(BUDGET, turns=8, prompt_tokens=2_700), scaffold)
    assert outcome.status is EpisodeStatus.MAX_TURNS
    prompts = [[message["content"] for message in request["messages"]] for request in endpoint.requests]
    opening = [message.content for message in outcome.turns[0].messages]
    assert all(prompt[: len(opening)] == opening for prompt in prompts)
    assert all(any("# second" in said for said in prompt) for prompt in prompts[4:])
    assert not any("# first" in said for said in prompts[-1])
    assert outcome.pruned > len(looks)  # observations, and replies too


async def test_where_the_endpoint_has_less_room_the_oldest_is_left_out_too(
    endpoint, completion, task: Task, backend: LocalBackend
) -> None:
    noisy = completion(LOOK.replace("'seen ' * 3", "'x' * 5000")) | {"usage": None}
    full = (400, json.dumps({"error": {"message": "maximum context length is 2048 tokens"}}))
    endpoint.answers = [noisy, noisy, noisy, full, full, noisy, completion(ANSWER)]
    outcome, _ = await roll(model(endpoint), task, backend)
    assert outcome.status is EpisodeStatus.ANSWERED
    sizes = [sum(len(message["content"]) for message in request["messages"]) for request in endpoint.requests]
    assert sizes[2] < sizes[3]
    assert sizes[3] > sizes[4] > sizes[5]
    assert sizes[6] < sizes[4]  # what was learned is kept
    assert outcome.pruned >= 2


async def test_aide_leaves_out_its_oldest_solutions_where_the_endpoint_has_less_room(
    endpoint, completion, task: Task, backend: LocalBackend
) -> None:
    plan = "I fit a line. " * 300
    solution = completion(f"{plan}\n\n```python\n{SUBMIT.split('<code>')[1].split('</code>')[0]}```")
    review = completion(json.dumps({"is_bug": False, "summary": "It ran.", "metric": 0.5}))
    full = (400, json.dumps({"error": {"message": "maximum context length is 2048 tokens"}}))
    endpoint.answers = [solution, review, solution, review, full, full, solution, review]
    outcome, _ = await roll(model(endpoint), task, backend, scaffold="aide")
    assert [turn.format_ok for turn in outcome.turns] == [True] * 6
    shown = [request["messages"][0]["content"].count("Design:") for request in endpoint.requests]
    assert shown[2] == 1
    assert shown[4] == 2
    assert shown[6] < 2
    assert outcome.pruned == 2 - shown[6]


@pytest.mark.parametrize("scaffold", ["react", "mle-agent", "aide"])
async def test_an_episode_ends_with_its_tokens(
    endpoint, completion, task: Task, backend: LocalBackend, scaffold: str
) -> None:
    said = LOOK if scaffold == "react" else json.dumps({"action": "get_history", "params": {}})
    endpoint.answers = [completion(said)]
    outcome, _ = await roll(model(endpoint), task, backend, replace(BUDGET, tokens=200), scaffold)
    assert outcome.status is EpisodeStatus.TOKEN_BUDGET
    assert outcome.reason == "the episode used 214 of its 200 tokens"
    assert len(endpoint.requests) == 2


async def test_a_prompt_that_never_fits_is_the_token_budget(
    endpoint, completion, task: Task, backend: LocalBackend
) -> None:
    endpoint.answers = [completion(LOOK)]
    outcome, _ = await roll(model(endpoint), task, backend, replace(BUDGET, prompt_tokens=50))
    assert outcome.status is EpisodeStatus.TOKEN_BUDGET
    assert endpoint.requests == []


async def test_cancellation_leaves_the_finished_turns(
    endpoint, completion, hang, task: Task, backend: LocalBackend
) -> None:
    endpoint.answers = [completion(LOOK), hang]
    recorder: list[Turn] = []
    async with await AgentSession.open(task, backend, "clean") as session:
        work = asyncio.create_task(get_scaffold("react").rollout(model(endpoint), session, BUDGET, recorder=recorder))
        await asyncio.to_thread(endpoint.wait_for, 2)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    assert [turn.action.kind for turn in recorder] == ["python"]


async def test_vllms_extras_are_kept(endpoint, completion, task: Task, backend: LocalBackend) -> None:
    answer = completion("<answer>submission</answer>", reasoning_content="I am sure.")
    answer["prompt_token_ids"] = [1, 2, 3]
    answer["choices"][0]["token_ids"] = [4, 5]
    answer["choices"][0]["logprobs"] = {"content": [{"token": "a", "logprob": -0.5}, {"token": "b", "logprob": -1.0}]}
    endpoint.answers = [answer]
    outcome, _ = await roll(model(endpoint), task, backend)
    turn = outcome.turns[0]
    assert turn.reply == "<think>\nI am sure.\n</think>\n<answer>submission</answer>"
    assert turn.tokens == TokenFields(prompt_ids=(1, 2, 3), completion_ids=(4, 5), logprobs=(-0.5, -1.0))


def test_models_can_be_used_on_several_event_loops(endpoint, completion) -> None:
    endpoint.answers = [completion("hello")]
    for _ in range(2):
        assert asyncio.run(model(endpoint).ainvoke("hi")).text == "hello"


def test_no_key_and_no_address_is_one_clear_line() -> None:
    with pytest.raises(EnvironmentProblem, match=r"^openai:m needs an endpoint: .*--base-url$"):
        make_policy("openai:m")


async def test_key_and_address_from_the_environment(endpoint, completion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    get_settings.cache_clear()
    endpoint.answers = [completion("hello")]
    await make_policy("openai:m").model.ainvoke("hi")
    assert endpoint.headers[0]["authorization"] == "Bearer sk-mine"


async def test_a_malformed_answer_raises_infra_error(endpoint) -> None:
    endpoint.answers = [(200, "null")]
    with pytest.raises(InfraError, match="not a chat completion"):
        await model(endpoint).ainvoke("hi")
