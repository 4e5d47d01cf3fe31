"""Attacks from cells: on the process that holds the variables, on what it tells the init, and on forks of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandmle.sandboxes import LocalBackend, Sandbox, SandboxSpec

LINE = """
import gc, json, os, signal, socket, struct
(notebook,) = [o for o in gc.get_objects() if type(o).__name__ == "Notebook"]
line = notebook._line
"""


@pytest.fixture
async def stateful(backend: LocalBackend, inputs: Path) -> AsyncIterator[Sandbox]:
    """Whatever a cell does to its own variables, the sandbox must not fail, and forget what it can't keep."""
    async with await backend.create(SandboxSpec(inputs={"input": inputs}, stateful=True)) as sandbox:
        assert (await sandbox.run("kept = 1", timeout=30)).state == "kept"
        yield sandbox
        for _ in range(3):
            last = await sandbox.run("print('next')", timeout=10)
        assert (last.status, last.output) == ("ok", "next\n")
        await sandbox.write("file", b"1")
        assert await sandbox.read("file", max_bytes=1) == b"1"


@pytest.mark.parametrize(
    "forged",
    [
        "b''",
        "b'no json'",
        "b'[1]'",
        "b'{}'",
        "b'9' * 5000",
        "b'[' * 60000",
        'b\'{"op": "ended"}\'',
        "json.dumps({'op': 'ended', 'pid': 1, 'exit_code': 0, 'cpu_s': 0, 'peak': 0}).encode()",
        "json.dumps({'op': 'ended', 'pid': -1, 'exit_code': 0, 'cpu_s': 0, 'peak': 0}).encode()",
        "json.dumps({'op': 'ended', 'pid': 'x', 'exit_code': [], 'cpu_s': 'x', 'peak': None}).encode()",
        "json.dumps({'op': 'ended', 'pid': 1 << 80, 'exit_code': 1 << 80, 'cpu_s': -1, 'peak': 1e308}).encode()",
        'b\'{"op": "ended", "pid": NaN, "exit_code": Infinity, "cpu_s": NaN, "peak": NaN}\'',
        "json.dumps({'op': 'died', 'status': 9, 'number': 2, 'cpu_s': -1, 'peak': -1}).encode()",
        "json.dumps({'op': 'adopted', 'pid': 1}).encode()",
    ],
)
async def test_forged_message(stateful: Sandbox, forged: str):
    result = await stateful.run(f"{LINE}line.send({forged})\nprint('sent')", timeout=10)
    assert result.status in ("ok", "error", "killed", "timeout")
    assert result.cpu_s >= 0


async def test_flood_of_messages(stateful: Sandbox):
    code = f"{LINE}line.setblocking(False)\nwhile True:\n    try: line.send(b'{{}}')\n    except OSError: pass"
    assert (await stateful.run(code, timeout=2)).status in ("timeout", "killed", "error", "ok")


async def test_descriptors_sent_to_the_init(stateful: Sandbox):
    code = f"{LINE}\nfor _ in range(200): socket.send_fds(line, [b'x'], [0] * 200)"
    assert (await stateful.run(code, timeout=5)).status in ("ok", "error", "timeout", "killed")


@pytest.mark.parametrize("number", ["SIGKILL", "SIGSTOP", "SIGTERM", "SIGSEGV"])
@pytest.mark.parametrize("whom", ["os.getppid()", "-1", "1"])
async def test_signal_for_who_holds_the_state(stateful: Sandbox, whom: str, number: str):
    result = await stateful.run(f"import os, signal\nos.kill({whom}, signal.{number})", timeout=2)
    assert result.status in ("ok", "error", "killed", "timeout")


@pytest.mark.parametrize("tamper", ["line.close()", "line.shutdown(2)", "os.closerange(0, 64)", "os._exit(0)"])
async def test_hanging_up(stateful: Sandbox, tamper: str):
    assert (await stateful.run(LINE + tamper, timeout=2)).status in ("ok", "error", "killed", "timeout")


async def test_daemon_of_a_cell(stateful: Sandbox):
    code = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)"
    assert (await stateful.run(code, timeout=10)).status == "ok"
    states = "[open(f'/proc/{n}/stat').read().split()[2] for n in os.listdir('/proc') if n.isdigit()]"
    alive = await stateful.run(f"print(sum(state not in 'ZX' for state in {states}))", timeout=10)
    assert alive.output == "3\n", "the init, who holds the state, and the cell"


async def test_timeout_rolls_back(stateful: Sandbox):
    result = await stateful.run("kept = 2\nwhile True: pass", timeout=1)
    assert (result.status, result.state) == ("timeout", "rolled_back")
    assert (await stateful.run("kept", timeout=10)).output == "1\n"


BREAK_OUT = """
branch = type(notebook)._branch.__globals__
branch["linux"].drop_capabilities = branch["linux"].drop_bounding_set = lambda: None
"""
LOOK = """
import os
print({line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "CapPrm"))})
"""


async def test_rights_kept_in_a_fork(backend: LocalBackend):
    """A fork enters its namespaces with all rights over them: one that keeps these reaches its siblings' layers."""
    async with await backend.create(SandboxSpec(stateful=True)) as sandbox:
        await sandbox.run(LINE + BREAK_OUT, timeout=10)
        (child,) = await sandbox.fork(1)
        async with child:
            assert (await child.run(LOOK, timeout=10)).output == "{'0000000000000000'}\n"


EVIL_PID = """
import os
pids, real = [os.getpid()], os.getpid
os.getpid = lambda: pids.pop() if pids else PID
"""
EVIL_HOLD = """
import json, os
real, held = json.loads, []
def loads(text):
    message = real(text)
    if message["op"] == "branch":
        HOLD
    return message
json.loads = loads
"""


@pytest.mark.parametrize(
    "evil",
    [
        *(EVIL_PID.replace("PID", pid) for pid in ("0", "1", "-1", "1 << 40")),
        EVIL_HOLD.replace("HOLD", "held.append(os.open('/', os.O_RDONLY))"),
        EVIL_HOLD.replace("HOLD", "held.append(os.open('note', os.O_RDWR))"),
        EVIL_HOLD.replace("HOLD", "import mmap; held.append(mmap.mmap(-1, 4096))"),
        EVIL_HOLD.replace("HOLD", "os.path.isdir, os.chdir = (lambda _: True), (lambda _: None)"),
    ],
    ids=["pid 0", "pid 1", "pid -1", "huge pid", "holds a folder", "holds a file", "shares memory", "stays outside"],
)
async def test_a_fork_that_cheats_is_not_believed(stateful: Sandbox, isolated: str, backend: LocalBackend, evil: str):
    await stateful.write("note", b"")
    assert (await stateful.run(evil, timeout=30)).state == "kept"
    async with await backend.create(SandboxSpec(stateful=True)) as other:
        (child,) = await stateful.fork(1)
        assert child.origin == "replayed"
        assert (await other.run("print(1)", timeout=30)).output == "1\n"
        await child.aclose()
