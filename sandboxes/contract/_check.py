"""What a check is, and how one reports: ``@check`` puts an async function into the suite under its group and name."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from sandmle.record import Record
from sandmle.sandboxes._protocol import Capabilities, Sandbox, SandboxBackend, SandboxSpec
from sandmle.trajectory import StepResult

__all__ = [
    "Check",
    "CheckFailure",
    "CheckResult",
    "cell",
    "check",
    "confined",
    "expect",
    "forkable",
    "isolated",
    "refused",
    "registered",
    "script",
    "stateful",
    "step",
]

STEP_S = 60.0
"""Seconds that a step of a check may take unless its slowness is the point: far more than any needs."""

Needs = Callable[[Capabilities], str]


class CheckFailure(AssertionError):
    """A backend breaks a promise of the protocol; the message is one line: what was expected, what came."""


@dataclass(frozen=True)
class Check:
    """One promise and the code that puts it to the test.

    Attributes:
        group: the file it is in, such as ``running``.
        name: unique within its group.
        promise: the promise in words.
        run: raises ``CheckFailure`` if the backend breaks it.
        needs: why these capabilities rule it out; empty if they do not.
    """

    group: str
    name: str
    promise: str
    run: Callable[[SandboxBackend], Awaitable[None]]
    needs: Needs

    @property
    def id(self) -> str:
        """``group.name``."""
        return f"{self.group}.{self.name}"


class CheckResult(Record):
    """How one check went.

    Attributes:
        check: the check's id, ``group.name``.
        promise: what it tests, in words.
        status: ``skipped`` where the backend's capabilities rule the check out.
        reason: why it failed or was skipped; empty if it passed.
        seconds: wall seconds it took.
    """

    check: str
    promise: str
    status: Literal["passed", "failed", "skipped"]
    reason: str = ""
    seconds: float = 0.0


_registered: list[Check] = []


def check(*needs: Needs) -> Callable[[Callable[[SandboxBackend], Awaitable[None]]], Check]:
    """Put an async function of a backend into the suite; its docstring is the promise, its module the group."""

    def register(function: Callable[[SandboxBackend], Awaitable[None]]) -> Check:
        group = function.__module__.rpartition(".")[2]
        name, promise = getattr(function, "__name__", ""), (function.__doc__ or "").strip().partition("\n")[0]
        new = Check(group, name, promise, function, lambda found: next(filter(None, (why(found) for why in needs)), ""))
        _registered.append(new)
        return new

    return register


def registered() -> tuple[Check, ...]:
    """All checks of the groups imported so far, in their order."""
    return tuple(_registered)


def stateful(found: Capabilities) -> str:
    """Needs cells."""
    return "" if found.stateful else "the backend runs no cells (stateful is False)"


def confined(found: Capabilities) -> str:
    """Needs anything at all that holds the code."""
    return "" if found.tier != "D" else "tier D shuts nothing in"


def isolated(found: Capabilities) -> str:
    """Needs walls around the code: namespaces or a machine of its own."""
    return "" if found.tier in ("A", "B", "vm") else f"tier {found.tier} does not separate the code from its machine"


def forkable(found: Capabilities) -> str:
    """Needs forks that carry over the very state, not one made again."""
    return "" if found.fork != "replay" else "forks are made by replay, which repeats what code did"


def expect(condition: bool, message: str) -> None:
    """Fail with ``message`` unless ``condition`` holds.

    Raises:
        CheckFailure: it does not.
    """
    if not condition:
        raise CheckFailure(message)


async def step(sandbox: Sandbox, code: str, output: str | None = None, *, timeout: float = STEP_S) -> StepResult:
    """Run ``code``, which must end well and, if given, print exactly ``output``.

    Raises:
        CheckFailure: it does not.
    """
    result = await sandbox.run(code, timeout=timeout)
    expect(result.status == "ok", f"expected status ok, got {result.status}: {result.output.strip()[-300:]!r}")
    if output is not None:
        expect(result.output == output, f"expected the output {output!r}, got {result.output[-300:]!r}")
    return result


async def refused(attempt: Awaitable[object], error: type[Exception], what: str) -> None:
    """Await ``attempt``, which must raise ``error``.

    Raises:
        CheckFailure: it raises nothing.
    """
    try:
        await attempt
    except error:
        return
    raise CheckFailure(f"{what}: expected {error.__name__}, nothing was raised")


@asynccontextmanager
async def script(backend: SandboxBackend, **fields: Any) -> AsyncIterator[Sandbox]:  # noqa: ANN401 - fields of a spec
    """A sandbox for scripts; ``fields`` are those of ``SandboxSpec``."""
    async with await backend.create(SandboxSpec(**fields)) as sandbox:
        yield sandbox


@asynccontextmanager
async def cell(backend: SandboxBackend, **fields: Any) -> AsyncIterator[Sandbox]:  # noqa: ANN401 - fields of a spec
    """A sandbox for cells; ``fields`` are those of ``SandboxSpec``."""
    async with await backend.create(SandboxSpec(stateful=True, **fields)) as sandbox:
        yield sandbox
