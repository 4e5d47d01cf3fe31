"""How fast an endpoint is asked: requests and tokens a minute, and the pauses that it asks for.

Every HTTP request to the endpoint passes its pace, those that a client repeats included, one after the other in the
order they came. Each leaves as soon as the one before has had its share of a minute: ``60 / requests_per_minute``
seconds, and ``60 * tokens / tokens_per_minute``. The tokens of a reply are unknown until it is there, so a request is
charged with what its prompt may have, and the rest when the endpoint has counted. A 429 or 503 with ``Retry-After``
holds up all requests, not only the one that it answers.

Waiting is our doing, not the model's: whoever runs a clock on a call learns of it by ``while_waiting``.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from email.utils import parsedate_to_datetime
from typing import Any

from sandmle.errors import BadInput

__all__ = ["MAX_PAUSE_S", "Pace", "asked_to_wait", "while_waiting"]

MAX_PAUSE_S = 600.0
"""The longest pause that is sat out; an endpoint that asks for more ends the run, which can be resumed."""

_GUESSED = "sandmle.guessed_tokens"
_CHARS_PER_TOKEN = 4
_around: ContextVar[Callable[[], AbstractContextManager[None]]] = ContextVar("sandmle_pace", default=nullcontext)


@contextmanager
def while_waiting(around: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    """For the calls made inside: enter ``around()`` whenever one begins to wait, and leave it when it goes on."""
    token = _around.set(around)
    try:
        yield
    finally:
        _around.reset(token)


class Pace:
    """The pace of one endpoint.

    Args:
        requests_per_minute: None for no limit of our own, as is ``tokens_per_minute`` (prompts and replies together).
        now: clock in seconds.
        sleep: waits so many seconds.

    Raises:
        BadInput: a limit is not positive.
    """

    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        for name, limit in (("requests", requests_per_minute), ("tokens", tokens_per_minute)):
            if limit is not None and not limit > 0:
                raise BadInput(f"{name} per minute must be positive, not {limit:g}")
        self._request_s = 60 / requests_per_minute if requests_per_minute else 0.0
        self._token_s = 60 / tokens_per_minute if tokens_per_minute else 0.0
        self._now, self._sleep = now, sleep
        self._line = asyncio.Lock()
        self._free = {"requests": -float("inf"), "tokens": -float("inf"), "pause": -float("inf")}

    async def turn(self, tokens: int) -> None:
        """Return when a request of so many tokens may leave."""
        with _around.get()():
            async with self._line:
                while (wait := max(self._free.values()) - self._now()) > 0:
                    await self._sleep(wait)
                left = self._now()
                self._free |= {"requests": left + self._request_s, "tokens": left + self._token_s * tokens}

    def settle(self, guessed: int, counted: int) -> None:
        """Charge what a request had beyond the ``guessed`` tokens; give back where it had fewer."""
        self._free["tokens"] += self._token_s * (counted - guessed)

    def pause(self, seconds: float) -> None:
        """Let no request leave for so many seconds."""
        self._free["pause"] = max(self._free["pause"], self._now() + seconds)

    @property
    def hooks(self) -> dict[str, list[Callable[[Any], Awaitable[None]]]]:
        """What a client of httpx takes as ``event_hooks``."""
        return {"request": [self._before], "response": [self._after]}

    async def _before(self, request: Any) -> None:  # noqa: ANN401 - of httpx or httpx2, as the openai package has it
        guessed = len(request.content) // _CHARS_PER_TOKEN
        request.extensions[_GUESSED] = guessed
        await self.turn(guessed)

    async def _after(self, response: Any) -> None:  # noqa: ANN401 - see above
        if response.status_code in (429, 503):
            self.pause(min(asked_to_wait(response.headers) or 0.0, MAX_PAUSE_S))
        elif self._token_s and response.is_success:
            counted = _counted(await response.aread())
            if counted is not None:
                self.settle(response.request.extensions[_GUESSED], counted)


def asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that an answer asks to wait, by a number or by a date; None where it does not say."""
    milliseconds, seconds = (headers.get(name) for name in ("retry-after-ms", "retry-after"))
    with suppress(ValueError):
        return float(milliseconds) / 1000 if milliseconds else float(seconds) if seconds else None
    with suppress(ValueError, TypeError):
        return parsedate_to_datetime(str(seconds)).timestamp() - time.time()
    return None


def _counted(body: bytes) -> int | None:
    """The tokens of prompt and reply that a completion says it had."""
    try:
        return int(json.loads(body)["usage"]["total_tokens"])
    except (ValueError, TypeError, KeyError):
        return None
