"""Attacks from inside, one test an attack, run where the machine offers namespaces (test_tier_b.py runs them again)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import secrets
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandmle.errors import InfraError
from sandmle.sandboxes import LocalBackend, Sandbox, SandboxLimits, SandboxSpec

pytestmark = pytest.mark.usefixtures("isolated")

TRY = """
import os
def attempt(what):
    try:
        what()
    except BaseException as error:
        return type(error).__name__
    return "SUCCEEDED"
"""


async def failures(sandbox: Sandbox, *attempts: str) -> list[str]:
    """Run each expression inside; the exception's name or SUCCEEDED for each."""
    lines = "".join(f"print(attempt(lambda: {attempt}))\n" for attempt in attempts)
    result = await sandbox.run(TRY + lines, timeout=60)
    assert result.status == "ok", result.output
    return result.output.split()


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def init_of(sandbox: Sandbox) -> int:
    (init,) = children(sandbox._channel.pid)
    return init


async def test_step_runs_in_the_proven_tier(sandbox: Sandbox, isolated: str):
    assert (await sandbox.run("print(1)", timeout=30)).tier == isolated


async def test_walk_finds_no_planted_marker(sandbox: Sandbox, tmp_path: Path):
    marker = f"sandmle-marker-{secrets.token_hex(8)}"
    planted = []
    for folder in (tmp_path, tmp_path.parent, Path.home(), Path.cwd(), Path("/var/tmp"), Path("/dev/shm")):
        with contextlib.suppress(OSError):
            (folder / marker).write_text(marker)
            planted.append(folder / marker)
    assert planted
    code = f"""
import os, sys
system = ("/usr", "/proc", "/dev/null", sys.prefix, sys.base_prefix)
seen = 0
for top, folders, names in os.walk("/"):
    folders[:] = [f for f in folders if os.path.join(top, f) not in system]
    for name in names + folders:
        seen += 1
        path = os.path.join(top, name)
        if "marker-{marker[15:]}" in path:
            print("FOUND", path)
        if os.path.isfile(path) and not path.startswith("/tmp/step.py"):
            try:
                if b"{marker}" in open(path, "rb").read(1 << 20):
                    print("FOUND in", path)
            except OSError:
                pass
for path in {[str(path) for path in planted]!r}:
    if os.path.lexists(path):
        print("FOUND", path)
print(seen > 5, os.path.exists("/workspace/input/train.csv"))
"""
    try:
        result = await sandbox.run(code, timeout=120)
    finally:
        for path in planted:
            path.unlink()
    assert result.output == "True True\n"


async def test_the_repository_and_home_are_absent(sandbox: Sandbox, inputs: Path):
    paths = [str(Path(__file__).resolve()), str(inputs), str(inputs.parent), "/etc/shadow", "/var", "/sys", "/mnt"]
    result = await sandbox.run(f"import os; print([p for p in {paths!r} if os.path.exists(p)])", timeout=30)
    assert result.output == "[]\n"


async def test_proc_shows_nothing_of_others(sandbox: Sandbox, monkeypatch):
    paths = ["/proc/1/root/", "/proc/1/cwd/", "/proc/1/fd/"]
    names = await failures(sandbox, *(f"os.listdir({p!r})" for p in paths), "open('/proc/1/environ', 'rb').read()")
    assert set(names) == {"PermissionError"}
    code = """
import os
pids = sorted(int(p) for p in os.listdir("/proc") if p.isdigit())
print(pids == [1, os.getpid()])
print([name for name in os.listdir("/proc/self/fd") if int(name) > 3])
"""
    assert (await sandbox.run(code, timeout=30)).output == "True\n[]\n"


async def test_looking_into_init_is_refused(sandbox: Sandbox):
    code = """
import ctypes, os, resource
libc = ctypes.CDLL(None, use_errno=True)
print(libc.ptrace(16, 1, 0, 0), libc.ptrace(0x4206, 1, 0, 0))
for what in (lambda: open("/proc/1/mem", "rb"), lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3))):
    try:
        what(); print("SUCCEEDED")
    except PermissionError:
        print("refused")
"""
    assert (await sandbox.run(code, timeout=30)).output == "-1 -1\nrefused\nrefused\n"


@pytest.mark.parametrize(
    "make",
    [
        "os.symlink('/etc/passwd', 'submission.csv')",
        "os.symlink('input/train.csv', 'submission.csv')",
        "os.symlink('/proc/1/environ', 'submission.csv')",
        "os.mkfifo('submission.csv')",
        "os.mkdir('submission.csv')",
        "socket.socket(socket.AF_UNIX).bind('submission.csv')",
        "os.truncate(os.open('submission.csv', os.O_CREAT | os.O_RDWR), 500 << 20)",
        "os.chmod('submission.csv', 0) if open('submission.csv', 'w') else None",
    ],
)
async def test_odd_submissions_are_refused(sandbox: Sandbox, make: str):
    result = await sandbox.run(f"import os, socket\n{make}", timeout=30)
    assert result.status == "ok", result.output
    with pytest.raises(ValueError, match="submission"):
        await asyncio.wait_for(sandbox.read("submission.csv", max_bytes=1 << 20), 20)
    await sandbox.remove("submission.csv")
    with pytest.raises(FileNotFoundError):
        await sandbox.read("submission.csv", max_bytes=1 << 20)
    await sandbox.write("submission.csv", b"id,y\n")
    assert await sandbox.read("submission.csv", max_bytes=5) == b"id,y\n"


async def test_links_to_system_files(sandbox: Sandbox):
    names = await failures(sandbox, "os.link('/etc/passwd', 'x')", "os.link('input/train.csv', 'y')")
    assert set(names) <= {"OSError", "PermissionError"}


async def test_files_are_not_reached_through_linked_folders(sandbox: Sandbox):
    await sandbox.run("import os; os.symlink('/tmp', 'sub'); os.symlink('/', 'root')", timeout=30)
    with pytest.raises(ValueError, match="sub"):
        await sandbox.write("sub/x", b"1")
    with pytest.raises(ValueError, match="root"):
        await sandbox.read("root/etc/passwd", max_bytes=10_000)
    with pytest.raises(ValueError, match="sub"):
        await sandbox.remove("sub/step.py")
    await sandbox.write("sub", b"no longer a link")
    assert (await sandbox.run("import os; print(os.listdir('/tmp'))", timeout=30)).output.count("'x'") == 0


async def test_shutting_itself_out_is_no_excuse(sandbox: Sandbox):
    code = """
import os
os.mkdir("shut"); open("shut/x", "w").close(); os.chmod("shut", 0)
for folder in ("/tmp", "/dev/shm", "/workspace"):
    try:
        os.chmod(folder, 0)
    except PermissionError:
        pass
"""
    assert (await sandbox.run(code, timeout=30)).status == "ok"
    with pytest.raises(ValueError, match="shut"):
        await sandbox.read("shut/x", max_bytes=10)
    await sandbox.run("import os; os.chmod('/workspace', 0)", timeout=30)
    result = await sandbox.run("open('y', 'w').write('1'); print(2)", timeout=30)
    assert (result.status, result.output) == ("ok", "2\n")
    assert await sandbox.read("y", max_bytes=10) == b"1"


async def test_deep_and_closed_folders_are_removed(sandbox: Sandbox):
    code = """
import os
os.mkdir("deep"); os.chdir("deep")
for level in range(3000):
    os.mkdir("d"); os.chdir("d")
open("leaf", "w").close()
os.chdir("/workspace"); os.mkdir("deep/shut"); open("deep/shut/x", "w").close(); os.chmod("deep/shut", 0)
"""
    result = await sandbox.run(code, timeout=60)
    assert result.status == "ok", result.output
    await sandbox.remove("deep")
    assert (await sandbox.run("import os; print(os.listdir())", timeout=30)).output == "['input']\n"


async def test_network_is_absent(sandbox: Sandbox):
    name = secrets.token_hex(8)
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        udp.bind(("127.0.0.1", 0))
        udp.settimeout(0.5)
        abstract.bind("\0" + name)
        abstract.listen()
        code = f"""
import socket
def outcome(family, kind, address, data=b""):
    with socket.socket(family, kind) as s:
        s.settimeout(3)
        try:
            s.connect(address)
            s.send(b"hello")
        except OSError as error:
            return type(error).__name__
        return "SENT"
print(outcome(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", {tcp.getsockname()[1]})))
print(outcome(socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 53)))
print(outcome(socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53)))
print(outcome(socket.AF_UNIX, socket.SOCK_STREAM, "\\x00{name}"))
outcome(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", {udp.getsockname()[1]}))
print([name for _, name in socket.if_nameindex() if name.startswith(("e", "w"))])
with socket.create_server(("127.0.0.1", 0)) as own:
    print(outcome(socket.AF_INET, socket.SOCK_STREAM, own.getsockname()))
"""
        result = await sandbox.run(code, timeout=60)
        with pytest.raises(TimeoutError):
            udp.recv(10)
    refused, far, far_udp, local, interfaces, own = result.output.split()
    assert (refused, far, far_udp, local) == ("ConnectionRefusedError", "OSError", "OSError", "ConnectionRefusedError")
    assert interfaces == "[]"
    assert own == "SENT"


async def test_fork_bomb_is_bounded(backend: LocalBackend):
    spec = SandboxSpec(limits=SandboxLimits(processes=40))
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
    async with await backend.create(spec) as sandbox:
        result = await sandbox.run(code, timeout=6.0)
        assert (result.status, result.output) == ("timeout", "bomb\nstopped at True\n")
        assert children(init_of(sandbox)) == []
        assert (await sandbox.run("print(2)", timeout=30)).output == "2\n"


async def test_daemon_that_holds_the_pipe_is_killed(sandbox: Sandbox):
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
        open("/workspace/survived", "w").close()
        time.sleep(1000)
    os._exit(0)
print("parent done", flush=True)
"""
    result = await sandbox.run(code, timeout=30)
    assert (result.status, result.output) == ("ok", "parent done\n")
    assert result.wall_s < 10
    assert children(init_of(sandbox)) == []
    later = await sandbox.run("import os, time; time.sleep(1.5); print(os.path.exists('survived'))", timeout=30)
    assert later.output == "False\n"


async def test_ignoring_all_signals_does_not_help(sandbox: Sandbox):
    code = """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
print("deaf", flush=True)
while True:
    pass
"""
    result = await sandbox.run(code, timeout=1.0)
    assert (result.status, result.output) == ("timeout", "deaf\n")


def peak_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


async def test_flood_of_output_is_cut_and_costs_no_memory(sandbox: Sandbox):
    await sandbox.run("print(1)", timeout=30)
    ours, init = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, peak_mib(init_of(sandbox))
    code = "import os\nline = b'flood ' * 1000 + b'\\n'\nfor _ in range(20000): os.write(1, line)"
    result = await sandbox.run(code, timeout=60)
    assert result.status == "output_limit"
    assert 64 << 20 < result.total_bytes < 66 << 20
    assert len(result.head) + len(result.tail) <= 20_000
    assert peak_mib(init_of(sandbox)) - init < 8
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - ours) / 1024 < 8
    assert (await sandbox.run("print(2)", timeout=30)).output == "2\n"


async def test_large_output_below_the_cap_is_kept_at_both_ends(sandbox: Sandbox):
    result = await sandbox.run("print('first'); print('x' * (40 << 20)); print('last')", timeout=60)
    assert result.status == "ok"
    assert result.head.startswith("first\n")
    assert result.tail.endswith("x\nlast\n")


async def test_huge_file_is_refused(backend: LocalBackend):
    spec = SandboxSpec(limits=SandboxLimits(file_mib=16, workspace_mib=64))
    code = "with open('big', 'wb') as f:\n    for _ in range(10240): f.write(bytes(1 << 20))"
    async with await backend.create(spec) as sandbox:
        result = await sandbox.run(code, timeout=60)
        assert result.status == "error"
        assert "File too large" in result.output
        sizes = await sandbox.run("import os; print(os.path.getsize('big') <= 16 << 20)", timeout=30)
    assert sizes.output == "True\n"


@pytest.mark.parametrize("folder", ["/workspace", "/tmp"])
async def test_many_small_files_are_bounded(backend: LocalBackend, folder: str):
    spec = SandboxSpec(limits=SandboxLimits(workspace_mib=8))
    code = f"""
made = 0
try:
    while made < 10_000:
        with open(f"{folder}/{{made}}", "w") as file:
            file.write("x" * 4096)
        made += 1
except OSError as error:
    print(error.strerror, made <= 2048)
"""
    async with await backend.create(spec) as sandbox:
        assert (await sandbox.run(code, timeout=60)).output == "No space left on device True\n"


async def test_memory_hog_ends_itself(backend: LocalBackend):
    spec = SandboxSpec(limits=SandboxLimits(memory_mib=300))
    async with await backend.create(spec) as sandbox:
        result = await sandbox.run("hog = []\nwhile True: hog.append(bytearray(10 << 20))", timeout=60)
        assert result.status in ("oom", "error")
        assert result.peak_mib < 320
        assert (await sandbox.run("print(2)", timeout=30)).output == "2\n"


async def test_inputs_cannot_be_changed(sandbox: Sandbox, inputs: Path):
    names = await failures(
        sandbox,
        "open('input/train.csv', 'w')",
        "os.remove('input/train.csv')",
        "open('input/new', 'w')",
        "os.chmod('input/train.csv', 0o777)",
        "os.rename('input', 'moved')",
        "os.rmdir('input')",
        "os.utime('input/train.csv')",
        "os.symlink('/', 'input/link')",
    )
    assert "SUCCEEDED" not in names
    assert sorted(path.name for path in inputs.rglob("*")) == ["deep", "note.txt", "train.csv"]
    assert (inputs / "train.csv").read_text() == "id,y\n1,2\n"
    with pytest.raises(OSError, match="input"):
        await sandbox.remove("input")


async def test_the_script_and_system_cannot_be_changed(sandbox: Sandbox):
    names = await failures(
        sandbox,
        "open('/tmp/step.py', 'w')",
        "os.remove('/tmp/step.py')",
        "os.rename('/tmp/step.py', '/tmp/other.py')",
        "open('/etc/passwd', 'a')",
        "open('/usr/x', 'w')",
        "os.mkdir('/x')",
        "open(os.__file__, 'a')",
        "open('/proc/sys/kernel/hostname', 'w')",
        "open('/proc/sysrq-trigger', 'w')",
        "os.mknod('node', 0o020666, os.makedev(1, 1))",
    )
    assert "SUCCEEDED" not in names


async def test_kill_everybody(sandbox: Sandbox):
    code = """
import os, signal
for number in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGSTOP, signal.SIGHUP):
    for target in (1, -1):
        try:
            os.kill(target, number) if (target, number) != (-1, signal.SIGSTOP) else None
        except OSError:
            pass
print("alive")
"""
    assert (await sandbox.run(code, timeout=30)).status in ("ok", "error", "killed")
    assert (await sandbox.run("print(2)", timeout=30)).output == "2\n"


async def test_rights_cannot_be_gained(sandbox: Sandbox):
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.unshare(0x10000000), libc.unshare(0x20000), libc.unshare(0x40000000))
print(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None), libc.mount(b"/", b"/tmp", None, 4096, None))
print(libc.umount2(b"/workspace/input", 2), libc.sethostname(b"x", 1), libc.syscall(250, 0, 0, 0, 0, 0))
for call in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.chroot("/tmp")):
    try:
        call(); print("SUCCEEDED")
    except OSError:
        print("refused")
status = open("/proc/self/status").read()
print(sorted({line.split()[1] for line in status.splitlines() if line.startswith(("CapEff", "CapPrm", "CapInh"))}))
"""
    result = await sandbox.run(code, timeout=30)
    assert result.output == "-1 -1 -1\n-1 -1\n-1 -1 -1\n" + "refused\n" * 4 + "['0000000000000000']\n"


async def test_setuid_programs_gain_nothing(sandbox: Sandbox):
    code = """
import glob, os, stat, subprocess
print([m.split()[1] for m in open("/proc/mounts") if "nosuid" not in m.split()[3] and m.split()[1] != "/"])
print(subprocess.run(["/bin/sh", "-c", "grep NoNewPrivs /proc/self/status"], capture_output=True, text=True).stdout)
"""
    assert (await sandbox.run(code, timeout=30)).output.split() == ["[]", "NoNewPrivs:", "1"]


async def test_sandboxes_do_not_see_each_other(backend: LocalBackend):
    async with await backend.create(SandboxSpec()) as one, await backend.create(SandboxSpec()) as two:
        hold = asyncio.create_task(
            one.run(
                "import socket, time; s = socket.socket(socket.AF_UNIX); s.bind('\\0meet'); s.listen()\n"
                "open('/tmp/here', 'w').close(); open('/dev/shm/here', 'w').close(); time.sleep(60)",
                timeout=60,
            )
        )
        code = """
import os, socket, time
time.sleep(1)
try:
    socket.socket(socket.AF_UNIX).connect("\\0meet"); print("MET")
except ConnectionRefusedError:
    pass
print(os.path.exists("/tmp/here"), os.path.exists("/dev/shm/here"))
print(sum(name.isdigit() for name in os.listdir("/proc")))
"""
        result = await two.run(code, timeout=30)
        hold.cancel()
        await asyncio.wait({hold})
    assert result.output == "False False\n2\n"


async def test_killed_init_is_an_infrastructure_error(sandbox: Sandbox):
    task = asyncio.create_task(sandbox.run("import time; time.sleep(60)", timeout=60))
    await asyncio.sleep(0.5)
    os.kill(init_of(sandbox), signal.SIGKILL)
    with pytest.raises(InfraError):
        await asyncio.wait_for(task, 10)
    with pytest.raises(InfraError):
        await sandbox.run("print(1)", timeout=5)
    await sandbox.aclose()


PARENT = """
import asyncio
from sandmle.sandboxes import LocalBackend, SandboxSpec
async def main():
    sandbox = await LocalBackend().create(SandboxSpec())
    code = "import os, time\\nif os.fork() == 0: os.setsid()\\nwhile True: time.sleep(1)"
    task = asyncio.create_task(sandbox.run(code, timeout=1000))
    await asyncio.sleep(1)
    print("running", flush=True)
    await task
asyncio.run(main())
"""


def descendants(pid: int) -> list[int]:
    return [one for child in children(pid) for one in (child, *descendants(child))]


def test_killing_the_parent_leaves_nothing():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"running\n"
        watched = [os.pidfd_open(pid) for pid in descendants(parent.pid)]
        parent.kill()
    assert len(watched) == 5, "the zygote, two processes of the sandbox and two of the step"
    deadline = time.monotonic() + 10
    for fd in watched:
        assert select.select([fd], [], [], max(0, deadline - time.monotonic()))[0], "a process outlived its parent"
        os.close(fd)


async def test_closing_leaves_no_process(backend: LocalBackend):
    sandbox = await backend.create(SandboxSpec())
    init = os.pidfd_open(init_of(sandbox))
    task = asyncio.create_task(sandbox.run("while True: pass", timeout=60))
    await asyncio.sleep(0.3)
    await sandbox.aclose()
    with pytest.raises(InfraError):
        await asyncio.wait_for(task, 5)
    with pytest.raises(ProcessLookupError):
        signal.pidfd_send_signal(init, 0)
    os.close(init)


async def test_no_descriptor_is_leaked(backend: LocalBackend):
    await (await backend.create(SandboxSpec())).aclose()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        async with await backend.create(SandboxSpec()) as sandbox:
            await sandbox.run("print(1)", timeout=30)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
