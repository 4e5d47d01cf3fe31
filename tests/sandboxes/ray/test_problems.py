"""What a person reads where there is no Ray, or no cluster."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import sys

import pytest

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.sandboxes import SandboxSpec, open_backend
from sandmle.sandboxes.ray import RayBackend, _watcher


def test_ray_is_not_installed(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EnvironmentProblem, match=r"pip install 'sandmle\[ray\]'"):
        open_backend("ray")


def test_more_than_one_gpu_for_a_sandbox():
    with pytest.raises(BadInput, match="gpus must be from 0 to 1, not 2"):
        RayBackend(gpus=2)


async def test_nobody_listens(monkeypatch):
    if importlib.util.find_spec("ray") is None:
        pytest.skip("needs pip install 'sandmle[ray]'")
    import ray

    ray.shutdown()  # other tests may have joined a cluster
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{server.getsockname()[1]}")
    async with RayBackend() as backend:
        with pytest.raises(EnvironmentProblem, match=r"no Ray cluster can be reached .*refused.*RAY_ADDRESS"):
            await backend.create(SandboxSpec())


@pytest.mark.parametrize(("end", "told"), [("os._exit(1)", True), ("sys.exit(0)", False)])
def test_an_end_without_a_word_is_explained(end: str, told: bool):
    code = f"import os, sys\nfrom {_watcher.__name__} import watch\nwatch()\n{end}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ("the same command goes on from there" in done.stderr) == told
