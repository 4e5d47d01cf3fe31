"""Cells: steps that share the variables of one interpreter."""

from __future__ import annotations

import asyncio

from sandmle.sandboxes._protocol import Sandbox, SandboxBackend
from sandmle.sandboxes.contract._check import CheckFailure, cell, check, expect, refused, script, stateful, step

__all__: list[str] = []


@check(stateful)
async def variables_last(backend: SandboxBackend) -> None:
    """Variables, functions, imports and the working folder last from cell to cell, and the result says so."""
    async with cell(backend) as sandbox:
        result = await step(
            sandbox, "import os\nx = 41\ndef add(y): return x + y\nos.mkdir('sub')\nos.chdir('sub')", ""
        )
        expect(result.state == "kept", f"state is {result.state}")
        await step(sandbox, "print(add(1), os.getcwd())", "42 /workspace/sub\n")


@check(stateful)
async def last_expression(backend: SandboxBackend) -> None:
    """A cell shows the value of a last line that is an expression, unless it is None."""
    async with cell(backend) as sandbox:
        await step(sandbox, "x = 6\nx * 7", "42\n")
        await step(sandbox, "print('a')\n'b'", "a\n'b'\n")
        await step(sandbox, "None", "")
        await step(sandbox, "x = 1", "")
        await step(sandbox, "", "")


@check(stateful)
async def error_keeps_state(backend: SandboxBackend) -> None:
    """A cell that raises is ``error`` with a traceback; what it and the ones before it set stays."""
    async with cell(backend) as sandbox:
        await step(sandbox, "x = 1\ndef f():\n    return 1 / 0")
        result = await sandbox.run("y = 2\nf()\nz = 3", timeout=30)
        expect((result.status, result.state) == ("error", "kept"), f"got {result.status}, state {result.state}")
        expect(result.output.startswith("Traceback (most recent call last):\n"), f"it starts {result.output[:60]!r}")
        expect("ZeroDivisionError: division by zero" in result.output, f"it ends {result.output[-60:]!r}")
        await step(sandbox, "print(x, y, 'z' in globals())", "1 2 False\n")


@check(stateful)
async def syntax_error_keeps_state(backend: SandboxBackend) -> None:
    """A cell that can't be parsed is ``error`` and changes nothing."""
    async with cell(backend) as sandbox:
        await step(sandbox, "x = 1")
        result = await sandbox.run("x = 2\ndef broken(:", timeout=30)
        expect((result.status, result.state) == ("error", "kept"), f"got {result.status}, state {result.state}")
        expect("SyntaxError" in result.output, f"it ends {result.output[-60:]!r}")
        await step(sandbox, "print(x)", "1\n")


@check(stateful)
async def timeout(backend: SandboxBackend) -> None:
    """A cell that is too slow is undone, or loses all and says so; it keeps its output, and the next cell works."""
    async with cell(backend) as sandbox:
        await step(sandbox, "x = 1")
        result = await sandbox.run("x = 2\nprint('so far', flush=True)\nwhile True: pass", timeout=1.0)
        expect((result.status, result.output) == ("timeout", "so far\n"), f"got {result.status}: {result.output!r}")
        await _told_truly(sandbox, result.state)


@check(stateful)
async def violent_end(backend: SandboxBackend) -> None:
    """A cell that ends its process is undone, or loses all and says so; the next cell works."""
    for end in ("os._exit(3)", "os.kill(os.getpid(), 9)", "ctypes.string_at(0)"):
        async with cell(backend) as sandbox:
            await step(sandbox, "x = 1")
            result = await sandbox.run(f"import ctypes, os\nx = 2\n{end}", timeout=30)
            expect(result.status in ("error", "killed"), f"{end}: got {result.status}")
            await _told_truly(sandbox, result.state)


@check(stateful)
async def cancelling(backend: SandboxBackend) -> None:
    """A cell whose ``run`` is cancelled is killed before that returns, and the next cell works."""
    async with cell(backend) as sandbox:
        await step(sandbox, "import os, time\nx = 1")
        task = asyncio.create_task(sandbox.run("time.sleep(3)\nopen('late', 'w').close()", timeout=60))
        await asyncio.sleep(1.5)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass
        else:
            raise CheckFailure("a cancelled run returned a result")
        await step(sandbox, "import os, time\ntime.sleep(2)\nprint(os.path.exists('late'))", "False\n")


@check(stateful)
async def ignored_children(backend: SandboxBackend) -> None:
    """A cell that dies is told of and rolled back even where code has had the ends of processes ignored."""
    async with cell(backend) as sandbox:
        await step(sandbox, "import os, signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nx = 1")
        result = await sandbox.run("x = 2\nos.kill(os.getpid(), signal.SIGKILL)", timeout=30)
        expect(result.status == "killed", f"status is {result.status}, not killed")
        await _told_truly(sandbox, result.state)


@check(stateful)
async def seeds_last(backend: SandboxBackend) -> None:
    """A generator seeded in one cell goes on in the next as it would in one process."""
    draw = "print(random.random(), np.random.random())"
    seed = "import random\nimport numpy as np\nrandom.seed(1)\nnp.random.seed(1)\n"
    async with cell(backend) as sandbox:
        first = (await step(sandbox, f"{seed}{draw}", timeout=120)).output
        second = (await step(sandbox, draw)).output
        expect(first != second, f"two draws of a stream are the same: {first!r}")
        await step(sandbox, f"{seed}{draw}\n{draw}", first + second)


@check(stateful)
async def no_arguments(backend: SandboxBackend) -> None:
    """A cell that is given arguments is refused."""
    async with cell(backend) as sandbox:
        await refused(sandbox.run("print(1)", timeout=5, args=["x"]), ValueError, "a cell with arguments")


@check(stateful)
async def main_module(backend: SandboxBackend) -> None:
    """Cells live in ``__main__``: their classes can be pickled, their module found."""
    async with cell(backend) as sandbox:
        await step(sandbox, "import pickle\nclass Point:\n    x = 3")
        await step(
            sandbox,
            "import __main__\nprint(__name__, pickle.loads(pickle.dumps(Point())).x, __main__.Point.x)",
            "__main__ 3 3\n",
        )


@check(stateful)
async def separate(backend: SandboxBackend) -> None:
    """Two sandboxes share no variable, and scripts beside cells see none."""
    async with cell(backend) as one:
        await step(one, "x = 1")
        for beside in (cell, script):  # one after the other, for a backend may have room for two at a time
            async with beside(backend) as sandbox:
                await step(sandbox, "print('x' in globals())", "False\n")


async def _told_truly(sandbox: Sandbox, state: str) -> None:
    """The variable ``x`` was 1 before the cell that set it to 2 and was ended."""
    expect(state in ("rolled_back", "lost"), f"state is {state}, neither rolled_back nor lost")
    await step(sandbox, "print(globals().get('x'))", "1\n" if state == "rolled_back" else "None\n")
