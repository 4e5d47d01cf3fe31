"""The contract suite, against the local sandboxes: the best tier of this machine, and none."""

from __future__ import annotations

import pytest

from sandmle.sandboxes import LocalBackend
from sandmle.sandboxes.contract import CHECKS, GROUPS, run_contract


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("tier", ["best", "unisolated"])
async def test_contract(backend: LocalBackend, unisolated: LocalBackend, tier: str, group: str):
    tested = backend if tier == "best" else unisolated
    results = await run_contract(tested, checks=[check for check in CHECKS if check.group == group], at_once=3)
    assert {result.check: result.reason for result in results if result.status == "failed"} == {}
    assert any(result.status == "passed" for result in results)
    if tested.capabilities.tier in ("A", "B"):
        assert not any(result.status == "skipped" for result in results)
