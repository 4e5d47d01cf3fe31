"""Reading, writing and removing files of the workspace, which code may have filled with anything."""

from __future__ import annotations

import asyncio

from sandmle.sandboxes._protocol import SandboxBackend
from sandmle.sandboxes.contract._check import check, expect, isolated, refused, script, step

__all__: list[str] = []


@check()
async def round_trip(backend: SandboxBackend) -> None:
    """Bytes written by the host are read by code and host as they were; folders on the way are made."""
    data = bytes(range(256)) * 20
    async with script(backend) as sandbox:
        await sandbox.write("sub/dir/x.bin", data)
        await step(
            sandbox, "data = open('sub/dir/x.bin', 'rb').read()\nprint(data == bytes(range(256)) * 20)", "True\n"
        )
        expect(await sandbox.read("sub/dir/x.bin", max_bytes=len(data)) == data, "the bytes read are not those written")
        await sandbox.write("empty", b"")
        expect(await sandbox.read("empty", max_bytes=1) == b"", "an empty file is not read as empty")


@check()
async def code_owns_what_the_host_wrote(backend: SandboxBackend) -> None:
    """Code can change, and remove, what the host wrote, and the host what code wrote."""
    async with script(backend) as sandbox:
        await sandbox.write("sub/a", b"1")
        await step(sandbox, "open('sub/a', 'a').write('2')\nopen('sub/b', 'w').write('3')\nopen('c', 'w').write('4')")
        expect(await sandbox.read("sub/a", max_bytes=9) == b"12", "code's addition is missing")
        await sandbox.write("c", b"5")
        await step(sandbox, "import shutil\nshutil.rmtree('sub')\nprint(open('c').read())", "5\n")


@check()
async def large_file(backend: SandboxBackend) -> None:
    """A file of 8 MiB goes in and comes out whole."""
    data = bytes(range(256)) * (8 << 12)
    async with script(backend) as sandbox:
        await sandbox.write("big", data)
        await step(
            sandbox, "data = open('big', 'rb').read()\nopen('copy', 'wb').write(data)\nprint(len(data))", "8388608\n"
        )
        expect(await sandbox.read("copy", max_bytes=8 << 20) == data, "the copy differs")


@check()
async def too_large(backend: SandboxBackend) -> None:
    """A file above ``max_bytes`` is refused, also a sparse one of a terabyte's size."""
    async with script(backend) as sandbox:
        await sandbox.write("six", b"123456")
        await refused(sandbox.read("six", max_bytes=5), ValueError, "6 bytes with max_bytes=5")
        await step(sandbox, "import os\nfd = os.open('sparse', os.O_CREAT | os.O_RDWR)\nos.truncate(fd, 400 << 20)")
        await refused(sandbox.read("sparse", max_bytes=1 << 20), ValueError, "400 MiB with max_bytes=1 MiB")


@check()
async def missing(backend: SandboxBackend) -> None:
    """Reading what is not there is ``FileNotFoundError``; removing it is nothing."""
    async with script(backend) as sandbox:
        for path in ("nothing", "no/thing"):
            await refused(sandbox.read(path, max_bytes=5), FileNotFoundError, path)
            await sandbox.remove(path)


@check()
async def removing(backend: SandboxBackend) -> None:
    """A file, a link and a full folder are removed; what a link leads to stays."""
    async with script(backend) as sandbox:
        await step(
            sandbox, "import os\nos.makedirs('d/e')\nopen('d/e/f', 'w')\nopen('g', 'w')\nos.symlink('g', 'link')"
        )
        for path in ("d", "link"):
            await sandbox.remove(path)
        await step(sandbox, "import os\nprint(os.listdir())", "['g']\n")


@check()
async def replacing(backend: SandboxBackend) -> None:
    """Writing replaces a folder or a link, and never writes through the link."""
    async with script(backend) as sandbox:
        await step(
            sandbox, "import os\nos.mkdir('d')\nopen('d/x', 'w')\nopen('g', 'w').write('safe')\nos.symlink('g', 'link')"
        )
        for path in ("d", "link"):
            await sandbox.write(path, b"new")
            expect(await sandbox.read(path, max_bytes=9) == b"new", f"{path} does not hold what was written")
        expect(await sandbox.read("g", max_bytes=9) == b"safe", "the link's target was changed")


@check()
async def odd_files(backend: SandboxBackend) -> None:
    """Links, folders, FIFOs and files that code closed to itself are refused, without waiting and without following."""
    makes = [
        "os.symlink('/etc/passwd', 'odd')",
        "os.symlink('other', 'odd')",
        "os.mkfifo('odd')",
        "os.mkdir('odd')",
    ]
    if backend.capabilities.tier != "C":  # which gives no socket
        makes.append("socket.socket(socket.AF_UNIX).bind('odd')")
    async with script(backend) as sandbox:
        await sandbox.write("other", b"1")
        for make in makes:
            await step(sandbox, f"import os, socket\n{make}")
            await refused(asyncio.wait_for(sandbox.read("odd", max_bytes=1 << 20), 60), ValueError, make)
            await sandbox.remove("odd")


@check(isolated)
async def closed_file(backend: SandboxBackend) -> None:
    """A file that code may not read itself is refused: the host reads with code's rights."""
    async with script(backend) as sandbox:
        await step(sandbox, "import os\nopen('odd', 'w').close()\nos.chmod('odd', 0)")
        await refused(sandbox.read("odd", max_bytes=9), ValueError, "a file of mode 0")


@check()
async def linked_folders(backend: SandboxBackend) -> None:
    """No operation goes through a linked folder."""
    async with script(backend) as sandbox:
        await step(sandbox, "import os\nos.mkdir('real')\nopen('real/x', 'w').write('1')\nos.symlink('real', 'sub')")
        await refused(sandbox.read("sub/x", max_bytes=9), ValueError, "reading sub/x through a link")
        await refused(sandbox.write("sub/x", b"2"), ValueError, "writing sub/x through a link")
        await refused(sandbox.remove("sub/x"), ValueError, "removing sub/x through a link")
        expect(await sandbox.read("real/x", max_bytes=9) == b"1", "the file behind the link was changed")


@check()
async def paths_outside(backend: SandboxBackend) -> None:
    """Empty and absolute paths, and those with ``..`` or a NUL, are refused."""
    async with script(backend) as sandbox:
        for path in ("", ".", "/etc/passwd", "../x", "a/../../x", "a\0b"):
            await refused(sandbox.read(path, max_bytes=9), ValueError, f"reading {path!r}")
            await refused(sandbox.write(path, b""), ValueError, f"writing {path!r}")
            await refused(sandbox.remove(path), ValueError, f"removing {path!r}")


@check()
async def odd_names(backend: SandboxBackend) -> None:
    """Spaces, quotes, leading dashes and letters of all the world are fine in names."""
    names = ["a b", "-rf", "'\"$(x)`", "näme 名", "x\ny"]
    async with script(backend) as sandbox:
        for name in names:
            await sandbox.write(name, name.encode())
            expect(await sandbox.read(name, max_bytes=99) == name.encode(), f"{name!r} was not read back")
        await step(sandbox, f"import os\nprint(sorted(os.listdir()) == {sorted(names)!r})", "True\n")
