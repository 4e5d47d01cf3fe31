"""What can go wrong with a service far away, told apart and, where that is safe, tried again.

    refused    429, 503: the service did nothing; trying again is always safe
    broken     502, 504, a connection or stream that ended: nobody knows whether the request was done
    gone       the machine was killed or has outlived its time; trying again is useless
    other      what trying again will not mend

All of them are ``InfraError``: never the fault of the code inside. A key that E2B does not accept is an
``EnvironmentProblem``.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Literal, TypeVar

from sandmle.errors import EnvironmentProblem, InfraError, SandmleError

__all__ = ["E2BFault", "FaultKind", "Patience", "translate"]

T = TypeVar("T")
FaultKind = Literal["refused", "broken", "gone", "other"]

_TRANSPORT = ("connectrpc", "httpcore", "httpx", "pyqwest")
_log = logging.getLogger("sandmle.sandboxes")


class E2BFault(InfraError):
    """E2B failed.

    Attributes:
        kind: see the module's text.
    """

    def __init__(self, kind: FaultKind, message: str) -> None:
        """Remember the kind beside the message."""
        super().__init__(message)
        self.kind: FaultKind = kind


class Patience:
    """Tries again after faults that may pass: exponential waits, each drawn between half of it and the whole."""

    def __init__(self, attempts: int = 6, first_wait_s: float = 0.5, longest_wait_s: float = 20.0) -> None:
        """Try ``attempts`` times in all, wait ``first_wait_s`` seconds at first and at most ``longest_wait_s``."""
        self._attempts = attempts
        self._first = first_wait_s
        self._longest = longest_wait_s
        self._draw = random.Random()  # not for results: its only use is that clients don't come back all at once

    async def keep_trying(self, what: str, attempt: Callable[[], Awaitable[T]]) -> T:
        """Await ``attempt()``, which must be safe to repeat, until it succeeds or there is no more hope.

        Args:
            what: what is being done, for messages, such as ``creating a machine``.
            attempt: makes one attempt.

        Raises:
            E2BFault: it failed for good.
            EnvironmentProblem: the key is not accepted.
        """
        for number in range(self._attempts):
            try:
                return await attempt()
            except Exception as error:
                fault = translate(error, what)
                hopeless = not isinstance(fault, E2BFault) or fault.kind not in ("refused", "broken")
                if hopeless or number == self._attempts - 1:
                    raise fault from error
                wait = min(self._longest, self._first * 2**number) * self._draw.uniform(0.5, 1.0)
                _log.info("%s; trying again in %.1f s", fault, wait)
                await asyncio.sleep(wait)
        raise AssertionError("unreachable: the last attempt returns or raises")


def translate(error: Exception, what: str) -> SandmleError:
    """The error of ours for one of the SDK's (or of the libraries below it); one of ours is returned as it is."""
    import e2b

    if isinstance(error, SandmleError):
        return error
    message = f"E2B: {what}: {str(error) or type(error).__name__}"
    if isinstance(error, e2b.AuthenticationException):
        return EnvironmentProblem(f"{message}; check E2B_API_KEY")
    status = getattr(error, "status_code", None)
    if isinstance(error, e2b.RateLimitException | e2b.ServiceBusyException) or status in (429, 503):
        return E2BFault("refused", message)
    if isinstance(error, e2b.SandboxNotFoundException | e2b.SandboxNotRunningException):
        return E2BFault("gone", message)
    if isinstance(error, e2b.TimeoutException | OSError) or status in (502, 504) or _is_of_transport(error):
        return E2BFault("broken", message)
    return E2BFault("other", message)


def _is_of_transport(error: Exception) -> bool:
    """Whether a connection or stream broke: the SDK lets errors of the libraries below it through."""
    library = type(error).__module__.partition(".")[0]
    # It raises a bare Exception where a command's stream ends without the command's end.
    return library in _TRANSPORT or type(error) is Exception
