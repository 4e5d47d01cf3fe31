"""Attacks on the output: too much of it, and ways to block whoever reads it."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from sandmle.sandboxes import Sandbox


def peak_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


async def test_100_mb_are_cut_and_cost_no_memory(sandbox: Sandbox, init_of):
    await sandbox.run("print(1)", timeout=30)
    ours, init = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, peak_mib(init_of(sandbox))
    code = "import os\nline = b'flood ' * 1000 + b'\\n'\nfor _ in range(17000): os.write(1, line)"
    result = await sandbox.run(code, timeout=60)
    assert result.status == "output_limit"
    assert 64 << 20 < result.total_bytes < 66 << 20
    assert len(result.head) + len(result.tail) <= 20_000
    assert peak_mib(init_of(sandbox)) - init < 8
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - ours) / 1024 < 8


@pytest.mark.parametrize("stream", [1, 2])
async def test_endless_output(sandbox: Sandbox, stream: int):
    result = await sandbox.run(f"import os\nwhile True: os.write({stream}, b'y\\n' * 30000)", timeout=60)
    assert (result.status, result.head[:4]) == ("output_limit", "y\ny\n")


async def test_endless_output_of_a_crowd(sandbox: Sandbox):
    code = "import os\nfor _ in range(4): os.fork()\nwhile True: os.write(1, b'crowd\\n' * 5000)"
    assert (await sandbox.run(code, timeout=60)).status == "output_limit"


async def test_40_mb_line_is_kept_at_both_ends(sandbox: Sandbox):
    result = await sandbox.run("print('first'); print('x' * (40 << 20)); print('last')", timeout=60)
    assert result.status == "ok"
    assert result.head.startswith("first\n")
    assert result.tail.endswith("x\nlast\n")


@pytest.mark.parametrize("text", ["'\\r\\n' + 'x' * (16 << 20)", "'\\r' * (16 << 20) + 'x'"])
async def test_carriage_returns_that_are_costly_to_collapse(sandbox: Sandbox, text: str):
    """They once took quadratic time, in which the init enforced no limit."""
    code = f"import fcntl\nfcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 1 << 20)\nprint({text})\nprint('end')"
    result = await sandbox.run(code, timeout=30)
    assert result.status == "ok"
    assert result.output.endswith("x\nend\n")


async def test_reading_the_own_output_before_the_init_does(sandbox: Sandbox):
    """Once the init blocked on a pipe that had just been emptied, deaf to the deadline: an error of ours, it seemed."""
    code = """
import os, time
print("begun", flush=True)
time.sleep(0.2)
try:
    thief = os.open("/proc/self/fd/1", os.O_RDONLY)
except PermissionError:
    thief = None
for _ in range(3):
    if thief is not None and os.fork() == 0:
        while True:
            os.read(thief, 1 << 16)
time.sleep(0.1)
for _ in range(100):
    os.write(1, b"x\\n")
    time.sleep(0.002)
time.sleep(1000)
"""
    result = await sandbox.run(code, timeout=2)
    assert (result.status, result.head[:6]) == ("timeout", "begun\n")


async def test_pipe_in_packet_mode_and_without_blocking(sandbox: Sandbox):
    code = """
import fcntl, os
fcntl.fcntl(1, fcntl.F_SETFL, os.O_DIRECT | os.O_NONBLOCK)
fcntl.fcntl(1, fcntl.F_SETPIPE_SZ, 4096)
for _ in range(1000):
    try:
        os.write(1, b"p")
    except BlockingIOError:
        pass
"""
    result = await sandbox.run(code, timeout=30)
    assert result.status == "ok"
    assert set(result.output) == {"p"}


async def test_closed_and_replaced_output(sandbox: Sandbox):
    code = """
import os, time
os.write(1, b"before\\n")
os.closerange(0, 3)
os.open("/workspace/elsewhere", os.O_CREAT | os.O_RDWR)
os.dup2(0, 1)
os.write(1, b"to a file")
time.sleep(0.3)
"""
    result = await sandbox.run(code, timeout=30)
    assert (result.status, result.output) == ("ok", "before\n")


async def test_bytes_that_are_no_text(sandbox: Sandbox):
    result = await sandbox.run("import os; os.write(1, b'\\xff\\xfe\\x00\\x1b[2J\\xed\\xa0\\x80end\\n')", timeout=30)
    assert (result.status, result.total_bytes) == ("ok", 14)
    assert result.output.endswith("end\n")
    result.model_dump_json()


async def test_byte_by_byte(sandbox: Sandbox):
    result = await sandbox.run("import os\nwhile True: os.write(1, b'.')", timeout=1)
    assert result.status == "timeout"
    assert set(result.head) == {"."}
