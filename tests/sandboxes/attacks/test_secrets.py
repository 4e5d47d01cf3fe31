"""Attacks on what others know: environments, memory, and everything that /proc shows of a process."""

from __future__ import annotations

import os
import secrets

import pytest

from sandmle.sandboxes import LocalBackend, Sandbox, SandboxSpec


async def test_secrets_of_the_environment(monkeypatch):
    """Neither in the environment nor anywhere in the memory that a step has inherited."""
    secret = secrets.token_hex(16)
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    code = """
import os, sys
wanted = sys.argv[1][::-1].encode()
found = 0
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
    for line in list(maps):
        span, rights = line.split()[:2]
        if rights.startswith("r") and (len(line.split()) == 5 or "[heap]" in line):
            first, end = (int(address, 16) for address in span.split("-"))
            memory.seek(first)
            try:
                found += memory.read(end - first).count(wanted)
            except OSError:
                pass
print(os.environ.get("OPENAI_API_KEY"), found)
"""
    async with LocalBackend() as backend, await backend.create(SandboxSpec(env={"MARKER": secret[::2]})) as sandbox:
        result = await sandbox.run(code, timeout=60, args=[secret[::-1]])
        assert result.output.startswith("None ")
        # The search finds itself: what it looks for is in its own memory, and nowhere else.
        own = await sandbox.run(code, timeout=60, args=[secrets.token_hex(16)])
        assert result.output == own.output


PROC = ["environ", "maps", "mem", "root/", "cwd/", "fd/", "exe", "map_files/", "pagemap", "auxv", "stack", "syscall"]


@pytest.mark.parametrize("name", PROC)
async def test_proc_of_the_init(outcomes, name: str):
    attack = f"os.listdir('/proc/1/{name}')" if name.endswith("/") else f"open('/proc/1/{name}', 'rb').read(1)"
    assert (await outcomes(attack))[0] in ("EACCES", "EPERM")


@pytest.mark.parametrize("name", ["cmdline", "comm", "status", "stat", "mountinfo", "cgroup", "sched", "limits"])
async def test_what_proc_tells_everybody_is_no_secret(sandbox: Sandbox, monkeypatch, name: str):
    result = await sandbox.run(f"print(open('/proc/1/{name}').read())", timeout=30)
    for value in (os.environ.get("HOME", ""), os.environ.get("USER", "")):
        assert len(value) < 4 or value not in result.output or value in ("root", "nobody") or name == "mountinfo"


async def test_processes_of_others(sandbox: Sandbox):
    code = """
import os
print(sorted(int(p) for p in os.listdir("/proc") if p.isdigit()) == [1, os.getpid()])
print([pid for pid in range(2, 40_000) if pid != os.getpid() and os.path.exists(f"/proc/{pid}")])
"""
    assert (await sandbox.run(code, timeout=60)).output == "True\n[]\n"


async def test_inherited_descriptors(sandbox: Sandbox):
    code = """
import os
for name in sorted(os.listdir("/proc/self/fd"), key=int)[:-1]:
    print(name, os.readlink(f"/proc/self/fd/{name}").split(":")[0])
"""
    assert (await sandbox.run(code, timeout=30)).output == "0 /dev/null\n1 pipe\n2 pipe\n"


async def test_memory_shared_with_others(sandbox: Sandbox):
    """A mapping that the zygote shared would let sandboxes write into each other."""
    code = (
        "print([line for line in open('/proc/self/maps') if line.split()[1].endswith('s') and 'w' in line.split()[1]])"
    )
    assert (await sandbox.run(code, timeout=30)).output == "[]\n"


@pytest.mark.parametrize(
    "attack",
    [
        "call('ptrace', 16, 1, 0, 0)",
        "call('ptrace', 0x4206, 1, 0, 0)",
        "call('ptrace', 0, 0, 0, 0)",
        "call('process_vm_readv', 1, bytes(16), 1, bytes(16), 1, 0)",
        "call('process_vm_writev', 1, bytes(16), 1, bytes(16), 1, 0)",
        "call('pidfd_getfd', os.pidfd_open(1), 3, 0)",
        "call('kcmp', os.getpid(), 1, 0, 0, 0)",
        "call('get_robust_list', 1, bytes(8), bytes(8))",
        "call('perf_event_open', bytes(128), 1, -1, -1, 0)",
        "call('migrate_pages', 1, 1, bytes(8), bytes(8))",
        "call('move_pages', 1, 0, 0, 0, 0, 0)",
        "os.write(os.open('/proc/1/clear_refs', os.O_WRONLY), b'1')",
        "os.write(os.open('/proc/1/coredump_filter', os.O_WRONLY), b'1')",
        "os.write(os.open('/proc/1/comm', os.O_WRONLY), b'1')",
    ],
)
async def test_looking_into_the_init(outcomes, attack: str):
    assert (await outcomes(attack))[0] in ("EPERM", "EACCES", "ENOSYS")


@pytest.mark.parametrize(
    "attack",
    [
        "call('keyctl', 0, -3, 1, 0, 0)",
        "call('add_key', b'user', b'name', b'data', 4, -3)",
        "call('request_key', b'user', b'name', 0, 0)",
    ],
)
async def test_keyrings(outcomes, attack: str):
    assert await outcomes(attack) == ["EPERM"]


async def test_kernel_log(outcomes):
    assert await outcomes("call('syslog', 3, bytes(100), 100)") == ["EPERM"]


async def test_core_dumps(outcomes):
    """A limit of 0 does not stop the kernel from piping a core to the machine's crash handler; 1 does."""
    assert await outcomes(
        "1 / (resource.getrlimit(resource.RLIMIT_CORE) == (1, 1))",
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 1))",
        "call('setrlimit', 4, bytes(16))",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))",
    ) == ["SUCCEEDED", "ValueError", "ValueError", "EPERM", "SUCCEEDED"]
