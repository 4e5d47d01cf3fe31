"""Attacks on the channel between the init and the host: forged answers, and the end of either of them."""

from __future__ import annotations

import asyncio
import os
import re
import signal

import pytest

from sandmle.errors import InfraError
from sandmle.sandboxes import LocalBackend, Sandbox, SandboxSpec

FORGE = """
import json, os, socket, struct
text = json.dumps({"id": 0, "status": "ok", "exit_code": 0, "signal": None, "head": "FORGED", "tail": "",
                   "total_bytes": 6, "wall_s": 0, "cpu_s": 0, "peak_mib": 0, "ready": True, "pid": 1}).encode()
frame = struct.pack("!II", len(text), 0) + text
def everywhere():
    for fd in range(3, 4096):
        yield fd
    for pid in (1, os.getpid()):
        for fd in range(0, 64):
            if (pid, fd) not in ((os.getpid(), 1), (os.getpid(), 2)):
                yield f"/proc/{pid}/fd/{fd}"
reached = []
for target in everywhere():
    try:
        fd = target if isinstance(target, int) else os.open(target, os.O_WRONLY)
        os.write(fd, frame)
        reached.append(target)
        os.close(fd)
    except OSError:
        pass
os.write(1, frame + b"\\n")
os.write(2, frame + b"\\n")
print(reached)
os._exit(7)
"""


async def test_forged_messages_on_every_descriptor(sandbox: Sandbox):
    result = await sandbox.run(FORGE, timeout=60)
    assert (result.status, result.exit_code) == ("error", 7)
    assert result.output.count("FORGED") == 2
    stdin = r"\['/proc/\d+/fd/0'\]"
    assert re.search(rf"\n(\[\]|{stdin})\n$", result.output), result.output


async def test_forged_messages_to_sockets_of_the_sandbox(sandbox: Sandbox):
    code = "print(open('/proc/net/unix').read().count('\\n'), os.path.exists('/proc/net/vsock'))"
    result = await sandbox.run(f"import os\n{code}", timeout=30)
    assert result.output.split()[0] == "1", "a socket of ours is in the sandbox's network namespace"


async def test_raising_what_leaves_the_frames_of_the_init(sandbox: Sandbox):
    code = """
import gc
found = [kind for kind in gc.get_objects() if isinstance(kind, type) and kind.__name__ == "Become"]
print(len(found))
raise found[0](None) if found else SystemExit(1)
"""
    result = await sandbox.run(code, timeout=30)
    assert (result.status, result.exit_code) == ("error", 1)


async def test_killing_the_init_from_inside(sandbox: Sandbox):
    code = """
import os, signal
for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError:
        pass
    try:
        signal.pidfd_send_signal(os.pidfd_open(1), number)
    except OSError:
        pass
print("alive")
"""
    assert (await sandbox.run(code, timeout=30)).output == "alive\n"


async def test_sigkill_of_the_init(backend: LocalBackend, init_of):
    async with await backend.create(SandboxSpec()) as sandbox:
        task = asyncio.create_task(sandbox.run("import time; time.sleep(60)", timeout=60))
        await asyncio.sleep(0.5)
        os.kill(init_of(sandbox), signal.SIGKILL)
        with pytest.raises(InfraError):
            await asyncio.wait_for(task, 10)
        with pytest.raises(InfraError):
            await sandbox.run("print(1)", timeout=5)
    async with await backend.create(SandboxSpec()) as other:
        assert (await other.run("print(1)", timeout=30)).output == "1\n"


async def test_code_that_is_no_text(sandbox: Sandbox):
    result = await sandbox.run("x = '\udcff'\x00\n", timeout=30)
    assert result.status == "error"


async def test_huge_arguments(sandbox: Sandbox):
    result = await sandbox.run("import sys; print(len(sys.argv[1]))", timeout=30, args=["x" * (8 << 20)])
    assert result.output == f"{8 << 20}\n"
    with pytest.raises(ValueError, match="NUL"):
        await sandbox.run("", timeout=30, args=["a\0b"])
