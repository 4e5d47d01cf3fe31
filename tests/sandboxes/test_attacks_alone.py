"""Attacks in tier C, where no namespace shuts code in: Landlock, seccomp and the guard have to (see test_tier_c.py)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from sandmle.errors import InfraError
from sandmle.sandboxes import LocalBackend, Sandbox, SandboxLimits, SandboxSpec, _probe

TRY = """
import os, socket
def attempt(what):
    try:
        what()
    except BaseException as error:
        return type(error).__name__
    return "SUCCEEDED"
"""


@pytest.fixture(scope="module")
def alone() -> LocalBackend:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_probe, "candidates", lambda: ("C",))
        backend = LocalBackend(concurrency=2, allow_unisolated=True)
        if backend.capabilities.tier != "C":
            pytest.skip(f"no tier C here: {backend.capabilities.detail}")
    return backend


@pytest.fixture
async def sandbox(alone: LocalBackend, inputs: Path) -> AsyncIterator[Sandbox]:
    async with await alone.create(SandboxSpec(inputs={"input": inputs})) as sandbox:
        yield sandbox


async def failures(sandbox: Sandbox, *attempts: str) -> list[str]:
    """Run each expression inside; the exception's name or SUCCEEDED for each."""
    lines = "".join(f"print(attempt(lambda: {attempt}))\n" for attempt in attempts)
    result = await sandbox.run(TRY + lines, timeout=60)
    assert result.status == "ok", result.output
    return result.output.split()


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def descendants(pid: int) -> list[int]:
    return [one for child in children(pid) for one in (child, *descendants(child))]


def guard_of(sandbox: Sandbox) -> int:
    channel = sandbox._body.channel
    assert channel is not None
    return channel.pid


def init_of(sandbox: Sandbox) -> int:
    (init,) = children(guard_of(sandbox))
    return init


def folder_of(sandbox: Sandbox) -> Path:
    folder = sandbox._body._folder
    assert folder is not None
    return folder


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    path.write_text("id,y\n1,secret\n")
    path.chmod(0o666)
    return path


async def test_step_runs_in_tier_c_and_shows_no_host_path(sandbox: Sandbox):
    result = await sandbox.run("import os; print(os.getcwd(), os.environ['HOME'], __file__)", timeout=30)
    assert (result.tier, result.output) == ("C", "/workspace /tmp /tmp/step.py\n")


async def test_ordinary_work_is_possible(sandbox: Sandbox):
    code = """
import os, shutil, subprocess, sys, tempfile, numpy as np, pandas as pd
from sklearn.ensemble import RandomForestClassifier
train = pd.read_csv("input/train.csv")
train.to_csv("submission.csv", index=False)
shutil.copy2("submission.csv", "copy.csv")
os.makedirs("a/b"); os.rename("copy.csv", "a/b/moved.csv"); os.link("submission.csv", "a/linked.csv")
with tempfile.TemporaryDirectory() as folder:
    np.save(f"{folder}/x.npy", np.arange(3)); print(np.load(f"{folder}/x.npy").sum())
X = np.random.default_rng(0).normal(size=(50, 2))
print(RandomForestClassifier(5, n_jobs=2).fit(X, X[:, 0] > 0).score(X, X[:, 0] > 0) > 0.5)
print(subprocess.run([sys.executable, "-c", "import json; print(7)"], capture_output=True, text=True).stdout)
shutil.rmtree("a")
"""
    result = await sandbox.run(code, timeout=120)
    assert (result.status, result.output) == ("ok", "3\nTrue\n7\n\n")
    assert await sandbox.read("submission.csv", max_bytes=99) == b"id,y\n1,2\n"


async def test_multiprocessing_does_without_shared_memory(sandbox: Sandbox):
    code = """
import multiprocessing as mp, time
from concurrent.futures import ProcessPoolExecutor
from joblib import Parallel, delayed
with mp.Pool(2) as pool:
    print(pool.map(abs, [-1, 2]))
with ProcessPoolExecutor(2) as pool:
    print(list(pool.map(abs, [-1, 2])))
print(Parallel(2)(delayed(abs)(i) for i in (-1, 2)))
lock, queue, event, array = mp.RLock(), mp.Queue(), mp.Event(), mp.Array("i", 2)
def work():
    with lock, lock:
        array[1] = 5
    queue.put("done")
    event.set()
process = mp.Process(target=work)
process.start()
print(queue.get(), event.wait(9), array[:])
process.join()
one = mp.BoundedSemaphore(1)
print(one.acquire(), one.acquire(False), one.acquire(timeout=0.1))
one.release()
try:
    one.release()
except ValueError as error:
    print(error)
"""
    result = await sandbox.run(code, timeout=120)
    expected = "[1, 2]\n" * 3 + "done True [0, 5]\nTrue False False\nsemaphore or lock released too many times\n"
    assert (result.status, result.output) == ("ok", expected)


async def test_file_outside_by_every_way(sandbox: Sandbox, answers: Path):
    host = os.getpid()
    names = await failures(
        sandbox,
        f"open({str(answers)!r}).read()",
        f"os.listdir({str(answers.parent)!r})",
        f"(os.symlink({str(answers)!r}, 'link'), open('link').read())",
        f"os.link({str(answers)!r}, 'hard')",
        f"open('/proc/{host}/root{answers}').read()",
        f"open('/proc/1/root{answers}').read()",
        f"open('/proc/{host}/cwd/x').read()",
        f"(os.chdir({str(answers.parent)!r}), open('answers.csv').read())",
        f"os.rename({str(answers)!r}, 'stolen')",
        f"__import__('shutil').copy({str(answers)!r}, 'copy')",
        f"__import__('subprocess').run(['/bin/cp', {str(answers)!r}, 'copied'], check=True)",
        f"os.open({str(answers)!r}, os.O_PATH) and os.execv({str(answers)!r}, ['x'])",
    )
    assert "SUCCEEDED" not in names
    with pytest.raises(ValueError, match="link"):
        await sandbox.read("link", max_bytes=99)


async def test_file_outside_cannot_be_changed(sandbox: Sandbox, answers: Path):
    before = answers.stat()
    names = await failures(
        sandbox,
        f"open({str(answers)!r}, 'w')",
        f"open({str(answers)!r}, os.O_TRUNC)",
        f"os.truncate({str(answers)!r}, 0)",
        f"os.remove({str(answers)!r})",
        f"open({str(answers.parent / 'new')!r}, 'w')",
        f"os.setxattr({str(answers)!r}, 'user.x', b'1')",
        "open('/usr/x', 'w')",
        "open(os.__file__, 'a')",
        "open('/tmp/x', 'w')",
        "open('/dev/shm/x', 'w')",
    )
    assert "SUCCEEDED" not in names
    # These say that they worked, since copying files needs them, but must do nothing.
    code = f"""
import os
for path in ({str(answers)!r}, os.__file__):
    os.chmod(path, 0); os.utime(path, (1, 1)); os.chown(path, os.getuid(), -1)
    try:
        os.fchmod(os.open(path, os.O_RDONLY), 0)
    except PermissionError:
        pass
"""
    assert (await sandbox.run(code, timeout=30)).status == "ok"
    after = answers.stat()
    assert (after.st_mode, after.st_mtime, after.st_size) == (before.st_mode, before.st_mtime, before.st_size)
    assert Path(os.__file__).stat().st_mode & 0o400


async def test_inputs_cannot_be_changed_even_by_their_owner(sandbox: Sandbox, inputs: Path):
    names = await failures(
        sandbox,
        "open('input/train.csv', 'w')",
        "os.remove('input/train.csv')",
        "open('input/new', 'w')",
        "(os.chmod('input/train.csv', 0o777), open('input/train.csv', 'a'))",
        "(os.chmod('input', 0o777), open('input/new', 'w'))",
        "os.rmdir('input')",
    )
    assert "SUCCEEDED" not in names
    assert sorted(path.name for path in inputs.rglob("*")) == ["deep", "note.txt", "train.csv"]
    assert (inputs / "train.csv").read_text() == "id,y\n1,2\n"


async def test_processes_outside_are_not_looked_into(sandbox: Sandbox):
    own, host = init_of(sandbox), os.getpid()
    paths = [
        f"/proc/{pid}/{name}" for pid in (1, own, host) for name in ("environ", "cmdline", "status", "maps", "mem")
    ]
    folders = [f"/proc/{pid}/{name}" for pid in (own, host) for name in ("fd", "root", "cwd", "task")]
    names = await failures(
        sandbox, *(f"open({p!r}, 'rb').read(1)" for p in paths), *(f"os.listdir({p!r})" for p in ("/proc", *folders))
    )
    assert "SUCCEEDED" not in names
    code = f"""
import ctypes, os, resource
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(64)
for pid in ({own}, {host}):
    print(libc.ptrace(16, pid, 0, 0), libc.ptrace(0x4206, pid, 0, 0), libc.syscall(310, pid, buffer, 1, buffer, 1, 0))
    try:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, 3)); print("SUCCEEDED")
    except PermissionError:
        print("refused")
print(len(open("/proc/self/status").read()) > 100, open("/proc/meminfo").read(8))
"""
    assert (await sandbox.run(code, timeout=30)).output == "-1 -1 -1\nrefused\n" * 2 + "True MemTotal\n"


async def test_others_are_not_signalled_or_rescheduled(sandbox: Sandbox, alone: LocalBackend):
    if "signal processes of the same user" in alone.capabilities.detail:
        pytest.skip("this kernel's Landlock does not scope signals")
    victim = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(60)")
    pids = (init_of(sandbox), guard_of(sandbox), os.getpid(), victim.pid)
    try:
        names = await failures(
            sandbox,
            *(f"os.kill({pid}, {number})" for pid in pids for number in (0, 9, 15, 19)),
            *(f"os.killpg(os.getpgid({pid}), 9)" for pid in pids),
            *(f"__import__('signal').pidfd_send_signal(os.pidfd_open({pid}), 9)" for pid in pids),
            *(f"os.setpriority(os.PRIO_PROCESS, {pid}, 19)" for pid in pids),
            *(f"os.sched_setscheduler({pid}, os.SCHED_IDLE, os.sched_param(0))" for pid in pids),
            *(f"os.sched_setaffinity({pid}, {{0}})" for pid in pids),
        )
        assert "SUCCEEDED" not in names
        everybody = "import os, signal\nos.kill(-1, signal.SIGKILL)"
        assert (await sandbox.run(everybody, timeout=30)).status in ("ok", "error", "killed")
        assert victim.returncode is None
        assert (await sandbox.run("print(2)", timeout=30)).output == "2\n"
    finally:
        victim.kill()
        await victim.wait()


@contextlib.contextmanager
def listeners(folder: Path) -> Iterator[tuple[socket.socket, ...]]:
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as abstract,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagram,
    ):
        udp.bind(("127.0.0.1", 0))
        abstract.bind("\0" + secrets.token_hex(8))
        named.bind(str(folder / "s"))
        datagram.bind(str(folder / "d"))
        for path in ("s", "d"):
            (folder / path).chmod(0o666)
        for server in (abstract, named):
            server.listen()
        udp.settimeout(0.2)
        datagram.settimeout(0.2)
        yield tcp, udp, abstract, named, datagram


async def test_no_network_and_no_socket_of_others(sandbox: Sandbox):
    with tempfile.TemporaryDirectory(dir="/tmp") as name:  # a socket's path must be short
        await reach_for_sockets(sandbox, Path(name))


async def reach_for_sockets(sandbox: Sandbox, folder: Path) -> None:
    with listeners(folder) as (tcp, udp, abstract, _, datagram):
        port, name = udp.getsockname()[1], abstract.getsockname()
        kinds = ("AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK", "AF_PACKET", "AF_VSOCK")
        names = await failures(
            sandbox,
            *(f"socket.socket(socket.{family})" for family in kinds),
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
            "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
            f"socket.create_connection(('127.0.0.1', {tcp.getsockname()[1]}), 3)",
            "socket.create_connection(('1.1.1.1', 53), 3)",
            "socket.create_server(('127.0.0.1', 0))",
            f"socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))",
            f"socket.socket(socket.AF_UNIX).connect({name!r})",
            f"socket.socketpair()[0].connect({name!r})",
            f"socket.socketpair()[0].connect({str(folder / 's')!r})",
            f"socket.socketpair(type=socket.SOCK_DGRAM)[0].sendto(b'x', {str(folder / 'd')!r})",
            f"socket.socketpair(type=socket.SOCK_SEQPACKET)[0].sendto(b'x', {str(folder / 's')!r})",
            f"socket.socketpair()[0].sendmsg([b'x'], [], 0, {str(folder / 's')!r})",
            f"os.listdir({str(folder)!r})",
        )
        assert "SUCCEEDED" not in names
        for silent in (udp, datagram):
            with pytest.raises(TimeoutError):
                silent.recv(10)
    pair = "import socket\na, b = socket.socketpair(); a.send(b'hi'); print(b.recv(9))"
    assert (await sandbox.run(pair, timeout=30)).output == "b'hi'\n"


async def test_no_shared_memory_or_queue_of_others(sandbox: Sandbox):
    code = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def refused(result):
    return result == -1 and ctypes.get_errno() in (errno.EPERM, errno.EACCES)
print(refused(libc.shmget(1, 4096, 0o1666)), refused(libc.semget(1, 1, 0o1666)), refused(libc.msgget(1, 0o1666)))
print(refused(libc.shmat(0, None, 0)), refused(libc.msgrcv(0, None, 0, 0, 0)), refused(libc.shm_open(b"/x", 66, 0o666)))
"""
    assert (await sandbox.run(code, timeout=30)).output == "True True True\n" * 2


async def test_sandboxes_do_not_see_each_other(alone: LocalBackend):
    async with await alone.create(SandboxSpec()) as one, await alone.create(SandboxSpec()) as two:
        await one.write("secret.txt", b"of one")
        hold = asyncio.create_task(one.run("import time; time.sleep(60)", timeout=60))
        await asyncio.sleep(0.5)
        other = folder_of(one)
        names = await failures(
            two,
            f"open({str(other / 'workspace/secret.txt')!r}).read()",
            f"os.listdir({str(other)!r})",
            f"os.listdir({str(other / 'workspace')!r})",
            f"open({str(other / 'workspace/planted')!r}, 'w')",
            f"open({str(other / 'step.py')!r}).read()",
            f"os.kill({init_of(one)}, 9)",
            *(f"os.kill({pid}, 9)" for pid in descendants(init_of(one))),
        )
        hold.cancel()
        await asyncio.wait({hold})
        assert len(names) == 7
        assert "SUCCEEDED" not in names
        assert (await one.run("import os; print(os.listdir())", timeout=30)).output == "['secret.txt']\n"


async def test_rights_cannot_be_gained(sandbox: Sandbox):
    code = """
import ctypes, os, subprocess
libc = ctypes.CDLL(None, use_errno=True)
print(libc.unshare(0x10000000), libc.unshare(0x20000), libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None))
for call in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.chroot("/tmp")):
    try:
        call(); print("SUCCEEDED")
    except OSError:
        print("refused")
status = open("/proc/self/status").read()
print(sorted({line.split()[1] for line in status.splitlines() if line.startswith(("CapEff", "CapPrm", "CapInh"))}))
print("NoNewPrivs:\\t1" in status, os.getuid() != 0)
for program in ("su", "mount", "passwd", "sudo"):
    try:
        subprocess.run([program, "-h"], capture_output=True, timeout=10)
    except OSError:
        pass
print(os.geteuid() == os.getuid() != 0)
"""
    result = await sandbox.run(code, timeout=60)
    assert result.output == "-1 -1 -1\n" + "refused\n" * 4 + "['0000000000000000']\nTrue True\nTrue\n"


async def test_daemon_is_killed_at_the_end_of_its_step(sandbox: Sandbox):
    code = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    if os.fork() == 0:
        time.sleep(1)
        open("survived", "w").close()
        time.sleep(1000)
    os._exit(0)
print("parent done", flush=True)
"""
    result = await sandbox.run(code, timeout=30)
    assert (result.status, result.output) == ("ok", "parent done\n")
    assert children(init_of(sandbox)) == []
    later = await sandbox.run("import os, time; time.sleep(1.5); print(os.path.exists('survived'))", timeout=30)
    assert later.output == "False\n"


async def test_fork_bomb_is_bounded(alone: LocalBackend):
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
        print("stopped at", made < 400, flush=True)
        break
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
    async with await alone.create(SandboxSpec(limits=SandboxLimits(processes=40))) as sandbox:
        started = time.monotonic()
        result = await sandbox.run(code, timeout=8.0)
        assert (result.status, result.output) == ("timeout", "bomb\nstopped at True\n")
        assert time.monotonic() - started < 8.0 + 10
        assert children(init_of(sandbox)) == []
        assert (await sandbox.run("print(2)", timeout=30)).output == "2\n"


async def test_odd_submissions_are_refused(sandbox: Sandbox):
    for make in ("os.symlink('/etc/passwd', 'odd')", "os.mkfifo('odd')", "os.mkdir('odd', 0)"):
        assert (await sandbox.run(f"import os; {make}", timeout=30)).status == "ok"
        with pytest.raises(ValueError, match="odd"):
            await asyncio.wait_for(sandbox.read("odd", max_bytes=99), 20)
        await sandbox.remove("odd")
    await sandbox.write("odd", b"plain")
    assert await sandbox.read("odd", max_bytes=99) == b"plain"


async def test_closing_leaves_no_process_and_no_file(alone: LocalBackend, inputs: Path):
    sandbox = await alone.create(SandboxSpec(inputs={"input": inputs}))
    folder, guard = folder_of(sandbox), os.pidfd_open(guard_of(sandbox))
    await sandbox.run("import os; os.makedirs('a/b'); os.mkdir('a/shut', 0)", timeout=30)
    task = asyncio.create_task(sandbox.run("import os\nos.fork()\nwhile True: pass", timeout=60))
    await asyncio.sleep(0.3)
    inside = [os.pidfd_open(pid) for pid in descendants(guard_of(sandbox))]
    assert len(inside) == 3
    await sandbox.aclose()
    with pytest.raises(InfraError):
        await asyncio.wait_for(task, 5)
    for process in (guard, *inside):
        assert select.select([process], [], [], 5)[0]
        os.close(process)
    assert not folder.exists()


PARENT = """
import asyncio, sys
from sandmle.sandboxes import LocalBackend, SandboxSpec, _probe
_probe.candidates = lambda: ("C",)
async def main():
    backend = LocalBackend()
    sandbox = await backend.create(SandboxSpec())
    code = '''import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
else:
    os.wait()
while True: time.sleep(1)'''
    task = asyncio.create_task(sandbox.run(code, timeout=1000))
    await asyncio.sleep(1)
    print(sandbox._body.channel.pid, flush=True)
    await task
asyncio.run(main())
"""


@pytest.mark.parametrize("whom", ["orchestrator", "init", "zygote"])
def test_violent_ends_leave_nothing(alone: LocalBackend, whom: str, tmp_path: Path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "env": environment}
    with subprocess.Popen([sys.executable, "-c", PARENT], **pipes) as parent:
        assert parent.stdout is not None
        guard = int(parent.stdout.readline())
        (init,) = children(guard)
        zygote = int(Path(f"/proc/{guard}/stat").read_text().rpartition(")")[2].split()[1])
        watched = [os.pidfd_open(pid) for pid in (guard, *descendants(guard))]
        os.kill({"orchestrator": parent.pid, "init": init, "zygote": zygote}[whom], signal.SIGKILL)
        deadline = time.monotonic() + 10
        for process in watched:
            assert select.select([process], [], [], max(0, deadline - time.monotonic()))[0], "a process is left"
            os.close(process)
        parent.kill()
    assert not list(tmp_path.glob("sandmle-*"))
    assert len(watched) == 4, "guard, init, step and its daemon"
