"""The contract suite itself: its checks can fail, are skipped for good reasons, and report in one line."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Sequence

import pytest

from sandmle.errors import InfraError
from sandmle.sandboxes import Capabilities, Sandbox, SandboxBackend, SandboxSpec, Snapshot
from sandmle.sandboxes.contract import CHECKS, GROUPS, CheckResult, run_contract
from sandmle.trajectory import StepResult

ABLE = Capabilities(tier="A", detail="says so", stateful=True, fork="machine")
FEEBLE = Capabilities(tier="D", detail="says so", stateful=False, fork="replay")


class Idle:
    """A sandbox, snapshot and backend that does nothing, and says that all went well."""

    origin = "created"

    def __init__(self, capabilities: Capabilities = ABLE) -> None:
        self.capabilities = capabilities

    async def create(self, spec: SandboxSpec) -> Sandbox:
        return self

    async def run(self, code: str, *, timeout: float, args: Sequence[str] = (), seed: str | None = None) -> StepResult:
        await asyncio.sleep(0)
        return StepResult(status="ok", exit_code=0, tier=self.capabilities.tier)

    async def read(self, path: str, *, max_bytes: int) -> bytes:
        return b""

    async def write(self, path: str, data: bytes) -> None:
        pass

    async def remove(self, path: str) -> None:
        pass

    async def fork(self, n: int) -> list[Sandbox]:
        return [self] * n

    async def snapshot(self) -> Snapshot:
        return self

    async def restore(self, snapshot: Snapshot) -> None:
        pass

    async def aclose(self) -> None:
        pass

    async def __aenter__(self) -> Idle:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass


class Deaf(Idle):
    """A backend that can make no sandbox."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    async def create(self, spec: SandboxSpec) -> Sandbox:
        raise self.error


def by_status(results: Sequence[CheckResult], status: str) -> list[str]:
    return [result.check for result in results if result.status == status]


async def test_no_check_is_passed_by_doing_nothing():
    results = await run_contract(Idle(), at_once=100)
    assert by_status(results, "passed") == []
    assert by_status(results, "skipped") == []
    for result in results:
        assert result.reason
        assert "\n" not in result.reason


async def test_what_capabilities_rule_out_is_skipped_with_its_reason():
    results = await run_contract(Idle(FEEBLE), at_once=100)
    skipped = by_status(results, "skipped")
    assert {check for check in skipped if check.startswith("state.")} == {c.id for c in CHECKS if c.group == "state"}
    assert {"isolation.no_network", "forks.variables", "limits.workspace_size"} <= set(skipped)
    assert "running.ok" not in skipped
    assert all(result.reason for result in results if result.status == "skipped")


@pytest.mark.parametrize(
    ("error", "reason"),
    [(InfraError("no room"), "InfraError: no room"), (KeyError("x"), "KeyError was raised: 'x'")],
)
async def test_whatever_a_backend_raises_is_a_failure(error: Exception, reason: str):
    (result,) = await run_contract(Deaf(error), checks=CHECKS[:1])
    assert (result.status, result.reason) == ("failed", reason)


async def test_results_come_in_order_and_are_told_at_once():
    told: list[CheckResult] = []
    checks = CHECKS[:5]
    results = await run_contract(Idle(), checks=checks, on_result=told.append)
    assert [result.check for result in results] == [check.id for check in checks]
    assert told == results


def test_checks_have_unique_names_and_promises():
    assert len({check.id for check in CHECKS}) == len(CHECKS)
    assert {check.group for check in CHECKS} == set(GROUPS)
    for check in CHECKS:
        assert re.fullmatch(r"[A-Z].{20,110}\.", check.promise), check.id


def test_the_suite_needs_no_pytest():
    code = "import sys, sandmle.sandboxes.contract; print('pytest' in sys.modules, '_pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_idle_speaks_the_protocol():
    backend: SandboxBackend = Idle()
    assert backend.capabilities is ABLE
