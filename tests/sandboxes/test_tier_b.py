"""The user-namespace tier: the attacks again, from a process that is not root."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sandmle

HERE = Path(__file__).parent
QUICK = tuple(f"attacks/test_{name}.py" for name in ("files", "network", "rights", "secrets", "siblings"))
ALL = ("attacks", "test_script.py", "test_warm.py", "test_zygote.py", "test_cells.py", "test_forks.py")


def as_nobody(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    source = Path(sandmle.__file__).resolve().parents[2]
    folders = [sys.prefix, sys.base_prefix, str(source), str(HERE), str(folder)]
    folder.chmod(0o777)
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(folder), "LANG": "C.UTF-8"}
    runner = [sys.executable, str(HERE / "as_nobody.py"), *folders, "--", *command]
    return subprocess.run(runner, capture_output=True, text=True, cwd=source, env=environment, timeout=1200)


@pytest.mark.slow
@pytest.mark.parametrize("suites", [QUICK, ALL], ids=["quick", "all"])
@pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can become another user; others run the attacks in tier B anyway"
)
def test_attacks_from_an_unprivileged_user(suites: tuple[str, ...], tmp_path: Path):
    ask = "from sandmle.sandboxes import LocalBackend; print(LocalBackend().capabilities.model_dump_json())"
    found = as_nobody(sys.executable, "-c", ask, folder=tmp_path)
    assert found.returncode == 0, found.stderr
    if '"tier":"B"' not in found.stdout:
        pytest.skip(f"no user namespaces for an unprivileged user here: {found.stdout}")
    options = ["-q", "-n2", "--dist=loadfile", "-p", "no:cacheprovider", "-k", "not unisolated"]
    command = [sys.executable, "-m", "pytest", *options, *(str(HERE / name) for name in suites)]
    result = as_nobody(*command, folder=tmp_path)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    assert " passed" in result.stdout
    assert "skipped" not in result.stdout
