"""Calling models: from the cache where the reply is known, else from the endpoint, patiently and within the budget."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from sandmle.agents.chat import Pace, RateLimited
from sandmle.agents.llm._cache import Reply, ReplyCache, Sample, call_key
from sandmle.agents.llm._ledger import Ledger, LedgerLine, Spending
from sandmle.agents.llm._settings import ModelSettings, TeamSettings
from sandmle.errors import EnvironmentProblem, InfraError

__all__ = ["ModelCalls", "Spending", "metered"]

MAX_DELAY_S = 60.0
_meter: ContextVar[list[Spending] | None] = ContextVar("sandmle_spending", default=None)


@contextmanager
def metered() -> Iterator[list[Spending]]:
    """What the calls made inside cost, replies from the cache included, so that a replay counts alike."""
    found: list[Spending] = []
    token = _meter.set(found)
    try:
        yield found
    finally:
        _meter.reset(token)


class ModelCalls:
    """All calls of a team.

    Args:
        team: budgets of the batch.
        folder: gets ``calls.jsonl`` and, unless ``cache`` says otherwise, the cache.
        cache: folder of the replies.
        offline: never send a request; a reply that the cache lacks is an error.
    """

    def __init__(self, team: TeamSettings, folder: Path, *, cache: Path | None = None, offline: bool = False) -> None:
        self._team = team
        self._cache = ReplyCache(cache or folder / "replies")
        self._ledger = Ledger(folder / "calls.jsonl")
        self._offline = offline
        self._lines: dict[str, _Line] = {}

    @property
    def total(self) -> Spending:
        """What the batch has cost so far."""
        return self._ledger.total

    async def call(self, model: ModelSettings, messages: Sequence[BaseMessage], sample: Sample) -> Reply:
        """The model's reply.

        Raises:
            EnvironmentProblem: the budget of the batch is used, the key is refused, or the batch is offline and the
                reply unknown.
            InfraError: the endpoint gave no reply in all tries.
            ContextOverflow: the prompt is too long.
        """
        key, request = call_key(model.shaping(), messages, sample)
        reply = await asyncio.to_thread(self._cache.get, key)
        if reply is None:
            reply, line = await self._paid(model, messages, sample, key)
            await asyncio.to_thread(self._cache.put, key, request, reply)
            self._ledger.add(line)
        meter = _meter.get()
        if meter is not None:
            meter.append(Spending.of(reply, model))
        return reply

    async def _paid(
        self, model: ModelSettings, messages: Sequence[BaseMessage], sample: Sample, key: str
    ) -> tuple[Reply, LedgerLine]:
        if self._offline:
            raise EnvironmentProblem(
                f"offline, but the cache has no reply for {sample.role} on candidate {sample.candidate}"
                f" (attempt {sample.attempt}, repair {sample.repair}): settings or prompts have changed since"
            )
        self._ledger.check(self._team)
        line = self._lines.setdefault(model.model_dump_json(), _Line(model))
        start = time.monotonic()
        reply, tries = await line.ask(messages, key)
        return reply, LedgerLine(
            key=key,
            sample=sample,
            model=model.name,
            seconds=round(time.monotonic() - start, 3),
            tries=tries,
            finish_reason=reply.finish_reason,
            spending=Spending.of(reply, model),
        )


class _Line:
    """The line to one model: so many calls at once, so many a minute, and again after errors of the provider."""

    def __init__(self, model: ModelSettings) -> None:
        self._model = model
        self._chat: BaseChatModel | None = None
        self._free = asyncio.Semaphore(model.at_once)

    async def ask(self, messages: Sequence[BaseMessage], key: str) -> tuple[Reply, int]:
        """The reply and how many requests it took."""
        jitter = random.Random(key)
        for number in range(1, self._model.tries + 1):
            try:
                async with self._free:
                    return _read(await self._connected().ainvoke(list(messages))), number
            except InfraError as error:
                if number == self._model.tries:
                    raise InfraError(f"{error}; given up after {number} tries") from error
                asked = error.wait_s if isinstance(error, RateLimited) and error.wait_s else 0.0
                delay = min(self._model.first_delay_s * 2 ** (number - 1), MAX_DELAY_S)
                await asyncio.sleep(max(asked, delay * jitter.uniform(0.5, 1.0)))
        raise AssertionError("a loop over tries ends in it")

    def _connected(self) -> BaseChatModel:
        if self._chat is None:
            from sandmle.agents.chat.openai import endpoint_model

            model = self._model
            self._chat = endpoint_model(
                model.name,
                base_url=model.base_url,
                api_key=_key(model),
                temperature=model.temperature,
                max_retries=0,
                timeout=model.timeout_s,
                max_tokens=model.max_tokens,
                pace=Pace(model.requests_per_minute),
                extra_body=model.extra_body,
            )
        return self._chat


def _key(model: ModelSettings) -> str | None:
    if model.key_variable is None:
        return None
    key = os.environ.get(model.key_variable)
    if not key:
        raise EnvironmentProblem(f"model {model.name}: the environment variable {model.key_variable} holds no key")
    return key


def _read(message: BaseMessage) -> Reply:
    extras, usage = message.additional_kwargs, getattr(message, "usage_metadata", None) or {}
    return Reply(
        text=str(message.text),
        reasoning=str(extras.get("reasoning") or ""),
        refusal=str(extras.get("refusal") or ""),
        finish_reason=str(message.response_metadata.get("finish_reason") or ""),
        prompt_tokens=int(usage.get("input_tokens", 0)),
        completion_tokens=int(usage.get("output_tokens", 0)),
    )
