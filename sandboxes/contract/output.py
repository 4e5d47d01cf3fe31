"""What is kept of what a step prints: bounded, head and tail, progress bars folded, always text."""

from __future__ import annotations

from sandmle.sandboxes._protocol import SandboxBackend, SandboxLimits
from sandmle.sandboxes.contract._check import check, expect, script, step

__all__: list[str] = []


@check()
async def head_and_tail(backend: SandboxBackend) -> None:
    """Of a long output the start and the end are kept within the limit, and the bytes are counted."""
    async with script(backend, limits=SandboxLimits(output_bytes=2000)) as sandbox:
        result = await step(sandbox, "print('start')\nprint('middle ' * 100_000)\nprint('end')")
        expect(result.total_bytes == 700_011, f"700011 bytes were written, total_bytes is {result.total_bytes}")
        kept = len(result.head.encode()) + len(result.tail.encode())
        expect(kept <= 2000, f"{kept} bytes kept of 2000 allowed")
        expect(result.head.startswith("start\n"), f"the head starts {result.head[:30]!r}")
        expect(result.tail.endswith("end\n"), f"the tail ends {result.tail[-30:]!r}")
        expect("bytes left out" in result.output, "the gap is not told")


@check()
async def short_output_is_whole(backend: SandboxBackend) -> None:
    """An output within the limit is all in ``head``."""
    async with script(backend, limits=SandboxLimits(output_bytes=2000)) as sandbox:
        result = await step(sandbox, "print('x' * 1999)", "x" * 1999 + "\n")
        expect(result.tail == "", "there is a tail though nothing was left out")


@check()
async def flood(backend: SandboxBackend) -> None:
    """Endless output ends the step, as ``output_limit`` or at its deadline, within bounds."""
    async with script(backend) as sandbox:
        result = await sandbox.run(
            "import os\nline = b'flood ' * 1000 + b'\\n'\nwhile True: os.write(1, line)", timeout=30
        )
        expect(result.status in ("output_limit", "timeout"), f"endless output ended as {result.status}")
        kept = len(result.head.encode()) + len(result.tail.encode())
        expect(kept <= SandboxLimits().output_bytes, f"{kept} bytes kept")
        await step(sandbox, "print(2)", "2\n")


@check()
async def carriage_returns(backend: SandboxBackend) -> None:
    """A line that is redrawn keeps its last state alone; a Windows line end is a line end."""
    async with script(backend) as sandbox:
        bar = "import sys\nfor i in range(50): sys.stdout.write(f'\\r{i} of 50')\nprint()\n"
        code = bar + "sys.stdout.write('a\\r\\nb\\n')"
        await step(sandbox, code, "49 of 50\na\nb\n")


@check()
async def invalid_bytes(backend: SandboxBackend) -> None:
    """Bytes that are no text are replaced; text of all the world is kept."""
    async with script(backend) as sandbox:
        await step(
            sandbox, "import os\nos.write(1, b'a\\xff\\xfe\\x00b ' + '名é'.encode() + b'\\n')", "a\ufffd\ufffd\0b 名é\n"
        )


@check()
async def no_places_of_ours(backend: SandboxBackend) -> None:
    """The paths that code and output show are the same whatever the backend."""
    async with script(backend) as sandbox:
        code = "import os, sys, tempfile\nprint(os.path.abspath('x'), __file__, sys.argv[0], tempfile.gettempdir())"
        await step(sandbox, code, "/workspace/x /tmp/step.py /tmp/step.py /tmp\n")
