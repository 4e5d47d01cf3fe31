"""Calls against an OpenAI-compatible server on 127.0.0.1: paid once, repeated patiently, counted, and bounded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from sandmle.agents.llm import ModelCalls, ModelSettings, Spending, TeamSettings, metered
from sandmle.agents.llm._asking import RolePlayer
from sandmle.agents.llm._cache import Sample
from sandmle.agents.llm._reading import Unusable
from sandmle.agents.roles import RoleFailure
from sandmle.errors import EnvironmentProblem, InfraError

ASKED = [HumanMessage("hello")]
SAMPLE = Sample(role="writer", seed=1, candidate=2, attempt=0)
BUSY = (429, json.dumps({"error": {"message": "slow down"}}))


def model(endpoint, **changes) -> ModelSettings:
    plain = {"name": "m", "base_url": endpoint.url, "first_delay_s": 0.001, "timeout_s": 5, "tries": 3}
    return ModelSettings(**plain | {"input_price": 2.0, "output_price": 10.0} | changes)


async def test_a_reply_is_paid_once_also_by_a_later_process(endpoint, completion, tmp_path: Path) -> None:
    endpoint.answers = [completion("hi")]
    for _ in range(2):
        calls = ModelCalls(TeamSettings(), tmp_path)
        with metered() as spent:
            assert (await calls.call(model(endpoint), ASKED, SAMPLE)).text == "hi"
        assert spent == [Spending(calls=1, tokens=107, money=(100 * 2 + 7 * 10) / 1e6)]
        assert calls.total == spent[0]
    assert len(endpoint.requests) == 1
    offline = ModelCalls(TeamSettings(), tmp_path / "other", cache=tmp_path / "replies", offline=True)
    assert (await offline.call(model(endpoint), ASKED, SAMPLE)).text == "hi"


@pytest.mark.parametrize("change", [{"candidate": 3}, {"attempt": 1}, {"repair": 1}, {"seed": 2}, {"role": "reviewer"}])
async def test_another_sample_is_another_call(endpoint, completion, tmp_path: Path, change) -> None:
    endpoint.answers = [completion("one"), completion("two")]
    calls = ModelCalls(TeamSettings(), tmp_path)
    assert (await calls.call(model(endpoint), ASKED, SAMPLE)).text == "one"
    assert (await calls.call(model(endpoint), ASKED, SAMPLE.model_copy(update=change))).text == "two"


@pytest.mark.parametrize("change", [{"name": "n"}, {"temperature": 0.1}, {"max_tokens": 99}, {"extra_body": {"a": 1}}])
async def test_another_model_or_sampling_is_another_call(endpoint, completion, tmp_path: Path, change) -> None:
    endpoint.answers = [completion("one"), completion("two")]
    calls = ModelCalls(TeamSettings(), tmp_path)
    assert (await calls.call(model(endpoint), ASKED, SAMPLE)).text == "one"
    assert (await calls.call(model(endpoint, **change), ASKED, SAMPLE)).text == "two"


async def test_offline_sends_nothing(endpoint, completion, tmp_path: Path) -> None:
    endpoint.answers = [completion("hi")]
    calls = ModelCalls(TeamSettings(), tmp_path, offline=True)
    with pytest.raises(EnvironmentProblem, match="no reply for writer on candidate 2"):
        await calls.call(model(endpoint), ASKED, SAMPLE)
    assert endpoint.requests == []


async def test_a_storm_of_429_and_a_hang_are_sat_out(endpoint, completion, hang, tmp_path: Path) -> None:
    endpoint.answers = [BUSY, BUSY, hang, (503, "{}"), completion("hi")]
    calls = ModelCalls(TeamSettings(), tmp_path)
    reply = await calls.call(model(endpoint, tries=5, timeout_s=0.3), ASKED, SAMPLE)
    assert reply.text == "hi"
    (line,) = (tmp_path / "calls.jsonl").read_text().splitlines()
    assert json.loads(line)["tries"] == 5


async def test_a_provider_that_stays_down_stops_the_batch(endpoint, tmp_path: Path) -> None:
    endpoint.answers = [BUSY]
    with pytest.raises(InfraError, match="given up after 3 tries"):
        await ModelCalls(TeamSettings(), tmp_path).call(model(endpoint), ASKED, SAMPLE)
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize("budget", [{"batch_tokens": 200}, {"batch_money": 0.0005}])
async def test_a_used_budget_stops_the_next_call(endpoint, completion, tmp_path: Path, budget) -> None:
    endpoint.answers = [completion("hi")]
    calls = ModelCalls(TeamSettings(**budget), tmp_path)
    for candidate in range(2):
        await calls.call(model(endpoint), ASKED, SAMPLE.model_copy(update={"candidate": candidate}))
    again = ModelCalls(TeamSettings(**budget), tmp_path)
    with pytest.raises(EnvironmentProblem, match="the batch has"):
        await again.call(model(endpoint), ASKED, SAMPLE)
    assert len(endpoint.requests) == 2


async def test_keys_stay_out_of_every_file(endpoint, completion, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-very-secret")
    endpoint.answers = [BUSY, completion("hi")]
    await ModelCalls(TeamSettings(), tmp_path).call(model(endpoint, key_variable="SOME_KEY"), ASKED, SAMPLE)
    assert endpoint.headers[0]["authorization"] == "Bearer sk-very-secret"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 2
    assert not any("very-secret" in path.read_text() for path in files)


async def test_a_missing_key_is_named(endpoint, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="NO_SUCH_KEY"):
        await ModelCalls(TeamSettings(), tmp_path).call(model(endpoint, key_variable="NO_SUCH_KEY"), ASKED, SAMPLE)


async def test_a_ledger_that_a_kill_cut_short_is_read(endpoint, completion, tmp_path: Path) -> None:
    endpoint.answers = [completion("hi")]
    await ModelCalls(TeamSettings(), tmp_path).call(model(endpoint), ASKED, SAMPLE)
    with (tmp_path / "calls.jsonl").open("a") as stream:
        stream.write('{"key": "half')
    calls = ModelCalls(TeamSettings(), tmp_path)
    assert calls.total.calls == 1
    await calls.call(model(endpoint), ASKED, SAMPLE.model_copy(update={"candidate": 9}))
    assert ModelCalls(TeamSettings(), tmp_path).total.calls == 2


def digits(text: str) -> int:
    if not text.isdecimal():
        raise Unusable("give digits")
    return int(text)


def player(endpoint, folder: Path, repairs: int = 2) -> RolePlayer:
    return RolePlayer("writer", model(endpoint), ModelCalls(TeamSettings(), folder), repairs, 0)


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"content": "seven"}, "give digits"),
        ({"content": None, "refusal": "I must not."}, "you refused: I must not."),
        ({"content": "  "}, "the reply was empty"),
    ],
)
async def test_a_reply_that_can_not_be_used_is_asked_for_again(
    endpoint, completion, tmp_path: Path, bad, told: str
) -> None:
    endpoint.answers = [completion(**bad), completion("7")]
    assert await player(endpoint, tmp_path).ask("count", digits, candidate=0, attempt=0) == 7
    roles = [message["role"] for message in endpoint.requests[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert told in endpoint.requests[-1]["messages"][-1]["content"]


async def test_a_reply_that_was_cut_is_asked_for_again(endpoint, completion, tmp_path: Path) -> None:
    cut = completion("12345")
    cut["choices"][0]["finish_reason"] = "length"
    endpoint.answers = [cut, completion("7")]
    assert await player(endpoint, tmp_path).ask("count", digits, candidate=0, attempt=0) == 7
    assert "cut at the limit" in endpoint.requests[-1]["messages"][-1]["content"]


async def test_a_role_fails_after_its_repairs_with_the_last_reason(endpoint, completion, tmp_path: Path) -> None:
    endpoint.answers = [completion("no")]
    with pytest.raises(RoleFailure, match="the writer gave no usable reply in 3 tries: give digits"):
        await player(endpoint, tmp_path).ask("count", digits, candidate=0, attempt=0)
    assert len(endpoint.requests) == 3


async def test_a_prompt_that_is_too_long_is_the_roles_failure(endpoint, tmp_path: Path) -> None:
    endpoint.answers = [(400, json.dumps({"error": {"message": "maximum context length is 10 tokens"}}))]
    with pytest.raises(RoleFailure, match="longer than the model's context"):
        await player(endpoint, tmp_path).ask("count", digits, candidate=0, attempt=0)
