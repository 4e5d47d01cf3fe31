"""The tier without namespaces: the attacks from a process that is not root, with whom code then shares its user."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sandmle
from sandmle.sandboxes._guest import landlock

HERE = Path(__file__).parent


pytestmark = [
    pytest.mark.skipif(
        os.geteuid() != 0, reason="only root can become another user; others run the attacks in tier C anyway"
    ),
    pytest.mark.skipif(
        sys.platform != "linux" or landlock.abi() < landlock.LEAST_ABI,
        reason="this kernel has no Landlock, or an old one",
    ),
]

WITHOUT_NAMESPACES = """
import os, sys
from sandmle.sandboxes._guest import linux, seccomp
linux.forbid_new_privileges()
linux.set_filter(seccomp.filter_program())
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
ASK = """
import asyncio
from sandmle.sandboxes import LocalBackend, SandboxSpec
async def main():
    async with LocalBackend() as backend, await backend.create(SandboxSpec()) as sandbox:
        result = await sandbox.run("print(1 + 1)", timeout=60)
        print(backend.capabilities.tier, result.tier, result.output, backend.capabilities.detail)
asyncio.run(main())
"""


def as_nobody(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python as an unprivileged user who may make no namespace."""
    source = Path(sandmle.__file__).resolve().parents[2]
    folders = [sys.prefix, sys.base_prefix, str(source), str(HERE), str(folder)]
    folder.chmod(0o777)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8"}
    command = [sys.executable, "-c", WITHOUT_NAMESPACES, *arguments]
    runner = [sys.executable, str(HERE / "as_nobody.py"), *folders, "--", *command]
    return subprocess.run(runner, capture_output=True, text=True, cwd=source, env=environment, timeout=600)


def test_machine_without_namespaces_is_found_to_offer_tier_c(tmp_path: Path):
    result = as_nobody(tmp_path, "-c", ASK)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("C C 2\n"), result.stdout
    assert "tier B: " in result.stdout, "why not the better one"


@pytest.mark.slow
def test_attacks_from_an_unprivileged_user(tmp_path: Path):
    tests = str(HERE / "test_attacks_alone.py")
    result = as_nobody(tmp_path, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", tests)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    assert " passed" in result.stdout
    assert "skipped" not in result.stdout or "scope signals" in result.stdout
