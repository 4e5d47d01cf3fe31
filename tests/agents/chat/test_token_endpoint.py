"""The engine behind /v1/completions against an endpoint that does as the test says; tests/rl has the real server."""

import json

import pytest

from sandmle.agents.chat import ContextOverflow, ModelTimeout
from sandmle.agents.chat.tokens import Sample, SamplingSettings
from sandmle.agents.chat.tokens.endpoint import TokenEndpoint
from sandmle.errors import EnvironmentProblem, InfraError

PROMPT = (5, 6)


def answer(**changes):
    choice = {"index": 0, "finish_reason": "stop", "text": "ab", "token_ids": [7, 9]}
    choice |= {"prompt_token_ids": [5, 6], "logprobs": {"tokens": ["a", "b"], "token_logprobs": [-0.5, -0.25]}}
    return {"id": "c", "object": "text_completion", "created": 0, "model": "m", "choices": [choice | changes]}


async def ask(endpoint, *answers, **options):
    endpoint.answers = list(answers)
    engine = TokenEndpoint("m", base_url=endpoint.url, seed=3, **options)
    try:
        with engine.player():
            return await engine.sample(PROMPT, SamplingSettings(max_new_tokens=4), 9, key="a")
    finally:
        await engine.aclose()


async def test_ids_go_out_and_ids_with_logprobs_come_back(endpoint):
    assert await ask(endpoint, answer()) == Sample((7, 9), (-0.5, -0.25), None)
    (sent,) = endpoint.requests
    assert sent["prompt"] == [5, 6]
    assert (sent["max_tokens"], sent["temperature"], sent["stop_token_ids"]) == (4, 1.0, [9])
    assert (sent["top_p"], sent["top_k"], sent["min_p"], sent["repetition_penalty"]) == (1.0, -1, 0.0, 1.0)


async def test_ids_are_read_from_the_names_of_tokens_where_a_gateway_left_them_out(endpoint):
    named = {"tokens": ["token_id:7", "token_id:9"], "token_logprobs": [-0.5, -0.25]}
    assert await ask(endpoint, answer(token_ids=None, prompt_token_ids=None, logprobs=named)) == Sample(
        (7, 9), (-0.5, -0.25), None
    )
    assert endpoint.requests[0]["return_tokens_as_token_ids"] is True


async def test_a_call_is_seeded_by_its_key(endpoint):
    for _ in range(2):
        await ask(endpoint, answer())
    first, second = (sent["seed"] for sent in endpoint.requests)
    assert first == second < 2**32


async def test_a_busy_endpoint_is_asked_again(endpoint):
    busy = (429, json.dumps({"error": {"message": "busy"}}))
    assert (await ask(endpoint, busy, busy, answer())).ids == (7, 9)
    assert len(endpoint.requests) == 3


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        (answer(token_ids=None), InfraError, "return_token_ids"),
        (answer(logprobs=None), InfraError, "no token ids with log-probabilities"),
        (
            answer(token_ids=None, logprobs={"tokens": ["4", "2"], "token_logprobs": [-0.5, -0.25]}),
            InfraError,
            "not by their ids",
        ),
        (answer(token_ids=[7]), InfraError, "1 ids with 2 log-probabilities"),
        (answer(prompt_token_ids=[5, 5]), InfraError, "sent one prompt and answers another"),
        ((200, "{"), InfraError, "endpoint"),
        ((500, "{}"), InfraError, "endpoint"),
        ((404, "{}"), EnvironmentProblem, "no such model"),
        ((401, "{}"), EnvironmentProblem, "key was refused"),
        ((400, '{"error": {"message": "maximum context length is 8"}}'), ContextOverflow, "longer than"),
    ],
)
async def test_faults_are_told_apart(endpoint, given, error, says):
    with pytest.raises(error, match=says):
        await ask(endpoint, given, max_retries=0)


async def test_silence_is_a_model_timeout(endpoint, hang):
    with pytest.raises(ModelTimeout):
        await ask(endpoint, hang, max_retries=0, timeout=0.2)
