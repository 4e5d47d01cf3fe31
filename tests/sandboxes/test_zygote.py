"""The zygote as a process: nothing of a step stays in it, and it ends with its backend, however that ends."""

from __future__ import annotations

import asyncio
import gc
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandmle.errors import InfraError
from sandmle.sandboxes import LocalBackend, Sandbox, SandboxSpec
from sandmle.sandboxes._layout import base_environment, find_interpreter


async def test_poison_stays_in_its_step(backend: LocalBackend):
    poison = """
import builtins, json, os, sys, numpy as np, pandas as pd, sklearn.metrics
np.mean = lambda *_: "poisoned"
sklearn.metrics.accuracy_score = lambda *_: 1.0
json.dumps = builtins.sorted = None
sys.path.insert(0, "/nowhere"); os.environ["POISON"] = "1"
pd.set_option("display.max_rows", 1)
import ctypes
small = id(7) + 24
ctypes.c_int32.from_address(small).value = 8
"""
    check = """
import builtins, json, os, sys, numpy as np, pandas as pd, sklearn.metrics
print(np.mean([1, 3]), sklearn.metrics.accuracy_score([0, 1], [1, 1]), json.dumps(sorted([2, 1])), 3 + 4)
print("/nowhere" in sys.path, "POISON" in os.environ, pd.get_option("display.max_rows"))
"""
    async with await backend.create(SandboxSpec()) as one, await backend.create(SandboxSpec()) as two:
        assert (await one.run(poison, timeout=60)).status in ("ok", "error")
        outputs = [(await sandbox.run(check, timeout=60)).output for sandbox in (one, two)]
    async with await backend.create(SandboxSpec()) as three:
        outputs.append((await three.run(check, timeout=60)).output)
    assert outputs == ["2.0 0.5 [1, 2] 7\nFalse False 60\n"] * 3


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def family(sandbox: Sandbox) -> list[int]:
    """Descriptors of the processes of a sandbox, its zygote first."""
    pids = [parent(sandbox._body.channel.pid), sandbox._body.channel.pid]
    for pid in pids[1:]:
        pids += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return [os.pidfd_open(pid) for pid in pids]


def assert_gone(watched: list[int]) -> None:
    deadline = time.monotonic() + 10
    for fd in watched:
        assert select.select([fd], [], [], max(0, deadline - time.monotonic()))[0], "a process is left"
        os.close(fd)


@pytest.mark.parametrize("isolation", ["backend", "unisolated"])
async def test_zygote_has_one_thread_and_no_secret(isolation: str, request: pytest.FixtureRequest):
    async with await request.getfixturevalue(isolation).create(SandboxSpec()) as sandbox:
        zygote = Path(f"/proc/{parent(sandbox._body.channel.pid)}")
        status, environment = (zygote / "status").read_text(), (zygote / "environ").read_text()
    assert "Threads:\t1\n" in status
    names = {pair.partition("=")[0] for pair in environment.split("\0")}
    assert names - set(base_environment(find_interpreter(None), workspace="", home="")) <= {"TZ", ""}


async def test_killed_zygote_is_an_infrastructure_error_and_replaced(inputs: Path):
    async with LocalBackend(allow_unisolated=True) as backend:
        busy, idle = [await backend.create(SandboxSpec(inputs={"input": inputs})) for _ in range(2)]
        step = asyncio.create_task(busy.run("import time; time.sleep(100)", timeout=100))
        await asyncio.sleep(0.5)
        watched = [*family(busy), *family(idle)]
        signal.pidfd_send_signal(watched[0], signal.SIGKILL)
        with pytest.raises(InfraError, match="its init has ended"):
            await asyncio.wait_for(step, 10)
        await asyncio.to_thread(assert_gone, watched)
        with pytest.raises(InfraError):
            await idle.run("print(1)", timeout=10)
        await asyncio.gather(busy.aclose(), idle.aclose())
        async with await backend.create(SandboxSpec()) as sandbox:
            assert (await sandbox.run("print(1)", timeout=10)).output == "1\n"


async def test_closing_the_backend_ends_everything():
    backend = LocalBackend(allow_unisolated=True)
    gc.collect()
    before = len(list(Path("/proc/self/fd").iterdir()))
    async with backend:
        sandbox = await backend.create(SandboxSpec())
        watched = family(sandbox)
    await asyncio.to_thread(assert_gone, watched)
    with pytest.raises(InfraError):
        await sandbox.run("print(1)", timeout=10)
    await sandbox.aclose()
    await backend.aclose()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    async with backend, await backend.create(SandboxSpec()) as again:
        assert (await again.run("print(1)", timeout=10)).output == "1\n"


async def test_forgetting_the_backend_ends_everything():
    async def use() -> list[int]:
        async with await LocalBackend(allow_unisolated=True).create(SandboxSpec()) as sandbox:
            return family(sandbox)

    watched = await use()
    gc.collect()
    await asyncio.to_thread(assert_gone, watched)


FORGETFUL = """
import asyncio
from sandmle.sandboxes import LocalBackend, SandboxSpec
backend = LocalBackend(allow_unisolated=True)
async def main():
    global sandbox
    sandbox = await backend.create(SandboxSpec())
    print(sandbox._body.channel.pid, flush=True)
    input()
asyncio.run(main())
"""


def test_the_end_of_the_process_ends_everything():
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", FORGETFUL], **pipes) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        watched = [os.pidfd_open(one) for one in (pid, parent(pid))]
        process.communicate(b"\n", timeout=20)
    assert process.returncode == 0
    assert_gone(watched)


async def test_zygote_outlives_the_thread_and_loop_that_started_it():
    backend = LocalBackend(allow_unisolated=True)

    async def step() -> tuple[int, str]:
        async with await backend.create(SandboxSpec()) as sandbox:
            return parent(sandbox._body.channel.pid), (await sandbox.run("print(1)", timeout=10)).output

    async with backend:
        first = await asyncio.to_thread(lambda: asyncio.run(step()))
        assert await step() == first == (first[0], "1\n")
