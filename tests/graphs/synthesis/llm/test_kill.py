"""kill -9 at the worst moment of every node, when its work is done and not yet remembered: no call is paid twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import sandmle
from sandmle.files import hash_tree

pytestmark = [pytest.mark.flow, pytest.mark.slow]

NODES = (
    "data_strategist", "ml_developer", "threshold_check", "mlops_engineer", "evaluator_check", "technical_writer",
    "brief_check", "final_verification", "novelty_check", "human_review", "publish",
)  # fmt: skip
OPTIONS = {"n": 1, "mix": "tabular=1", "n_test": 1000}
DIES_IN = """
import functools, os, signal, sys
import sandmle
from sandmle.graphs.synthesis import nodes

node, team, out = sys.argv[1:]
real = getattr(nodes, node)


@functools.wraps(real)
async def dies(state, runtime):
    await real(state, runtime)
    os.kill(os.getpid(), signal.SIGKILL)


setattr(nodes, node, dies)
list(sandmle.generate_tasks(["iris"], out=out, team=team, OPTIONS))
"""


def test_no_call_is_paid_twice_wherever_the_batch_is_killed(server, team_file: Path, tmp_path: Path) -> None:
    script = DIES_IN.replace("OPTIONS", f"**{OPTIONS!r}")
    for node in NODES:
        command = [sys.executable, "-c", script, node, str(team_file), str(tmp_path / "killed")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == -signal.SIGKILL, (node, done.stderr)
    (task,) = sandmle.generate_tasks(["iris"], out=tmp_path / "killed", team=str(team_file), **OPTIONS)
    assert server.calls == dict.fromkeys(("strategist", "developer", "engineer", "writer", "reviewer"), 1)
    (unbroken,) = sandmle.generate_tasks(["iris"], out=tmp_path / "unbroken", team=str(team_file), **OPTIONS)
    assert hash_tree(task.root) == hash_tree(unbroken.root)
