"""Attacks on another sandbox: its files, processes, sockets, shared memory, and what it does with a shared input."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandmle.sandboxes import LocalBackend, Sandbox, SandboxSpec

VICTIM = """
import mmap, multiprocessing.shared_memory, os, socket, time
s = socket.socket(socket.AF_UNIX); s.bind("\\0meet"); s.listen()
t = socket.create_server(("127.0.0.1", 5000))
p = socket.socket(socket.AF_UNIX); p.bind("/tmp/socket"); p.listen()
for folder in ("/workspace", "/tmp", "/dev/shm"):
    open(f"{folder}/here", "w").write("victim")
shared = multiprocessing.shared_memory.SharedMemory("victim", create=True, size=100)
os.mkfifo("/tmp/fifo")
print("ready", flush=True)
time.sleep(60)
"""


@pytest.fixture
async def pair(backend: LocalBackend, inputs: Path) -> AsyncIterator[Sandbox]:
    """A sandbox whose sibling is in the middle of a step."""
    spec = SandboxSpec(inputs={"input": inputs})
    async with await backend.create(spec) as victim, await backend.create(spec) as attacker:
        hold = asyncio.create_task(victim.run(VICTIM, timeout=60))
        await asyncio.sleep(0.5)
        yield attacker
        assert not hold.done(), hold.result()
        hold.cancel()
        await asyncio.wait({hold})
        assert await victim.read("here", max_bytes=10) == b"victim"
        checked = await victim.run("print(open('input/train.csv').read())", timeout=30)
        assert checked.output == "id,y\n1,2\n\n"


async def test_files(pair: Sandbox):
    paths = ["/workspace/here", "/tmp/here", "/dev/shm/here", "/dev/shm/victim", "/tmp/socket", "/tmp/fifo"]
    result = await pair.run(f"import os; print([p for p in {paths!r} if os.path.lexists(p)])", timeout=30)
    assert result.output == "[]\n"


async def test_processes(pair: Sandbox):
    result = await pair.run("import os; print(sum(name.isdigit() for name in os.listdir('/proc')))", timeout=30)
    assert result.output == "2\n"


async def test_signals(pair: Sandbox):
    code = """
import os, signal
for pid in range(2, 5000):
    try:
        if pid != os.getpid():
            os.kill(pid, signal.SIGKILL); print("SUCCEEDED", pid)
    except ProcessLookupError:
        pass
print("done")
"""
    assert (await pair.run(code, timeout=30)).output == "done\n"


async def test_sockets(pair: Sandbox):
    code = """
import socket
for address in ("\\0meet", ("127.0.0.1", 5000), "/tmp/socket"):
    try:
        socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET).connect(address)
        print("MET", address)
    except OSError:
        print("refused")
"""
    assert (await pair.run(code, timeout=30)).output == "refused\n" * 3


async def test_shared_memory(pair: Sandbox):
    code = """
import multiprocessing.shared_memory
try:
    multiprocessing.shared_memory.SharedMemory("victim"); print("SUCCEEDED")
except FileNotFoundError:
    print("none")
"""
    assert (await pair.run(code, timeout=30)).output == "none\n"


async def test_holding_a_shared_input(pair: Sandbox):
    """Whatever locks one takes on an input, the other reads it (the fixture looks)."""
    code = """
import fcntl, os
fd = os.open("input/train.csv", os.O_RDONLY)
fcntl.flock(fd, fcntl.LOCK_EX)
for lease in (fcntl.F_WRLCK, fcntl.F_RDLCK):
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, lease); print("SUCCEEDED")
    except PermissionError:
        print("refused")
"""
    assert (await pair.run(code, timeout=30)).output == "refused\n" * 2


async def test_user_ids_differ(backend: LocalBackend, isolated: str):
    async with await backend.create(SandboxSpec()) as one, await backend.create(SandboxSpec()) as two:
        uids = {(await sandbox.run("import os; print(os.getuid())", timeout=30)).output for sandbox in (one, two)}
    assert "0\n" not in uids
    assert len(uids) == (2 if isolated == "A" else 1)
