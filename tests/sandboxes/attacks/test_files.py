"""Attacks with files: too many, too large, misplaced, and changes to what is not theirs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sandmle.sandboxes import LocalBackend, Sandbox, SandboxLimits, SandboxSpec

SMALL = SandboxSpec(limits=SandboxLimits(file_mib=16, workspace_mib=32))


async def test_deleting_the_workspace(sandbox: Sandbox, inputs: Path):
    await sandbox.write("kept/file", b"1")
    remove = "rm -rf /workspace /workspace/* /tmp/* /tmp /dev/shm / 2>/dev/null"
    code = f"import subprocess; subprocess.run({remove!r}, shell=True)"
    assert (await sandbox.run(code, timeout=60)).status == "ok"
    assert (inputs / "deep" / "note.txt").read_text() == "deep\n"
    result = await sandbox.run("import os; print(os.getcwd(), os.listdir(), os.listdir('input'))", timeout=30)
    assert result.output.startswith("/workspace ['input'] [")
    await sandbox.write("new", b"2")
    assert await sandbox.read("new", max_bytes=1) == b"2"


async def test_10_gb_file(backend: LocalBackend):
    code = "with open('big', 'wb') as f:\n    for _ in range(10240): f.write(bytes(1 << 20))"
    async with await backend.create(SMALL) as sandbox:
        result = await sandbox.run(code, timeout=60)
        assert result.status == "error"
        assert "File too large" in result.output
        sizes = await sandbox.run("import os; print(os.path.getsize('big') <= 16 << 20)", timeout=30)
        assert sizes.output == "True\n"


@pytest.mark.parametrize(
    "make",
    [
        "os.truncate('big', 10 << 30)",
        "os.posix_fallocate(os.open('big', os.O_RDWR), 0, 10 << 30)",
        "os.pwrite(os.open('big', os.O_RDWR), b'1', 10 << 30)",
        "os.ftruncate(os.memfd_create('big'), 10 << 30)",
    ],
)
async def test_10_gb_file_that_is_sparse(outcomes, make: str):
    assert await outcomes("open('big', 'w')", make) == ["SUCCEEDED", "EFBIG"]


@pytest.mark.parametrize("folder", ["/workspace", "/tmp", "/dev/shm"])
async def test_million_small_files(backend: LocalBackend, folder: str):
    code = f"""
made = 0
try:
    while made < 1_000_000:
        with open(f"{folder}/{{made}}", "w") as file:
            file.write("x" * 4096)
        made += 1
except OSError as error:
    print(error.strerror, made <= 64 << 8)
"""
    async with await backend.create(SMALL) as sandbox:
        assert (await sandbox.run(code, timeout=60)).output == "No space left on device True\n"
        assert (await sandbox.run("print(2)", timeout=30)).output == "2\n"


async def test_million_empty_files(sandbox: Sandbox):
    code = """
import os
made = 0
try:
    while made < 1_000_000:
        os.mknod(f"/workspace/{made}")
        made += 1
except OSError as error:
    print(error.strerror, made <= 100_000)
"""
    assert (await sandbox.run(code, timeout=60)).output == "No space left on device True\n"
    assert await sandbox.read("1", max_bytes=1) == b""


async def test_large_attributes(outcomes):
    """Extended attributes take memory that a file system's size does not count."""
    each = "for n in range(2000) if open(f'x{n}', 'w') for i in range(9)"
    fill = f"[os.setxattr(f'x{{n}}', f'user.{{i}}', bytes(60_000)) {each}]"
    assert (await outcomes(fill))[0] in ("ENOSPC", "EOPNOTSUPP", "EPERM")


async def test_quota_counts_deleted_files_that_are_open(backend: LocalBackend):
    code = """
import os
kept, total = [], 0
try:
    while total < 10 << 30:
        kept.append(open("x", "wb"))
        os.unlink("x")
        total += kept[-1].write(bytes(1 << 20))
except OSError as error:
    print(error.strerror, total <= 33 << 20)
    os._exit(0)
"""
    async with await backend.create(SMALL) as sandbox:
        assert (await sandbox.run(code, timeout=60)).output == "No space left on device True\n"
        assert (await sandbox.run("print(open('x', 'wb').write(bytes(8 << 20)))", timeout=30)).output == "8388608\n"


async def test_submission_after_the_temporary_folders_were_full(backend: LocalBackend):
    fill = """
for folder in ("/tmp", "/dev/shm"):
    try:
        for number in range(1000):
            open(f"{folder}/{number}", "wb", buffering=0).write(bytes(16 << 20))
    except OSError:
        pass
"""
    async with await backend.create(SMALL) as sandbox:
        assert (await sandbox.run(fill, timeout=60)).status == "ok"
        code = "import shutil; shutil.rmtree('/tmp', ignore_errors=True); open('submission.csv', 'w').write('id,y')"
        assert (await sandbox.run(code, timeout=60)).status == "ok"
        assert await sandbox.read("submission.csv", max_bytes=10) == b"id,y"


async def test_full_workspace_can_still_be_cleared(backend: LocalBackend):
    code = "for n in range(9): open(f'big{n}', 'wb').write(bytes(16 << 20))"
    async with await backend.create(SMALL) as sandbox:
        assert "No space left" in (await sandbox.run(code, timeout=60)).output
        with pytest.raises(OSError, match="No space left"):
            await sandbox.write("more", bytes(1 << 20))
        await sandbox.remove("big0")
        await sandbox.write("more", bytes(1 << 20))


async def test_names_that_are_no_text(sandbox: Sandbox):
    code = """
import os
for name in (b"\\xff\\xfe", b"new\\nline", b"-rf", b"x" * 255, "\\ud83d".encode("utf-8", "surrogatepass")):
    os.makedirs(b"odd/" + name + b"/" + name)
    open(b"odd/" + name + b"/file" , "w").close()
open(b"submission\\xff.csv", "w").close()
"""
    assert (await sandbox.run(code, timeout=30)).status == "ok"
    with pytest.raises(FileNotFoundError):
        await sandbox.read("submission.csv", max_bytes=10)
    assert await sandbox.read("odd/new\nline/file", max_bytes=10) == b""
    assert await sandbox.read("submission\udcff.csv", max_bytes=10) == b""
    await sandbox.remove("odd")
    await sandbox.remove("submission\udcff.csv")
    assert (await sandbox.run("import os; print(os.listdir())", timeout=30)).output == "['input']\n"


async def test_deep_and_closed_folders(sandbox: Sandbox):
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


async def test_names_that_get_in_the_way_of_removal(sandbox: Sandbox):
    """Removal once moved folders to names that code could guess and take; a refusal to remove looks like our fault."""
    code = """
import os
os.mkdir("submission.csv")
for pid in range(2, 60):
    for number in range(3):
        open(f"submission.csv/.moved-{pid}-{number}", "w").close()
os.makedirs("submission.csv/a/b/c")
"""
    assert (await sandbox.run(code, timeout=30)).status == "ok"
    await sandbox.remove("submission.csv")
    with pytest.raises(FileNotFoundError):
        await sandbox.read("submission.csv", max_bytes=10)


async def test_shutting_itself_out(sandbox: Sandbox):
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


@pytest.mark.parametrize(
    "attack",
    [
        "open('input/train.csv', 'w')",
        "os.open('input/train.csv', os.O_RDWR)",
        "os.truncate('input/train.csv', 0)",
        "os.remove('input/train.csv')",
        "open('input/new', 'w')",
        "os.chmod('input/train.csv', 0o777)",
        "os.fchmod(os.open('input/train.csv', os.O_RDONLY), 0o777)",
        "os.chown('input/train.csv', os.getuid(), os.getgid())",
        "os.setxattr('input/train.csv', 'user.x', b'1')",
        "os.rename('input', 'moved')",
        "os.rename('input/train.csv', 'train.csv')",
        "os.rmdir('input')",
        "os.utime('input/train.csv')",
        "os.symlink('/', 'input/link')",
        "os.link('input/train.csv', 'linked')",
        "open('/proc/self/fd/' + str(os.open('input/train.csv', os.O_RDONLY)), 'w')",
        "os.copy_file_range(os.open('/tmp/step.py', 0), os.open('input/train.csv', os.O_RDONLY), 10)",
        "__import__('mmap').mmap(os.open('input/train.csv', os.O_RDONLY), 9, prot=3)",
    ],
)
async def test_changing_an_input(outcomes, inputs: Path, attack: str):
    before = (inputs / "train.csv").stat()
    assert (await outcomes(attack))[0] in ("EROFS", "EACCES", "EPERM", "EXDEV", "EBUSY", "EBADF")
    assert sorted(path.name for path in inputs.rglob("*")) == ["deep", "note.txt", "train.csv"]
    assert (inputs / "train.csv").read_text() == "id,y\n1,2\n"
    after = (inputs / "train.csv").stat()
    assert (after.st_mode, after.st_mtime_ns, after.st_nlink) == (before.st_mode, before.st_mtime_ns, before.st_nlink)


@pytest.mark.parametrize(
    "attack",
    [
        "fcntl.fcntl(os.open('input/train.csv', 0), fcntl.F_SETLEASE, fcntl.F_WRLCK)",
        "fcntl.fcntl(os.open('input/train.csv', 0), fcntl.F_SETLEASE, fcntl.F_RDLCK)",
        "fcntl.fcntl(os.open('input', 0), fcntl.F_NOTIFY, fcntl.DN_ACCESS)",
        "call('inotify_init1', 0)",
        "call('fanotify_init', 0x200, 0)",
        "fcntl.lockf(os.open('input/train.csv', 0), fcntl.LOCK_EX)",
    ],
)
async def test_leasing_or_watching_an_input(outcomes, attack: str):
    """A lease stalls whoever opens the file outside; watching tells when others read it."""
    assert (await outcomes(attack))[0] in ("EPERM", "EACCES", "EBADF")


async def test_removing_an_input_from_outside(sandbox: Sandbox, inputs: Path):
    with pytest.raises(OSError, match="input"):
        await sandbox.remove("input")
    assert (inputs / "train.csv").exists()


@pytest.mark.parametrize(
    "attack",
    [
        "open('/tmp/step.py', 'w')",
        "os.remove('/tmp/step.py')",
        "os.rename('/tmp/step.py', '/tmp/other.py')",
        "os.chmod('/tmp/step.py', 0o777)",
        "open('/etc/passwd', 'a')",
        "open('/etc/ld.so.preload', 'w')",
        "open('/usr/x', 'w')",
        "os.mkdir('/x')",
        "os.chmod('/', 0o777)",
        "open(os.__file__, 'a')",
        "open(sys.executable, 'r+b')",
        "os.open('/proc/self/exe', os.O_WRONLY)",
        "os.chmod('/proc/self/exe', 0)",
        "os.setxattr('/proc/self/exe', 'user.x', b'1')",
        "open('/proc/sys/kernel/hostname', 'w')",
        "open('/proc/sys/kernel/core_pattern', 'w')",
        "open('/proc/sys/vm/drop_caches', 'w')",
        "open('/proc/sysrq-trigger', 'w')",
        "open('/dev/mem', 'rb')",
        "open('/proc/kcore', 'rb')",
        "open('/proc/kmsg', 'rb')",
        "open('/dev/kmsg', 'w')",
        "os.listdir('/sys')",
        "os.listdir('/sys/fs/cgroup')",
        "os.mknod('node', 0o020666, os.makedev(1, 1))",
        "os.mknod('disk', 0o060666, os.makedev(254, 0))",
        "os.chmod('/dev/null', 0)",
        "os.remove('/dev/null')",
    ],
)
async def test_changing_the_system(outcomes, attack: str):
    refused = ("EROFS", "EACCES", "EPERM", "EBUSY", "ENOENT", "EXDEV", "ETXTBSY")
    assert (await outcomes(attack))[0] in refused


@pytest.fixture
def own_interpreter(tmp_path: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--copies", "--without-pip", tmp_path / "own"], check=True)
    return tmp_path / "own" / "bin" / "python"


async def test_changing_the_users_own_interpreter(own_interpreter: Path):
    """In a user namespace code has its owner's id, and /proc/self/exe leads to it outside of the sandbox's mounts."""
    program = own_interpreter
    mode = program.stat().st_mode
    code = """
import os
for attack in (lambda: os.chmod("/proc/self/exe", 0o777), lambda: os.utime("/proc/self/exe", (1, 1)),
               lambda: os.open("/proc/self/exe", os.O_WRONLY), lambda: os.setxattr("/proc/self/exe", "user.x", b"1")):
    try:
        attack(); print("SUCCEEDED")
    except OSError:
        print("refused")
"""
    async with LocalBackend(python=program) as backend, await backend.create(SandboxSpec()) as sandbox:
        assert (await sandbox.run(code, timeout=30)).output == "refused\n" * 4
    assert program.stat().st_mode == mode
