"""Attacks on memory: more of it than allowed, and memory that outlives the step which took it."""

from __future__ import annotations

import pytest

from sandmle.sandboxes import LocalBackend, Sandbox, SandboxLimits, SandboxSpec


async def test_one_hog(backend: LocalBackend):
    async with await backend.create(SandboxSpec(limits=SandboxLimits(memory_mib=300))) as sandbox:
        result = await sandbox.run("import numpy as np\nnp.ones(400 << 17)", timeout=60)
        assert result.status in ("oom", "error")
        assert (await sandbox.run("print(2)", timeout=30)).output == "2\n"


async def test_hog_by_mapping(backend: LocalBackend):
    code = "import mmap\nkept = [mmap.mmap(-1, 1 << 30) for _ in range(64)]"
    async with await backend.create(SandboxSpec(limits=SandboxLimits(memory_mib=600))) as sandbox:
        assert (await sandbox.run(code, timeout=60)).status in ("oom", "error")


@pytest.mark.parametrize("call", ["shmget", "semget", "msgget"])
async def test_system_v_memory_that_stays(outcomes, call: str):
    """Its segments outlive their makers, count in no limit, and were once left to the next steps."""
    assert await outcomes(f"call({call!r}, 77, 1 << 20, 0o1666)") == ["EPERM"]


async def test_shared_memory_folder(backend: LocalBackend):
    code = """
made = 0
try:
    while True:
        open(f"/dev/shm/{made}", "wb", buffering=0).write(bytes(8 << 20))
        made += 1
except OSError as error:
    print(error.strerror, made <= 8)
"""
    async with await backend.create(SandboxSpec()) as sandbox:
        output = (await sandbox.run(code, timeout=30)).output
        assert output in ("No space left on device True\n", "")
        assert (await sandbox.run("print(2)", timeout=30)).output == "2\n"


async def test_message_queues(sandbox: Sandbox, prelude: str):
    """POSIX queues live in the sandbox's own ipc namespace and are few."""
    code = """
try:
    rt = ctypes.CDLL("librt.so.1")
except OSError:
    rt = libc
made = [rt.mq_open(f"/queue{n}".encode(), os.O_CREAT | os.O_RDWR, 0o666, None) for n in range(300)]
print(max(made) >= 0, sum(fd >= 0 for fd in made) < 260)
"""
    assert (await sandbox.run(prelude + code, timeout=30)).output.split()[1] == "True"


async def test_locking_memory(sandbox: Sandbox, prelude: str):
    code = """
import mmap
page = mmap.mmap(-1, 1 << 30)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
print(libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(1 << 30)), libc.mlockall(3))
"""
    result = await sandbox.run(prelude + code, timeout=60)
    assert result.status in ("ok", "error", "oom")


async def test_memory_of_a_step_is_free_after_it(sandbox: Sandbox):
    code = """
import os
kept = [os.memfd_create(str(n)) for n in range(6)]
for fd in kept:
    os.ftruncate(fd, 64 << 20)
    os.pwrite(fd, bytes(64 << 20), 0)
def shared():
    fields = dict(line.split(":") for line in open("/proc/meminfo"))
    return int(fields["Shmem"].split()[0]) // 1024
print(shared())
"""
    measure = code.partition("def shared")
    during = int((await sandbox.run(code, timeout=60)).output)
    after = int((await sandbox.run("def shared" + measure[2], timeout=30)).output)
    assert during - after > 200  # of 384; others use shared memory too
