"""Attacks with processes: ones that should outlive the step, that are too many, or that can't be stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandmle.sandboxes import LocalBackend, Sandbox, SandboxLimits, SandboxSpec

DEAF = """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
"""


async def test_grandchild_that_holds_the_pipe(sandbox: Sandbox):
    code = """
import subprocess
subprocess.Popen(["/bin/sh", "-c", "sleep 1000 & sleep 1000"])
print("parent done", flush=True)
"""
    result = await sandbox.run(code, timeout=60)
    assert (result.status, result.output) == ("ok", "parent done\n")
    assert result.wall_s < 30


async def test_daemon_that_holds_the_pipe(sandbox: Sandbox):
    code = f"""
import os, time
if os.fork() == 0:
    os.setsid()
    {"    ".join(DEAF.splitlines(keepends=True))}
    if os.fork() == 0:
        time.sleep(1)
        open("/workspace/survived", "w").close()
        time.sleep(1000)
    os._exit(0)
print("parent done", flush=True)
"""
    result = await sandbox.run(code, timeout=60)
    assert (result.status, result.output) == ("ok", "parent done\n")
    assert result.wall_s < 30
    later = await sandbox.run("import os, time; time.sleep(1.2); print(os.path.exists('survived'))", timeout=30)
    assert later.output == "False\n"


async def test_child_that_becomes_its_parents_sibling(sandbox: Sandbox, prelude: str):
    code = """
CLONE_PARENT = 0x8000
if libc.syscall(NUMBERS["clone"][COLUMN], CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0) == 0:
    while True:
        signal.pause()
print("parent done", flush=True)
"""
    result = await sandbox.run(prelude + code, timeout=30)
    assert (result.status, result.output) == ("ok", "parent done\n")


async def test_subreaper_that_keeps_orphans(sandbox: Sandbox, prelude: str):
    code = """
PR_SET_CHILD_SUBREAPER = 36
libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
if os.fork() == 0:
    if os.fork() == 0:
        signal.pause()
    os._exit(0)
signal.pause()
"""
    assert (await sandbox.run(prelude + code, timeout=1)).status == "timeout"


async def test_fork_bomb(backend: LocalBackend, children, init_of):
    code = """
import os, time
print("bomb", flush=True)
made = 0
while True:
    try:
        if os.fork() == 0:
            time.sleep(100)
        made += 1
    except BlockingIOError:
        print("stopped at", made < 41, flush=True)
        break
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
    async with await backend.create(SandboxSpec(limits=SandboxLimits(processes=40))) as sandbox:
        result = await sandbox.run(code, timeout=4.0)
        assert (result.status, result.output) == ("timeout", "bomb\nstopped at True\n")
        assert children(init_of(sandbox)) == []
        assert (await sandbox.run("print(2)", timeout=30)).output == "2\n"


async def test_fork_bomb_whose_first_process_ends(backend: LocalBackend, children, init_of):
    code = """
import os
for _ in range(30):
    try:
        if os.fork():
            os._exit(0)
    except OSError:
        pass
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
    async with await backend.create(SandboxSpec(limits=SandboxLimits(processes=40))) as sandbox:
        assert (await sandbox.run(code, timeout=30)).status == "ok"
        assert children(init_of(sandbox)) == []
        assert (await sandbox.run("print(2)", timeout=30)).output == "2\n"


async def test_thread_bomb(backend: LocalBackend):
    code = """
import threading, time
made = 0
try:
    while True:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        made += 1
except RuntimeError:
    print("stopped at", made < 41, flush=True)
time.sleep(1000)
"""
    async with await backend.create(SandboxSpec(limits=SandboxLimits(processes=40))) as sandbox:
        result = await sandbox.run(code, timeout=3.0)
        assert (result.status, result.output) == ("timeout", "stopped at True\n")
        assert (await sandbox.run("print(2)", timeout=30)).output == "2\n"


async def test_zombies_and_orphans(sandbox: Sandbox):
    code = """
import os
for _ in range(20):
    if os.fork() == 0:
        for _ in range(5):
            if os.fork() == 0:
                os._exit(0)
        os._exit(0)
    os.wait()
print("made")
"""
    result = await sandbox.run(code, timeout=60)
    assert (result.status, result.output) == ("ok", "made\n")


async def test_all_signals_ignored(sandbox: Sandbox):
    result = await sandbox.run(f"{DEAF}\nprint('deaf', flush=True)\nwhile True: pass", timeout=1.0)
    assert (result.status, result.output) == ("timeout", "deaf\n")


@pytest.mark.parametrize(
    "hold",
    [
        "ctypes.PyDLL(None).sleep(1000)",
        "import re; re.match('(a+)+b', 'a' * 40)",
        "9 ** 9 ** 8",
        "ctypes.PyDLL(None).pause()",
    ],
)
async def test_gil_held_in_c(sandbox: Sandbox, hold: str):
    result = await sandbox.run(f"import ctypes\nprint('held', flush=True)\n{hold}", timeout=1.0)
    assert (result.status, result.output) == ("timeout", "held\n")


@pytest.mark.parametrize("whom", ["os.getpid()", "0", "-1", "1"])
async def test_stopping(sandbox: Sandbox, whom: str):
    code = f"import os, signal, time\nprint('stop', flush=True)\nos.kill({whom}, signal.SIGSTOP)\ntime.sleep(1000)"
    result = await sandbox.run(code, timeout=1.0)
    assert result.output.startswith("stop\n")
    assert result.status in ("timeout", "error")


@pytest.mark.parametrize("whom", [-1, 0, 1])
@pytest.mark.parametrize(
    "number", ["SIGKILL", "SIGINT", "SIGTERM", "SIGCHLD", "SIGHUP", "SIGUSR1", "SIGSEGV", "SIGSYS"]
)
async def test_killing_everybody(sandbox: Sandbox, whom: int, number: str):
    code = f"""
import os, signal
if os.fork() == 0:
    signal.pause()
try:
    os.kill({whom}, signal.{number})
except PermissionError:
    pass
"""
    assert (await sandbox.run(code, timeout=30)).status in ("ok", "error", "killed")


async def test_storm_of_signals_for_the_init(sandbox: Sandbox):
    code = """
import os, signal
print("storm", flush=True)
while True:
    try:
        os.kill(1, signal.SIGCHLD)
    except PermissionError:
        pass
"""
    result = await sandbox.run(code, timeout=1.0)
    assert (result.status, result.output) == ("timeout", "storm\n")


@pytest.mark.parametrize(
    "attack",
    [
        "os.setpriority(os.PRIO_PROCESS, 1, 19)",
        "os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))",
        "os.sched_setaffinity(1, {0})",
        "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
        "os.setpriority(os.PRIO_PROCESS, 0, -1)",
        "os.write(os.open('/proc/1/autogroup', os.O_WRONLY), b'19')",
        "os.write(os.open('/proc/1/oom_score_adj', os.O_WRONLY), b'1000')",
        "os.write(os.open('/proc/self/oom_score_adj', os.O_WRONLY), b'-1')",
        "os.setpgid(1, 0)",
        "resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3))",
        "resource.prlimit(1, resource.RLIMIT_NPROC)",
    ],
)
async def test_slowing_or_starving_the_init(outcomes, attack: str):
    assert (await outcomes(attack))[0] in ("EPERM", "EACCES", "ESRCH", "EINVAL")


async def test_leaving_the_place_of_who_is_killed_first(outcomes, isolated: str):
    """Only who holds CAP_SYS_RESOURCE can keep another from going back to where he started."""
    held = int(Path("/proc/self/status").read_text().split("CapEff:")[1].split()[0], 16) >> 24 & 1
    found = await outcomes("os.write(os.open('/proc/self/oom_score_adj', os.O_WRONLY), b'0')")
    assert found == (["EACCES"] if isolated == "A" and held else ["SUCCEEDED"])


@pytest.mark.parametrize("kind", ["NPROC", "AS", "FSIZE", "NOFILE", "CPU", "CORE"])
async def test_raising_a_limit(outcomes, kind: str):
    attack = f"resource.setrlimit(resource.RLIMIT_{kind}, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))"
    assert (await outcomes(attack))[0] in ("EPERM", "ValueError")


async def test_limits_lowered_to_nothing(sandbox: Sandbox):
    code = """
import os, resource
for name in ("NPROC", "FSIZE", "NOFILE", "STACK", "AS", "DATA", "MEMLOCK", "SIGPENDING"):
    resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (0, 0))
os.write(1, b"lowered\\n")
os._exit(0)
"""
    assert (await sandbox.run(code, timeout=30)).output == "lowered\n"


async def test_exhausting_descriptors(sandbox: Sandbox):
    code = """
import os
made = 0
try:
    while True:
        os.pipe()
        made += 2
except OSError as error:
    print(error.strerror, made < 4096)
"""
    assert (await sandbox.run(code, timeout=30)).output == "Too many open files True\n"


async def test_ten_thousand_timers(sandbox: Sandbox, prelude: str):
    code = """
class Event(ctypes.Structure):
    _fields_ = (("value", ctypes.c_void_p), ("signal", ctypes.c_int),
                ("how", ctypes.c_int), ("rest", ctypes.c_char * 48),)
timer, event = ctypes.c_void_p(), Event(None, signal.SIGALRM, 1, b"")
for _ in range(10_000):
    libc.timer_create(1, ctypes.byref(event), ctypes.byref(timer))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
signal.signal(signal.SIGALRM, lambda *_: None)
print("made")
"""
    assert (await sandbox.run(prelude + code, timeout=30)).output == "made\n"
