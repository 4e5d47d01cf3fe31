"""The contract suite, on a real cluster of two nodes."""

from __future__ import annotations

import pytest

from sandmle.sandboxes.contract import CHECKS, GROUPS, run_contract


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
async def test_contract(backend, group: str):
    results = await run_contract(backend, checks=[check for check in CHECKS if check.group == group])
    assert {result.check: result.reason for result in results if result.status == "failed"} == {}
    if backend.capabilities.tier in ("A", "B"):
        assert not any(result.status == "skipped" for result in results)
