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


@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become another user; others run the attacks in tier C anyway"
)
@pytest.mark.skipif(
    sys.platform != "linux" or landlock.abi() < landlock.LEAST_ABI,
    reason="this kernel offers no Landlock that is enough",
)
def test_attacks_from_an_unprivileged_user(tmp_path: Path):
    source = Path(sandmle.__file__).resolve().parents[2]
    folders = [sys.prefix, sys.base_prefix, str(source), str(HERE), str(tmp_path)]
    tmp_path.chmod(0o777)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "LANG": "C.UTF-8"}
    tests = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", str(HERE / "test_attacks_alone.py")]
    runner = [sys.executable, str(HERE / "as_nobody.py"), *folders, "--", *tests]
    result = subprocess.run(runner, capture_output=True, text=True, cwd=source, env=environment, timeout=600)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    assert " passed" in result.stdout
    assert "skipped" not in result.stdout or "scope signals" in result.stdout
