"""A policy behind OpenAI's protocol, so that any scaffold, and ``sandmle eval``, can use a checkpoint.

    POST /v1/chat/completions   messages, rendered in the policy's own chat format
    POST /v1/completions        a prompt as token ids, or as text that is taken as it is
    GET  /v1/models, /health

Replies carry what vLLM's do: ``prompt_token_ids`` and ``token_ids`` with ``return_token_ids``, log-probabilities with
``logprobs``. All requests share one engine, which batches whatever is asked at the same time.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from sandmle.agents.chat.tokens import Sample, SamplingSettings
from sandmle.errors import EnvironmentProblem, InfraError
from sandmle.record import first_problem
from sandmle.rl.checkpoints import PolicyWeights
from sandmle.rl.engine.local import LocalEngine
from sandmle.rl.serving import bound
from sandmle.trajectory import Message

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["make_app", "serve"]

_DEFAULT_TOKENS = 1_024


class _Asked(BaseModel):
    """What both endpoints take; other fields of the protocol are ignored."""

    temperature: Annotated[float, Field(ge=0, le=2)] = 1.0
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    max_completion_tokens: Annotated[int, Field(gt=0)] | None = None
    n: Literal[1] = 1
    stream: Literal[False] = False
    seed: int | None = None
    return_token_ids: bool = False


class _Spoken(BaseModel):
    role: Literal["system", "user", "assistant"]
    content: str


class _Chat(_Asked):
    messages: Annotated[list[_Spoken], Field(min_length=1)]
    logprobs: bool = False


class _Completion(_Asked):
    prompt: str | Annotated[list[int], Field(min_length=1)]
    logprobs: int | None = None
    return_tokens_as_token_ids: bool = False


class _TooLong(Exception):
    """The prompt does not fit into the model's context."""


def make_app(policy: PolicyWeights, name: str, engine: LocalEngine) -> Starlette:
    """The web application that serves ``policy`` as the model ``name``.

    Args:
        policy: what is served.
        name: as requests call it; any name is answered.
        engine: samples from ``policy``; its seed and a request's own ``seed`` fix the reply, and requests without one
            differ from each other.

    Raises:
        EnvironmentProblem: the extra ``train`` is not installed.
    """
    try:
        import uvicorn  # noqa: F401 - its absence is told before a port is opened
        from starlette.applications import Starlette
        from starlette.routing import Route
    except ModuleNotFoundError as error:
        raise EnvironmentProblem(f"{error.name} is not installed: pip install 'sandmle[train]'") from error
    served = _Served(policy, name, engine)
    return Starlette(
        routes=[
            Route("/v1/chat/completions", served.guarded(served.chat), methods=["POST"]),
            Route("/v1/completions", served.guarded(served.completion), methods=["POST"]),
            Route("/v1/models", served.models),
            Route("/health", served.health),
        ]
    )


def serve(
    policy: PolicyWeights,
    name: str,
    *,
    host: str,
    port: int,
    seed: int = 0,
    on_bound: Callable[[], None] = lambda: None,
) -> None:
    """Serve ``policy`` until interrupted; ``on_bound`` is called once the address is ours.

    Raises:
        EnvironmentProblem: the extra ``train`` is not installed, or the address can't be had.
    """
    app = make_app(policy, name, LocalEngine(policy.model, seed=seed))
    import uvicorn

    listening = bound(host, port)
    on_bound()
    with suppress(KeyboardInterrupt):
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


class _Served:
    def __init__(self, policy: PolicyWeights, name: str, engine: LocalEngine) -> None:
        self._policy, self._name, self._engine = policy, name, engine
        self._numbers = itertools.count()

    def guarded(self, handler: Callable[[Any], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """``handler`` on the request's JSON, with faults as the protocol tells them."""

        async def answer(request: Request) -> Response:
            try:
                return await handler(await request.json())
            except ValidationError as error:
                return _fault(400, "invalid_request_error", first_problem(error))
            except (ValueError, _TooLong) as error:
                return _fault(400, "invalid_request_error", str(error))
            except InfraError as error:
                return _fault(500, "server_error", str(error))

        return answer

    async def chat(self, body: Any) -> Response:  # noqa: ANN401 - whatever JSON was sent
        asked = _Chat.model_validate(body)
        renderer = self._policy.renderer
        messages = [Message(role=each.role, content=each.content) for each in asked.messages]
        prompt = (*(token for each in messages for token in renderer.message(each)), *renderer.prompt_end())
        sample = await self._sample(asked, prompt)
        choice: dict[str, Any] = {"message": {"role": "assistant", "content": renderer.text(sample.ids)}}
        if asked.logprobs:
            decode = self._policy.tokenizer.decode
            choice["logprobs"] = {
                "content": [
                    {"token": decode([token]), "logprob": logprob, "bytes": None, "top_logprobs": []}
                    for token, logprob in zip(sample.ids, sample.logprobs, strict=True)
                ]
            }
        return self._reply("chat.completion", asked, prompt, sample, choice)

    async def completion(self, body: Any) -> Response:  # noqa: ANN401 - whatever JSON was sent
        asked = _Completion.model_validate(body)
        codec = self._policy.tokenizer
        prompt = tuple(codec.encode(asked.prompt) if isinstance(asked.prompt, str) else asked.prompt)
        if not prompt or not all(0 <= token < len(codec) for token in prompt):
            raise ValueError(f"prompt: token ids lie between 0 and {len(codec) - 1}")
        sample = await self._sample(asked, prompt)
        choice: dict[str, Any] = {"text": self._policy.renderer.text(sample.ids)}
        if asked.logprobs is not None:
            choice["logprobs"] = {
                "tokens": [
                    f"token_id:{token}" if asked.return_tokens_as_token_ids else codec.decode([token])
                    for token in sample.ids
                ],
                "token_logprobs": list(sample.logprobs),
            }
        return self._reply("text_completion", asked, prompt, sample, choice)

    async def models(self, request: Request) -> Response:
        listed = {"id": self._name, "object": "model", "max_model_len": self._context}
        return _json({"object": "list", "data": [listed]})

    async def health(self, request: Request) -> Response:
        return _json({"status": "ok", "weight_version": self._engine.weight_version})

    @property
    def _context(self) -> int:
        return int(self._policy.model.config.max_position_embeddings)

    async def _sample(self, asked: _Asked, prompt: tuple[int, ...]) -> Sample:
        room = self._context - len(prompt)
        if room < 1:
            raise _TooLong(
                f"this model's maximum context length is {self._context} tokens; the prompt has {len(prompt)}"
            )
        wanted = asked.max_completion_tokens or asked.max_tokens or _DEFAULT_TOKENS
        settings = SamplingSettings(
            temperature=asked.temperature, max_new_tokens=min(wanted, room), max_tokens=self._context
        )
        key = f"request {next(self._numbers)}" if asked.seed is None else f"seed {asked.seed}"
        return await self._engine.sample(prompt, settings, self._policy.renderer.stop, key=key)

    def _reply(
        self, kind: str, asked: _Asked, prompt: tuple[int, ...], sample: Sample, choice: dict[str, Any]
    ) -> Response:
        stopped = sample.ids[-1] == self._policy.renderer.stop
        choice |= {"index": 0, "finish_reason": "stop" if stopped else "length"}
        body: dict[str, Any] = {
            "id": f"{kind}-{next(self._numbers)}",
            "object": kind,
            "created": int(time.time()),
            "model": self._name,
            "choices": [choice],
            "weight_version": sample.weight_version,
            "usage": {
                "prompt_tokens": len(prompt),
                "completion_tokens": len(sample.ids),
                "total_tokens": len(prompt) + len(sample.ids),
            },
        }
        if asked.return_token_ids:
            body["prompt_token_ids"] = list(prompt)
            choice |= {"prompt_token_ids": list(prompt), "token_ids": list(sample.ids)}
        return _json(body)


def _json(body: dict[str, Any], status: int = 200) -> Response:
    from starlette.responses import JSONResponse

    return JSONResponse(body, status_code=status)


def _fault(status: int, kind: str, message: str) -> Response:
    return _json({"error": {"message": message, "type": kind, "code": None}}, status)
