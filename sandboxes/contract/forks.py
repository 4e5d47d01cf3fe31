"""Forks and snapshots: independent copies of a sandbox's state at the end of its last step."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from sandmle.sandboxes._protocol import Sandbox, SandboxBackend, SandboxSpec
from sandmle.sandboxes.contract._check import cell, check, expect, forkable, refused, script, stateful, step

__all__: list[str] = []


@asynccontextmanager
async def _forks(sandbox: Sandbox, n: int) -> AsyncIterator[list[Sandbox]]:
    async with AsyncExitStack() as stack:
        children = await sandbox.fork(n)
        for child in children:
            await stack.enter_async_context(child)
        expect(len(children) == n, f"fork({n}) gave {len(children)}")
        yield list(children)


@check()
async def files(backend: SandboxBackend) -> None:
    """Forks begin with the parent's files, and see no later change of hers or of each other."""
    async with script(backend) as sandbox:
        await step(sandbox, "open('x', 'w').write('parent')\nopen('gone', 'w').close()")
        async with _forks(sandbox, 3) as children:
            await step(sandbox, "import os\nopen('x', 'w').write('later')\nopen('late', 'w')")
            await asyncio.gather(
                *(
                    step(child, f"import os\nopen('x', 'a').write('{n}')\nos.remove('gone')")
                    for n, child in enumerate(children)
                )
            )
            for number, child in enumerate(children):
                await step(child, "import os\nprint(sorted(os.listdir()), open('x').read())", f"['x'] parent{number}\n")
                expect(await child.read("x", max_bytes=99) == f"parent{number}".encode(), "the host reads another file")
            await step(
                sandbox, "import os\nprint(sorted(os.listdir()), open('x').read())", "['gone', 'late', 'x'] later\n"
            )


@check()
async def unused(backend: SandboxBackend) -> None:
    """A sandbox that has run nothing can be forked."""
    async with script(backend) as sandbox, _forks(sandbox, 2) as children:
        for child in children:
            await step(child, "print(1)", "1\n")


@check()
async def counts(backend: SandboxBackend) -> None:
    """Fewer than one fork is refused, and the sandbox goes on."""
    async with script(backend) as sandbox:
        for n in (0, -1):
            await refused(sandbox.fork(n), ValueError, f"fork({n})")
        await step(sandbox, "print(1)", "1\n")


@check()
async def nested(backend: SandboxBackend) -> None:
    """Forks of forks are as good, and parents and children are closed in any order."""
    async with AsyncExitStack() as stack:
        parent = await backend.create(SandboxSpec())
        stack.push_async_callback(parent.aclose)
        await step(parent, "open('x', 'w').write('0')")
        (child,) = await parent.fork(1)
        stack.push_async_callback(child.aclose)
        await step(child, "open('x', 'a').write('1')")
        one, two = await child.fork(2)
        for grandchild in (one, two):
            stack.push_async_callback(grandchild.aclose)
        await parent.aclose()
        await step(child, "print(open('x').read())", "01\n")
        await child.aclose()
        await one.aclose()
        await step(two, "open('x', 'a').write('2')\nprint(open('x').read())", "012\n")
        (last,) = await two.fork(1)
        stack.push_async_callback(last.aclose)
        await two.aclose()
        await step(last, "print(open('x').read())", "012\n")


@check()
async def inputs(backend: SandboxBackend) -> None:
    """Forks have the parent's inputs, environment and limits."""
    with tempfile.TemporaryDirectory(prefix="sandmle-contract-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "a.txt").write_text("given")
        spec: dict[str, Any] = {"inputs": {"input": folder}, "env": {"FOLD": "3"}}
        async with script(backend, **spec) as sandbox, _forks(sandbox, 1) as (child,):
            await step(child, "import os\nprint(open('input/a.txt').read(), os.environ['FOLD'])", "given 3\n")


@check(stateful)
async def variables(backend: SandboxBackend) -> None:
    """Forks of cells begin with the parent's variables, and see no later change of hers or of each other."""
    async with cell(backend) as sandbox:
        await step(sandbox, "x = ['parent']\ndef show(): return '-'.join(x)")
        async with _forks(sandbox, 3) as children:
            await step(sandbox, "x.append('later')")
            for number, child in enumerate(children):
                expect(child.origin in ("forked", "replayed"), f"the origin of a fork is {child.origin}")
                await step(child, f"x.append('{number}')")
            for number, child in enumerate(children):
                await step(child, "show()", f"'parent-{number}'\n")
            await step(sandbox, "show()", "'parent-later'\n")


@check(stateful, forkable)
async def state_is_copied(backend: SandboxBackend) -> None:
    """A fork has the parent's very values, also those that running the cells again would not give."""
    async with cell(backend) as sandbox:
        result = await step(sandbox, "import os, time\nvalue = os.urandom(8).hex(), time.time_ns()\nvalue")
        async with _forks(sandbox, 2) as children:
            for child in children:
                expect(child.origin == "forked", f"the origin of a fork is {child.origin}")
                await step(child, "value", result.output)


@check(stateful)
async def nested_variables(backend: SandboxBackend) -> None:
    """Forks of forks of cells have each their line of states."""
    async with cell(backend) as sandbox:
        await step(sandbox, "x = [0]")
        async with _forks(sandbox, 1) as (child,):
            await step(child, "x.append(1)")
            async with _forks(child, 2) as (one, two):
                await step(one, "x.append(2)")
                await step(two, "x.append(3)")
                await step(one, "x", "[0, 1, 2]\n")
                await step(two, "x", "[0, 1, 3]\n")
            await step(child, "x", "[0, 1]\n")
        await step(sandbox, "x", "[0]\n")


@check(stateful)
async def random_streams(backend: SandboxBackend) -> None:
    """Global generators that nobody seeded differ between forks; seeded, they repeat."""
    draw = "print(random.random(), np.random.random(), os.urandom(4).hex())"
    async with cell(backend) as sandbox:
        await step(sandbox, "import os, random\nimport numpy as np\nrandom.random(), np.random.random()", timeout=120)
        async with _forks(sandbox, 3) as children:
            drawn = [(await step(child, draw)).output.split() for child in [*children, sandbox]]
            for what, values in zip(("random", "numpy.random", "os.urandom"), zip(*drawn, strict=True), strict=True):
                expect(len(set(values)) == len(values), f"{what} drew the same in two forks")
            seeded = "random.seed(1); np.random.seed(1); print(random.random(), np.random.random())"
            repeated = {(await step(child, seeded)).output for child in children}
            expect(len(repeated) == 1, "the same seed drew different numbers in two forks")


@check(stateful)
async def timeout_in_a_fork(backend: SandboxBackend) -> None:
    """A cell that times out in a fork harms neither parent nor sibling."""
    async with cell(backend) as sandbox:
        await step(sandbox, "x = 1")
        async with _forks(sandbox, 2) as (one, two):
            result = await one.run("x = 2\nwhile True: pass", timeout=1.0)
            expect(result.status == "timeout", f"expected timeout, got {result.status}")
            await step(two, "x", "1\n")
            await step(sandbox, "x", "1\n")
            await step(one, "print(2)", "2\n")


@check()
async def restoring_files(backend: SandboxBackend) -> None:
    """A snapshot brings the files back, any number of times, to its sandbox and its relatives."""
    async with script(backend) as sandbox:
        await step(sandbox, "open('x', 'w').write('1')")
        async with await sandbox.snapshot() as snapshot:
            for late in ("a", "b"):
                await step(sandbox, f"open('x', 'w').write('{late}')\nopen('{late}', 'w')")
                await sandbox.restore(snapshot)
                await step(sandbox, "import os\nprint(os.listdir(), open('x').read())", "['x'] 1\n")
            async with _forks(sandbox, 1) as (child,):
                await step(child, "open('x', 'w').write('2')")
                await child.restore(snapshot)
                await step(child, "print(open('x').read())", "1\n")


@check(stateful)
async def restoring_variables(backend: SandboxBackend) -> None:
    """A snapshot brings the variables back, any number of times, and outlives changes."""
    async with cell(backend) as sandbox:
        await step(sandbox, "x = [1]")
        async with await sandbox.snapshot() as snapshot:
            for _ in range(2):
                await step(sandbox, "x.append(2)")
                await sandbox.restore(snapshot)
                await step(sandbox, "x", "[1]\n")


@check()
async def snapshot_outlives_its_sandbox(backend: SandboxBackend) -> None:
    """A snapshot of a closed sandbox can be restored by a fork of it."""
    async with AsyncExitStack() as stack:
        parent = await backend.create(SandboxSpec())
        stack.push_async_callback(parent.aclose)
        await step(parent, "open('x', 'w').write('1')")
        snapshot = await stack.enter_async_context(await parent.snapshot())
        (child,) = await parent.fork(1)
        stack.push_async_callback(child.aclose)
        await parent.aclose()
        await step(child, "open('x', 'w').write('2')")
        await child.restore(snapshot)
        await step(child, "print(open('x').read())", "1\n")


@check()
async def strange_snapshots(backend: SandboxBackend) -> None:
    """A snapshot that is closed, or of another family, is refused; closing it twice is fine."""
    async with script(backend) as one, script(backend) as two:
        snapshot = await one.snapshot()
        await refused(two.restore(snapshot), ValueError, "a snapshot of another family")
        await snapshot.aclose()
        await snapshot.aclose()
        await refused(one.restore(snapshot), ValueError, "a closed snapshot")
        await step(one, "print(1)", "1\n")


@check()
async def origins(backend: SandboxBackend) -> None:
    """A sandbox tells how it came to its state."""
    async with script(backend) as sandbox:
        expect(sandbox.origin == "created", f"the origin of a new sandbox is {sandbox.origin}")
        async with _forks(sandbox, 1) as (child,):
            expect(child.origin in ("forked", "replayed"), f"the origin of a fork is {child.origin}")
