"""The README's example of sandboxes prints what the README says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_sandbox_example_prints_what_is_shown(backend_tier: str):
    example, shown = re.findall(r"```python\n([^`]*LocalBackend[^`]*)```\n\n```text\n(.*?)```", README, re.DOTALL)[0]
    done = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown.replace("tier A", f"tier {backend_tier}")


@pytest.fixture
def backend_tier() -> str:
    from sandmle.sandboxes import LocalBackend

    tier = LocalBackend(allow_unisolated=True).capabilities.tier
    if tier == "D":
        pytest.skip("this machine offers no isolation")
    return tier
