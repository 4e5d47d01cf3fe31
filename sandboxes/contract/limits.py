"""Limits: what a step may use, and that reaching a limit harms nothing but the step."""

from __future__ import annotations

from sandmle.sandboxes._protocol import Capabilities, SandboxBackend, SandboxLimits
from sandmle.sandboxes.contract._check import check, expect, isolated, script, step

__all__: list[str] = []


def _sized_workspace(found: Capabilities) -> str:
    return "" if found.tier in ("A", "B") else f"tier {found.tier} can't bound the size of the whole workspace"


@check()
async def file_size(backend: SandboxBackend) -> None:
    """A file can't grow beyond ``file_mib``; code is told, and the next step works."""
    code = """
written = 0
with open("big", "wb", buffering=0) as stream:
    try:
        while written < 64:
            stream.write(bytes(1 << 20))
            written += 1
    except OSError as error:
        print(error.strerror)
print(written <= 8)
"""
    async with script(backend, limits=SandboxLimits(file_mib=8)) as sandbox:
        await step(sandbox, code, "File too large\nTrue\n")
        await sandbox.remove("big")
        await step(sandbox, "print(2)", "2\n")


@check(_sized_workspace)
async def workspace_size(backend: SandboxBackend) -> None:
    """Many files together can't grow beyond ``workspace_mib``; afterwards the host can still make room."""
    code = """
made = 0
try:
    for number in range(64):
        with open(f"part{number}", "wb") as stream:
            stream.write(bytes(1 << 20))
        made += 1
except OSError as error:
    print(error.strerror)
print(made <= 8)
"""
    async with script(backend, limits=SandboxLimits(workspace_mib=8)) as sandbox:
        await step(sandbox, code, "No space left on device\nTrue\n")
        for number in range(4):
            await sandbox.remove(f"part{number}")
        await sandbox.write("new", bytes(1 << 20))
        expect(await sandbox.read("new", max_bytes=1 << 20) == bytes(1 << 20), "the new file is not read back")


@check()
async def memory(backend: SandboxBackend) -> None:
    """A step can't use much more than ``memory_mib``: it ends with a MemoryError or as ``oom`` or ``killed``."""
    code = "parts = []\nfor _ in range(40): parts.append(b'x' * (64 << 20))\nprint('all of it')"
    async with script(backend, limits=SandboxLimits(memory_mib=512)) as sandbox:
        result = await sandbox.run(code, timeout=60)
        expect(result.status in ("error", "oom", "killed"), f"2.5 GiB of 512 MiB: {result.status}")
        expect(result.status != "error" or "MemoryError" in result.output, f"it ends {result.output[-60:]!r}")
        await step(sandbox, "print(2)", "2\n")


@check(isolated)
async def processes(backend: SandboxBackend) -> None:
    """A step can't start more than ``processes`` processes, and they are all gone at its end."""
    code = """
import os, time
made = 0
try:
    while made < 200:
        if os.fork() == 0:
            time.sleep(100)
            os._exit(0)
        made += 1
except OSError:
    pass
print(made < 40, flush=True)
os._exit(0)
"""
    async with script(backend, limits=SandboxLimits(processes=40)) as sandbox:
        await step(sandbox, code, "True\n")
        await step(sandbox, code, "True\n")


@check()
async def threads(backend: SandboxBackend) -> None:
    """Libraries that ask how many cores they may use are told ``cpus``."""
    async with script(backend, limits=SandboxLimits(cpus=2)) as sandbox:
        code = "import os\nprint(os.environ['OMP_NUM_THREADS'], os.environ['OPENBLAS_NUM_THREADS'])"
        await step(sandbox, code, "2 2\n")
