"""The contract suite, against the unmodified SDK and the local server."""

from __future__ import annotations

import pytest

from sandmle.sandboxes.contract import CHECKS, GROUPS, run_contract

LONG = ("forks", "running")
"""Groups that the local backend's tests run in CI too."""


@pytest.mark.parametrize(
    "group", [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in GROUPS]
)
async def test_contract(e2b, group: str):
    results = await run_contract(e2b, checks=[check for check in CHECKS if check.group == group], at_once=3)
    assert {result.check: result.reason for result in results if result.status == "failed"} == {}
    assert {result.check for result in results if result.status == "skipped"} <= {"limits.workspace_size"}
