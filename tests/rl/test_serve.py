"""The server through the clients that evaluations and rollouts use, over a real socket."""

import asyncio
import socket
import threading

import httpx
import numpy as np
import pytest
from langchain_core.messages import HumanMessage

pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")
uvicorn = pytest.importorskip("uvicorn", reason="needs the extra train")

from sandmle.agents.chat import ContextOverflow  # noqa: E402
from sandmle.agents.chat.openai import endpoint_model  # noqa: E402
from sandmle.agents.chat.tokens import SamplingSettings, TokenChat  # noqa: E402
from sandmle.agents.chat.tokens.endpoint import TokenEndpoint  # noqa: E402
from sandmle.errors import EnvironmentProblem, InfraError  # noqa: E402
from sandmle.rl.batches import pad  # noqa: E402
from sandmle.rl.checkpoints import TinyModel, new_policy  # noqa: E402
from sandmle.rl.engine.local import LocalEngine  # noqa: E402
from sandmle.rl.serve import make_app, serve  # noqa: E402
from sandmle.rl.tokenizers import train_tokenizer  # noqa: E402
from sandmle.rl.trainer._learner import token_logprobs  # noqa: E402
from sandmle.rl.types import Example, Row  # noqa: E402


@pytest.fixture(scope="module")
def policy():
    shape = TinyModel(hidden=32, layers=1, heads=2, kv_heads=1, feed_forward=64, context=256)
    return new_policy(shape, train_tokenizer(["some words to learn from"] * 3, 300), seed=0)


@pytest.fixture(scope="module")
def url(policy):
    app = make_app(policy, "tiny", LocalEngine(policy.model, seed=0))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    ready = threading.Event()
    started = server.startup

    async def startup(sockets=None):
        await started(sockets=sockets)
        ready.set()

    server.startup = startup
    thread = threading.Thread(target=server.run)
    thread.start()
    assert ready.wait(30)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def ask(url, **body):
    return httpx.post(f"{url}/v1/chat/completions", json={"messages": [{"role": "user", "content": "hi"}], **body})


async def test_our_client_gets_text_and_tokens(url, policy):
    body = {"return_token_ids": True, "logprobs": True, "seed": 3}
    model = endpoint_model("tiny", base_url=f"{url}/v1", api_key="x", max_tokens=5, extra_body=body)
    reply = await model.ainvoke("hi")
    fields = reply.additional_kwargs["token_fields"]
    assert policy.renderer.text(fields["completion_ids"]) == reply.text
    assert fields["prompt_ids"][-1] == policy.renderer.prompt_end()[-1]
    assert len(fields["logprobs"]) == len(fields["completion_ids"]) <= 5
    assert all(logprob <= 0 for logprob in fields["logprobs"])


def test_a_seed_fixes_the_reply_and_no_seed_does_not(url):
    def text(**body):
        return ask(url, max_tokens=12, **body).json()["choices"][0]["message"]["content"]

    assert text(seed=1) == text(seed=1)
    assert len({text() for _ in range(4)}) > 1


def test_completions_take_token_ids_and_give_the_same_as_chat(url, policy):
    chat = ask(url, seed=5, max_tokens=6, return_token_ids=True).json()
    prompt = chat["prompt_token_ids"]
    asked = {"prompt": prompt, "seed": 5, "max_tokens": 6, "return_token_ids": True, "logprobs": 1}
    plain = httpx.post(f"{url}/v1/completions", json=asked).json()["choices"][0]
    assert plain["token_ids"] == chat["choices"][0]["token_ids"]
    assert len(plain["logprobs"]["token_logprobs"]) == len(plain["token_ids"])


def test_tokens_can_be_named_by_their_ids(url):
    asked = {"prompt": [5, 6], "seed": 5, "max_tokens": 6, "return_token_ids": True, "logprobs": 1}
    named = httpx.post(f"{url}/v1/completions", json=asked | {"return_tokens_as_token_ids": True}).json()["choices"][0]
    assert named["logprobs"]["tokens"] == [f"token_id:{token}" for token in named["token_ids"]]


async def test_requests_at_once_are_answered_each(url):
    async with httpx.AsyncClient() as client:
        message = [{"role": "user", "content": "hi"}]
        bodies = [{"messages": message, "max_tokens": 8, "seed": seed} for seed in range(8)]
        asked = [client.post(f"{url}/v1/chat/completions", json=body) for body in bodies]
        texts = [(await each).json()["choices"][0]["message"]["content"] for each in asked]
        together = await asyncio.gather(*(client.post(f"{url}/v1/chat/completions", json=body) for body in bodies))
    assert [each.json()["choices"][0]["message"]["content"] for each in together] == texts


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"messages": []}, "messages"),
        ({"temperature": -1}, "temperature"),
        ({"n": 2}, "n"),
        ({"stream": True}, "stream"),
        ({"messages": [{"role": "user", "content": "x" * 9_000}]}, "maximum context length"),
    ],
)
def test_what_can_not_be_served_is_a_400(url, body, says):
    reply = ask(url, **body)
    assert reply.status_code == 400
    assert says in reply.json()["error"]["message"]


def test_a_body_that_is_no_json_is_a_400(url):
    assert httpx.post(f"{url}/v1/chat/completions", content=b"{").status_code == 400


async def test_a_prompt_that_is_too_long_ends_an_episode_not_the_run(url):
    model = endpoint_model("tiny", base_url=f"{url}/v1", api_key="x")
    with pytest.raises(ContextOverflow):
        await model.ainvoke("x" * 9_000)


def test_models_and_health(url):
    assert httpx.get(f"{url}/v1/models").json()["data"][0] == {"id": "tiny", "object": "model", "max_model_len": 256}
    assert httpx.get(f"{url}/health").json()["status"] == "ok"


@pytest.fixture
async def engine(url):
    made = TokenEndpoint("tiny", base_url=f"{url}/v1", seed=1)
    yield made
    await made.aclose()


async def test_rollouts_sample_behind_the_endpoint_what_the_trainer_would_score_alike(engine, policy):
    """Two turns of a TokenChat: the second prompt begins with the first and its reply, log-probs are the model's."""
    chat = TokenChat(
        engine=engine, renderer=policy.renderer, sampling=SamplingSettings(max_new_tokens=6, max_tokens=200), key="a"
    )
    first = await chat.ainvoke("hi")
    second = await chat.ainvoke([HumanMessage("hi"), first, HumanMessage("more")])
    one, two = (reply.additional_kwargs["token_fields"] for reply in (first, second))
    whole = (*one["prompt_ids"], *one["completion_ids"])
    assert two["prompt_ids"][: len(whole)] == whole
    assert second.additional_kwargs["weight_version"] == 0
    sampled = np.arange(len(two["prompt_ids"]) + len(two["completion_ids"])) >= len(two["prompt_ids"])
    logprobs = np.zeros(len(sampled))
    logprobs[sampled] = two["logprobs"]
    row = Row(np.array([*two["prompt_ids"], *two["completion_ids"]]), np.where(sampled, 0, -1), sampled, logprobs, 0)
    scored, _ = token_logprobs(policy.model, pad([Example(row, np.zeros(len(row)))], policy.tokenizer.pad))
    assert np.abs(scored[0].detach().numpy() - logprobs).max() < 1e-4


async def test_a_key_fixes_a_sample(engine, policy):
    async def ids(key):
        return (await engine.sample(prompt, SamplingSettings(max_new_tokens=8), policy.renderer.stop, key=key)).ids

    prompt = policy.renderer.prompt_end()
    assert await ids("a") == await ids("a")
    assert len({await ids(key) for key in "abcd"}) > 1


async def test_what_the_server_refuses_is_told_apart(engine, policy):
    stop, settings = policy.renderer.stop, SamplingSettings(max_new_tokens=4)
    with pytest.raises(ContextOverflow):
        await engine.sample((1,) * 300, settings, stop, key="a")
    with pytest.raises(InfraError, match="token ids lie between"):
        await engine.sample((10_000,), settings, stop, key="a")


def test_a_port_that_is_taken_is_told_and_no_address(policy):
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(EnvironmentProblem, match="choose another --port"),
    ):
        serve(policy, "policy", host="127.0.0.1", port=taken.getsockname()[1], on_bound=pytest.fail)
