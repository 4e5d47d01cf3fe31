"""What code must not reach: the network, our environment, the inputs' originals, its neighbours."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sandmle.sandboxes._protocol import SandboxBackend
from sandmle.sandboxes.contract._check import check, confined, expect, isolated, script, step

__all__: list[str] = []


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sandmle-contract-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "deep").mkdir()
        (folder / "train.csv").write_text("id,y\n1,2\n")
        (folder / "deep" / "note.txt").write_text("deep\n")
        yield folder


@check()
async def inputs_are_shown(backend: SandboxBackend) -> None:
    """Folders and single files given as inputs are where the spec says, whoever owns them outside."""
    with _folder() as folder:
        (folder / "deep" / "note.txt").chmod(0o600)
        async with script(backend, inputs={"input": folder, "one/file.csv": folder / "train.csv"}) as sandbox:
            names = "('input/train.csv', 'input/deep/note.txt', 'one/file.csv')"
            code = f"for name in {names}: print(open(name).read(), end='')"
            await step(sandbox, code, "id,y\n1,2\ndeep\nid,y\n1,2\n")
            read = await sandbox.read("input/train.csv", max_bytes=99)
            expect(read == b"id,y\n1,2\n", f"the host reads {read!r}")


@check()
async def originals_stay(backend: SandboxBackend) -> None:
    """Whatever code does to its inputs, the originals stay as they were."""
    code = """
import os, shutil
for attempt in (lambda: open("input/train.csv", "a").write("3,4\\n"), lambda: open("input/new", "w").write("1"),
                lambda: os.remove("input/train.csv"), lambda: shutil.rmtree("input")):
    try:
        attempt()
    except OSError:
        pass
print("tried")
"""
    with _folder() as folder:
        async with script(backend, inputs={"input": folder}) as sandbox:
            await step(sandbox, code, "tried\n")
        names = sorted(path.name for path in folder.rglob("*"))
        expect(names == ["deep", "note.txt", "train.csv"], f"the original folder now holds {names}")
        expect((folder / "train.csv").read_text() == "id,y\n1,2\n", "the original file was changed")


@check(isolated)
async def inputs_are_read_only(backend: SandboxBackend) -> None:
    """Code can neither change, add, remove nor move its inputs, nor open them for itself."""
    code = """
import os
def outcome(attempt):
    try:
        attempt()
    except OSError:
        return "refused"
    return "done"
attempts = [
    lambda: open("input/train.csv", "a"), lambda: open("input/new", "w"), lambda: os.remove("input/train.csv"),
    lambda: os.rename("input/train.csv", "input/x"), lambda: os.rename("input", "moved"),
    lambda: os.rename("input/deep", "moved"), lambda: os.chmod("input", 0o777), lambda: os.rmdir("input/deep"),
    lambda: os.chmod("input/train.csv", 0o666),
]
print(*{outcome(attempt) for attempt in attempts})
"""
    with _folder() as folder:
        async with script(backend, inputs={"input": folder, "one/file.csv": folder / "train.csv"}) as sandbox:
            result = await step(sandbox, code)
            expect(result.output == "refused\n", f"attempts on the inputs: {result.output.strip()}")
            await step(sandbox, "print(open('input/train.csv').read(), end='')", "id,y\n1,2\n")


@check()
async def environment(backend: SandboxBackend) -> None:
    """Code sees the spec's variables, limits on threads, and none of our own variables."""
    code = "import json, os\nprint(json.dumps(dict(os.environ)))"
    async with script(backend, env={"FOLD": "3", "TEXT": "a b'\"$HOME\né"}) as sandbox:
        result = await step(sandbox, code)
        found = json.loads(result.output)
    expect(found.get("FOLD") == "3", f"FOLD is {found.get('FOLD')!r}")
    expect(found.get("TEXT") == "a b'\"$HOME\né", f"TEXT is {found.get('TEXT')!r}")
    expect(found.get("OMP_NUM_THREADS") == "1", f"OMP_NUM_THREADS is {found.get('OMP_NUM_THREADS')!r} for one cpu")
    expect(found.get("HOME") == "/tmp", f"HOME is {found.get('HOME')!r}")
    secret = [name for name in found if name.startswith("E2B_") or name.endswith(("_KEY", "_TOKEN", "_SECRET"))]
    expect(not secret, f"code sees {', '.join(secret)}")


@check(confined)
async def no_network(backend: SandboxBackend) -> None:
    """Code reaches neither the internet nor this machine, by TCP, UDP or a local socket."""
    name = secrets.token_hex(8)
    with ExitStack() as stack:
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind("\0" + name)
        abstract.listen()
        code = f"""
import socket
def reaches(family, kind, address):
    try:
        with socket.socket(family, kind) as s:
            s.settimeout(3)
            s.connect(address)
            if kind == socket.SOCK_DGRAM:
                query = bytes.fromhex("000101000001000000000000076578616d706c6503636f6d0000010001")
                s.send(query)
                s.recv(100)
    except OSError:
        return False
    return True
print("tcp here", reaches(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", {tcp.getsockname()[1]})))
print("tcp far", reaches(socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 53)))
print("udp far", reaches(socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53)))
print("local socket", reaches(socket.AF_UNIX, socket.SOCK_STREAM, "\\x00{name}"))
"""
        async with script(backend) as sandbox:
            expected = "tcp here False\ntcp far False\nudp far False\nlocal socket False\n"
            await step(sandbox, code, expected)


@check(confined)
async def unprivileged(backend: SandboxBackend) -> None:
    """Code is not root, has no capability, and can gain none."""
    code = """
import os
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
print(os.getuid() != 0, int(status["CapEff"], 16), int(status["CapPrm"], 16), status["NoNewPrivs"].strip())
"""
    async with script(backend) as sandbox:
        await step(sandbox, code, "True 0 0 1\n")


@check(confined)
async def host_files_are_closed(backend: SandboxBackend) -> None:
    """A file of this machine can't be read inside, though all its users may read it."""
    code = """
try:
    print(open({!r}).read())
except OSError:
    print("refused")
"""
    with tempfile.NamedTemporaryFile(prefix="sandmle-contract-") as secret:
        secret.write(b"secret")
        secret.flush()
        Path(secret.name).chmod(0o644)
        async with script(backend) as sandbox:
            await step(sandbox, code.format(secret.name), "refused\n")


@check(isolated)
async def host_files_are_hidden(backend: SandboxBackend) -> None:
    """A file of this machine is not to be found inside."""
    with tempfile.NamedTemporaryFile(prefix="sandmle-contract-") as secret:
        async with script(backend) as sandbox:
            await step(sandbox, f"import os\nprint(os.path.exists({secret.name!r}))", "False\n")


@check()
async def sandboxes_do_not_share(backend: SandboxBackend) -> None:
    """Two sandboxes at once see nothing of each other's workspace."""
    async with script(backend) as one, script(backend) as two:
        await asyncio.gather(*(step(box, f"open('x', 'w').write('{n}')") for n, box in enumerate((one, two))))
        for number, sandbox in enumerate((one, two)):
            await step(sandbox, "import os\nprint(os.listdir(), open('x').read())", f"['x'] {number}\n")


@check(isolated)
async def temporary_folders_do_not_share(backend: SandboxBackend) -> None:
    """Two sandboxes at once have a ``/tmp`` each."""
    async with script(backend) as one, script(backend) as two:
        await step(one, "open('/tmp/left', 'w').write('1')")
        await step(two, "import os\nprint(os.path.exists('/tmp/left'))", "False\n")
