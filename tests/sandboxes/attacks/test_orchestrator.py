"""What is left when the host's side ends, in every way in which it can end: nothing."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandmle.errors import InfraError
from sandmle.sandboxes import LocalBackend, SandboxSpec

CHECK = Path(__file__).parents[3] / ".ci" / "check_processes.py"

PARENT = """
import asyncio, pathlib, sys
from sandmle.sandboxes import LocalBackend, SandboxSpec
async def main():
    bare = pathlib.Path(sys.executable).resolve()
    sandbox = await LocalBackend(python=bare).create(SandboxSpec())
    code = "import os, time\\nif os.fork() == 0: os.setsid()\\nwhile True: time.sleep(1)"
    task = asyncio.create_task(sandbox.run(code, timeout=1000))
    await asyncio.sleep(1)
    print("running", flush=True)
    await task
asyncio.run(main())
"""


def await_ends(watched: list[int]) -> None:
    deadline = time.monotonic() + 10
    for fd in watched:
        assert select.select([fd], [], [], max(0, deadline - time.monotonic()))[0], "a process outlived its parent"
        os.close(fd)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGINT])
def test_killing_the_orchestrator(children, number: signal.Signals):
    def descendants(pid: int) -> list[int]:
        return [one for child in children(pid) for one in (child, *descendants(child))]

    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"running\n"
        watched = [os.pidfd_open(pid) for pid in descendants(parent.pid)]
        parent.send_signal(number)
    assert len(watched) == 4, "the zygote, the init of the sandbox and two processes of the step"
    await_ends(watched)


async def test_closing_in_the_middle_of_a_step(backend: LocalBackend, init_of):
    sandbox = await backend.create(SandboxSpec())
    init = os.pidfd_open(init_of(sandbox))
    task = asyncio.create_task(sandbox.run("while True: pass", timeout=60))
    await asyncio.sleep(0.3)
    await sandbox.aclose()
    with pytest.raises(InfraError):
        await asyncio.wait_for(task, 5)
    with pytest.raises(ProcessLookupError):
        signal.pidfd_send_signal(init, 0)
    os.close(init)


async def test_descriptors_are_not_leaked(backend: LocalBackend):
    await (await backend.create(SandboxSpec())).aclose()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        async with await backend.create(SandboxSpec()) as sandbox:
            await sandbox.run("print(1)", timeout=30)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.fixture
def own_environment(tmp_path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "own"], check=True)
    return tmp_path / "own"


async def test_ps_shows_no_process_of_ours_after_a_session(own_environment: Path):
    """By the check that CI makes after all tests, on an interpreter of this session's own."""
    spec = importlib.util.spec_from_file_location("check_processes", CHECK)
    assert spec is not None
    assert spec.loader is not None
    check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check)
    daemon = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)"
    async with LocalBackend(python=own_environment / "bin" / "python") as backend:
        sandboxes = [await backend.create(SandboxSpec()) for _ in range(3)]
        steps = [asyncio.create_task(sandbox.run("while True: pass", timeout=60)) for sandbox in sandboxes[:1]]
        assert (await sandboxes[1].run(daemon, timeout=30)).status == "ok"
        async with asyncio.timeout(30):  # the zygote, the inits, the first step
            while len(found := check.left_behind(own_environment)) < 5:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.02)
        watched = [os.pidfd_open(pid) for pid in found]
        await sandboxes[2].aclose()
    await asyncio.to_thread(await_ends, watched)
    assert check.left_behind(own_environment) == {}
    await asyncio.gather(*steps, *(sandbox.aclose() for sandbox in sandboxes), return_exceptions=True)
