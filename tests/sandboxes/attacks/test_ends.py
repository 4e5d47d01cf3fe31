"""Attacks on the verdict: odd ends of a process, and code that tampers with how its own end is told."""

from __future__ import annotations

import pytest

from sandmle.sandboxes import LocalBackend, Sandbox, SandboxLimits, SandboxSpec


@pytest.mark.parametrize(
    ("code", "status", "exit_code", "number"),
    [
        ("import os; os._exit(0)", "ok", 0, None),
        ("import os; os._exit(7)", "error", 7, None),
        ("import sys; sys.exit(3)", "error", 3, None),
        ("import sys; sys.exit(256)", "ok", 0, None),
        ("import sys; sys.exit('text')", "error", 1, None),
        ("import ctypes; ctypes.string_at(0)", "error", None, 11),
        ("import os; os.abort()", "error", None, 6),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", "error", None, 4),
        ("import os; os.kill(os.getpid(), 64)", "error", None, 64),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed", None, 9),
        ("import os, threading; threading.Thread(target=os._exit, args=(5,)).start()", "error", 5, None),
        ("import os; os.execv('/bin/sh', ['sh', '-c', 'exit 9'])", "error", 9, None),
    ],
)
async def test_end(sandbox: Sandbox, code: str, status: str, exit_code: int | None, number: int | None):
    result = await sandbox.run(code, timeout=60)
    assert (result.status, result.exit_code, result.signal) == (status, exit_code, number)


@pytest.mark.parametrize(
    "tamper",
    [
        "import os; os._exit = lambda status: None",
        "import sys; sys.exit = sys.excepthook = None",
        "import atexit, os; atexit.register(os._exit, 0)",
        "import os, threading; threading._shutdown = lambda: 1 / 0",
        "import gc; [kept.clear() for kept in gc.get_objects() if type(kept) is dict and 'MAIN' in kept]",
        "import builtins; builtins.__dict__.clear()",
        "import sys; sys.modules.clear()",
    ],
)
async def test_tampering_with_the_own_end(sandbox: Sandbox, tamper: str):
    """Whatever status code gives itself, it is its own, and it ends."""
    result = await sandbox.run(f"print('here', flush=True)\n{tamper}", timeout=30)
    assert result.status in ("ok", "error")
    assert result.output.startswith("here\n")


async def test_finalizer_that_never_returns(sandbox: Sandbox):
    code = "class A:\n    def __del__(self):\n        while True: pass\na = A()\nprint('end', flush=True)"
    result = await sandbox.run(code, timeout=1)
    assert (result.status, result.output) == ("timeout", "end\n")


async def test_out_of_memory(backend: LocalBackend):
    async with await backend.create(SandboxSpec(limits=SandboxLimits(memory_mib=300))) as sandbox:
        result = await sandbox.run("hog = []\nwhile True: hog.append(bytearray(10 << 20))", timeout=60)
        assert result.status in ("oom", "error")
        assert result.peak_mib < 320
        assert (await sandbox.run("print(2)", timeout=30)).output == "2\n"
