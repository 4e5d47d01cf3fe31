"""Attacks on the labels: ways to a file that is not among the inputs, from inside and through the file operations."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from pathlib import Path

import pytest

from sandmle.sandboxes import Sandbox


@pytest.fixture
def labels(inputs: Path) -> Path:
    """Labels as a task has them: beside the public folder that is an input."""
    path = inputs.parent / "private" / "answers.csv"
    path.parent.mkdir()
    path.write_text("id,label-marker\n")
    return path


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


@pytest.mark.parametrize(
    "way",
    [
        "{labels}",
        "/proc/1/root{labels}",
        "/proc/1/cwd/../..{labels}",
        "/proc/self/root{labels}",
        "/proc/self/cwd/../../../..{labels}",
        "/proc/self/task/1/root{labels}",
        "/workspace/input/../../private/answers.csv",
        "/workspace/input/../private/answers.csv",
        "/old{labels}",
        "/proc/self/root/../old{labels}",
        "/own/step.py",
        "/stage",
        "/layer",
    ],
)
async def test_path(outcomes, labels: Path, way: str):
    (outcome,) = await outcomes(f"open({way.format(labels=labels)!r}, 'rb').read()")
    assert outcome in ("ENOENT", "EACCES", "EPERM", "ENOTDIR")


@pytest.mark.parametrize("way", ["{labels}", "/proc/1/root{labels}", "input/../../private/answers.csv", "/etc/passwd"])
async def test_symlink(sandbox: Sandbox, labels: Path, way: str):
    target = way.format(labels=labels)
    code = f"import os\nos.symlink({target!r}, 'submission.csv')\nprint(os.path.exists('submission.csv'))"
    exists = "True" if target == "/etc/passwd" else "False"
    assert (await sandbox.run(code, timeout=30)).output == f"{exists}\n"
    with pytest.raises(ValueError, match="submission"):
        await sandbox.read("submission.csv", max_bytes=1 << 20)


async def test_hard_link(outcomes, labels: Path):
    assert await outcomes(
        f"os.link({str(labels)!r}, 'submission.csv')",
        "os.link('input/train.csv', 'submission.csv')",
        "os.link('/etc/passwd', 'submission.csv')",
        "os.link('/proc/1/exe', 'submission.csv')",
    ) == ["ENOENT", "EXDEV", "EXDEV", "EXDEV"]


async def test_block_device(outcomes):
    """The disk that holds the labels, by its number."""
    device = Path(__file__).stat().st_dev
    made = f"os.mknod('submission.csv', 0o060666, {device})"
    assert await outcomes(made, f"os.mknod('/dev/disk', 0o060666, {device})") == ["EPERM", "EROFS"]


async def test_handle_of_a_file(outcomes):
    assert set(await outcomes("call('open_by_handle_at', -100, bytes(64), 0)")) == {"EPERM"}
    handle = "call('name_to_handle_at', -100, b'/workspace/input', bytes(192), bytes(8), 0)"
    assert set(await outcomes(handle)) == {"EPERM"}


async def test_leaving_the_root(outcomes):
    assert set(await outcomes("os.chroot('/tmp')", "os.chroot('/')")) == {"EPERM"}
    climb = "[os.chdir('..') for _ in range(50)] and os.stat('old')"
    assert await outcomes(climb) == ["ENOENT"]


@pytest.mark.parametrize(
    "make",
    [
        "os.symlink('input/train.csv', 'submission.csv')",
        "os.symlink('/proc/1/environ', 'submission.csv')",
        "os.symlink('submission.csv', 'submission.csv')",
        "os.symlink('/proc/self/fd/0', 'submission.csv')",
        "os.mkfifo('submission.csv')",
        "os.mkdir('submission.csv')",
        "socket.socket(socket.AF_UNIX).bind('submission.csv')",
        "os.truncate(os.open('submission.csv', os.O_CREAT | os.O_RDWR), 500 << 20)",
        "os.chmod('submission.csv', 0) if open('submission.csv', 'w') else None",
    ],
    ids=["link", "link to proc", "loop", "link to stdin", "FIFO", "directory", "socket", "sparse", "unreadable"],
)
async def test_odd_submission(sandbox: Sandbox, make: str):
    result = await sandbox.run(f"import os, socket\n{make}", timeout=30)
    assert result.status == "ok", result.output
    with pytest.raises(ValueError, match="submission"):
        await asyncio.wait_for(sandbox.read("submission.csv", max_bytes=1 << 20), 20)
    await sandbox.remove("submission.csv")
    with pytest.raises(FileNotFoundError):
        await sandbox.read("submission.csv", max_bytes=1 << 20)
    await sandbox.write("submission.csv", b"id,y\n")
    assert await sandbox.read("submission.csv", max_bytes=5) == b"id,y\n"


async def test_linked_folders(sandbox: Sandbox):
    await sandbox.run("import os; os.symlink('/tmp', 'sub'); os.symlink('/', 'root')", timeout=30)
    with pytest.raises(ValueError, match="sub"):
        await sandbox.write("sub/x", b"1")
    with pytest.raises(ValueError, match="root"):
        await sandbox.read("root/etc/passwd", max_bytes=10_000)
    with pytest.raises(ValueError, match="sub"):
        await sandbox.remove("sub/step.py")
    await sandbox.write("sub", b"no longer a link")
    assert (await sandbox.run("import os; print(os.listdir('/tmp'))", timeout=30)).output.count("'x'") == 0


async def test_link_in_the_place_where_files_are_written_first(sandbox: Sandbox, labels: Path):
    code = f"import os\nfor n in ('.sandmle-writing', 'a'): os.symlink({str(labels)!r}, n)\nos.mkfifo('.b')"
    await sandbox.run(code, timeout=30)
    await sandbox.write("a", b"new")
    assert await sandbox.read("a", max_bytes=9) == b"new"
    assert labels.read_text() == "id,label-marker\n"
