"""One contract for every sandbox backend, also a third party's: what the protocol promises, as checks that can fail.

    results = await run_contract(backend)          # list[CheckResult], in the order of CHECKS
    broken = [result for result in results if result.status == "failed"]

A check makes its sandboxes itself, lets real code run in them and raises ``CheckFailure`` with one line where a promise
is broken. One that the backend's own capabilities rule out is skipped, with the reason. Nothing here needs pytest.

Groups, one file each: ``running``, ``files``, ``output``, ``isolation``, ``limits``, ``state`` (cells), ``forks``,
``seeds``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable

from sandmle.errors import SandmleError
from sandmle.sandboxes._protocol import Capabilities, SandboxBackend
from sandmle.sandboxes.contract import files, forks, isolation, limits, output, running, seeds, state
from sandmle.sandboxes.contract._check import Check, CheckFailure, CheckResult, registered

__all__ = ["CHECKS", "GROUPS", "Check", "CheckFailure", "CheckResult", "run_check", "run_contract"]

_CHECK_S = 600.0

GROUPS = tuple(
    module.__name__.rpartition(".")[2] for module in (running, files, output, isolation, limits, state, forks, seeds)
)
"""Names of the groups, in the order in which they are run."""

CHECKS: tuple[Check, ...] = tuple(sorted(registered(), key=lambda check: GROUPS.index(check.group)))
"""Every check, in the order in which they are run."""


async def run_contract(
    backend: SandboxBackend,
    *,
    checks: Iterable[Check] = CHECKS,
    at_once: int = 1,
    on_result: Callable[[CheckResult], None] | None = None,
) -> list[CheckResult]:
    """Put a backend to the test; it is not closed.

    Args:
        backend: any backend.
        checks: which checks; by default all.
        at_once: how many checks run at the same time.
        on_result: told each result as soon as it is there.

    Returns:
        one result a check, in the checks' order.

    Raises:
        EnvironmentProblem: the backend can't be used here at all.
    """
    found = await asyncio.to_thread(lambda: backend.capabilities)
    turns = asyncio.Semaphore(at_once)

    async def run(check: Check) -> CheckResult:
        async with turns:
            result = await run_check(backend, check, found)
        if on_result is not None:
            on_result(result)
        return result

    return list(await asyncio.gather(*(run(check) for check in checks)))


async def run_check(backend: SandboxBackend, check: Check, found: Capabilities) -> CheckResult:
    """Run one check against a backend of these capabilities; whatever goes wrong becomes a failed result."""
    skipped = check.needs(found)
    if skipped:
        return CheckResult(check=check.id, promise=check.promise, status="skipped", reason=skipped)
    started = time.monotonic()
    try:
        async with asyncio.timeout(_CHECK_S):
            await check.run(backend)
    except CheckFailure as failure:
        reason = str(failure)
    except SandmleError as error:
        reason = f"{type(error).__name__}: {error}"
    except TimeoutError:
        reason = f"not done within {_CHECK_S:.0f} s"
    except Exception as error:  # noqa: BLE001 - a backend may break in any way
        reason = f"{type(error).__name__} was raised: {error}"
    else:
        reason = ""
    status, seconds = ("failed" if reason else "passed"), time.monotonic() - started
    return CheckResult.model_validate(
        {"check": check.id, "promise": check.promise, "status": status, "reason": reason, "seconds": seconds}
    )
