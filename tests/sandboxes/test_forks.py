"""Forks of the local backend where it forks processes: what the contract does not ask of every backend."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import select
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandmle.errors import InfraError
from sandmle.sandboxes import LocalBackend, Sandbox, SandboxSpec, _zygote
from sandmle.sandboxes._channel import Channel
from sandmle.sandboxes._frozen import Frozen


@pytest.fixture(autouse=True)
def _needs_namespaces(isolated: str) -> None:
    """Forks elsewhere are replays, which the contract covers."""


@pytest.fixture
async def scripts(backend: LocalBackend, inputs: Path) -> AsyncIterator[Sandbox]:
    async with await backend.create(SandboxSpec(inputs={"input": inputs, "deep/er": inputs})) as sandbox:
        yield sandbox


@pytest.fixture
async def cells(backend: LocalBackend) -> AsyncIterator[Sandbox]:
    async with await backend.create(SandboxSpec(stateful=True)) as sandbox:
        yield sandbox


async def output(sandbox: Sandbox, code: str) -> str:
    result = await sandbox.run(code, timeout=30)
    assert result.status == "ok", result.output
    return result.output


async def close(*sandboxes: Sandbox) -> None:
    await asyncio.gather(*(sandbox.aclose() for sandbox in sandboxes))


async def test_a_fork_is_where_its_parent_was(scripts: Sandbox):
    await output(scripts, "open('/tmp/a', 'w').write('a'); open('b', 'w').write('b')")
    (child,) = await scripts.fork(1)
    seen = "import os; print(sorted(os.listdir()), open('/tmp/a').read(), open('input/train.csv').readline(), end='')"
    assert await output(child, seen) == "['b', 'deep', 'input'] a id,y\n"
    assert await output(child, "print(open('deep/er/deep/note.txt').read(), end='')") == "deep\n"
    assert await output(scripts, seen) == "['b', 'deep', 'input'] a id,y\n"
    refused = await child.run("open('input/train.csv', 'w')", timeout=30)
    assert "Read-only file system" in refused.output
    await close(child)


CHANGES = """
import os, shutil
os.remove('gone'); os.rename('old', 'new'); shutil.rmtree('folder'); os.mkdir('folder')
shutil.move('moved', 'there'); open('grown', 'a').write('more'); open('/tmp/own', 'w').write('own')
"""
LISTING = """
import os
for top in ('.', '/tmp'):
    for folder, _, names in sorted(os.walk(top)):
        if not folder.startswith(('./input', './deep', '/tmp/venv')):
            print(folder, sorted(name for name in names if name != 'step.py'))
print(open('grown').read())
"""


async def test_all_kinds_of_changes_stay_apart(scripts: Sandbox):
    await output(scripts, "import os\nfor n in ('gone', 'old', 'grown'): open(n, 'w').write(n)\n")
    await output(scripts, "import os\nfor n in ('folder', 'moved'): os.mkdir(n); open(n + '/file', 'w')")
    before = await output(scripts, LISTING)
    one, other = await scripts.fork(2)
    await output(one, CHANGES)
    after = await output(one, LISTING)
    assert "['grown', 'new']" in after
    assert "./folder []" in after
    assert "./there ['file']" in after
    assert "grownmore" in after
    (grandchild,) = await one.fork(1)
    assert await output(other, LISTING) == before
    assert await output(scripts, LISTING) == before
    assert await output(grandchild, LISTING) == after
    await close(one, other, grandchild)


LOOK = """
import os, glob
print(sorted(int(p) for p in os.listdir('/proc') if p.isdigit() and p not in ('1', str(os.getpid()))))
tops = ['/workspace', '/tmp', '/dev/shm', *glob.glob('/proc/[0-9]*/cwd'), *glob.glob('/proc/[0-9]*/root/tmp')]
print([top for top in tops if os.path.exists(top + '/NEEDLE' + '7')])
"""


@pytest.mark.parametrize("stateful", [False, True])
async def test_relatives_are_invisible(backend: LocalBackend, stateful: bool):
    async with await backend.create(SandboxSpec(stateful=stateful)) as parent:
        await output(parent, "x = 1")
        children = await parent.fork(2)
        for place in (parent, *children):
            await output(place, "open('/tmp/NEEDLE8', 'w'); open('NEEDLE9', 'w')")
        await output(children[0], "open('NEEDLE' + '7', 'w')")
        for place in (parent, children[1]):
            processes, found = (await output(place, LOOK)).splitlines()
            assert found == "[]"
            assert len(json.loads(processes)) == stateful, "none, or its own interpreter"
        await close(*children)


async def test_killing_everybody_kills_no_relative(cells: Sandbox):
    await output(cells, "x = 1")
    one, other = await cells.fork(2)
    await one.run("import os, signal; os.kill(-1, signal.SIGKILL)", timeout=30)
    assert await output(other, "x") == "1\n"
    assert await output(cells, "x") == "1\n"
    await close(one, other)


async def test_a_dead_branch_harms_no_relative(cells: Sandbox):
    await output(cells, "x = 1")
    one, other = await cells.fork(2)
    os.kill(*_pids_of(one), 9)
    with pytest.raises(InfraError):
        await one.run("x", timeout=30)
    assert await output(other, "x") == "1\n"
    (grandchild,) = await other.fork(1)
    assert await output(grandchild, "x") == "1\n"
    await close(one, other, grandchild)


@pytest.mark.parametrize(
    ("cell", "check", "reason"),
    [
        ("import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()", "x", "threads"),
        ("file = open('log', 'w')", "file.write('a'); x", "files are still open: /workspace/log"),
        ("import numpy\nshared = numpy.memmap('map', 'i4', 'w+', shape=9)", "int(shared[0]); x", "/workspace/map"),
        ("import mmap\nshared = mmap.mmap(-1, 4096)", "shared[0]; x", "memory is shared"),
        ("import os\ntop = os.open('/', os.O_RDONLY)", "os.listdir(top); x", "files are still open: /"),
        ("import os\nends = os.pipe()", "os.write(ends[1], b'a'); x", "files are still open: pipe:"),
        ("import socket\nends = socket.socketpair()", "ends[0].send(b'a'); x", "files are still open: socket:"),
    ],
    ids=["thread", "file", "memmap", "memory", "folder", "pipe", "sockets"],
)
async def test_what_cannot_be_forked_is_replayed(cells: Sandbox, caplog, cell: str, check: str, reason: str):
    await output(cells, "x = 5")
    await output(cells, cell)
    with caplog.at_level(logging.WARNING, "sandmle.sandboxes"):
        (child,) = await cells.fork(1)
    assert child.origin == "replayed"
    assert reason in caplog.text
    assert (await output(child, check)).endswith("5\n")
    await output(child, "x = 6")
    assert await output(cells, "x") == "5\n"
    async with await cells.snapshot() as snapshot:
        await output(cells, "x = 7")
        await cells.restore(snapshot)
        assert cells.origin == "replayed"
        assert await output(cells, "x") == "5\n"
    await close(child)


async def test_a_state_whose_children_are_ignored_is_forked(cells: Sandbox):
    await output(cells, "import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN); x = 1")
    children = await cells.fork(2)
    assert [child.origin for child in children] == ["forked", "forked"]
    assert await output(cells, "x") == "1\n"
    await close(*children)


async def test_a_killed_interpreter_harms_no_relative(cells: Sandbox, caplog):
    await output(cells, "x = 1")
    snapshot = await cells.snapshot()
    assert await output(cells, "x") == "1\n"
    (child,) = await cells.fork(1)
    assert snapshot.frozen is not None
    init = next(pid for pid in _below(os.getpid()) if _inner_pid(pid)[-2:] == [snapshot.frozen._channel.pid, 1])
    (interpreter,) = [pid for pid in _children(init) if len(_inner_pid(pid)) == len(_inner_pid(init))]
    gone = os.pidfd_open(interpreter)
    os.kill(interpreter, 9)
    assert select.select([gone], [], [], 5)[0]
    os.close(gone)
    with caplog.at_level(logging.WARNING, "sandmle.sandboxes"):
        await child.restore(snapshot)
        assert await output(child, "x") == "1\n"
    assert child.origin == "replayed"
    await snapshot.aclose()
    assert await output(cells, "x") == "1\n"
    await close(child)


@pytest.mark.parametrize("stateful", [False, True])
async def test_many_generations(backend: LocalBackend, caplog, stateful: bool):
    async with await backend.create(SandboxSpec(stateful=stateful)) as sandbox:
        await sandbox.write("count", b"0")
        count = "n = int(open('count').read()) + 1; open('count', 'w').write(str(n)); print(n)"
        for generation in range(1, 28):
            async with await sandbox.snapshot():
                assert (await output(sandbox, count)).splitlines()[0] == str(generation)
        assert "generation" in caplog.text
        (child,) = await sandbox.fork(1)
        assert (await output(child, count)).splitlines()[0] == "28"
        await close(child)


async def test_forests_of_models_go_on(cells: Sandbox):
    await output(
        cells,
        "import numpy as np, lightgbm\nfrom sklearn.ensemble import HistGradientBoostingClassifier as Hist\n"
        "X = np.random.default_rng(0).normal(size=(200, 4)); y = X[:, 0] > 0\n"
        "models = [lightgbm.LGBMClassifier(n_estimators=5, verbosity=-1).fit(X, y), Hist(max_iter=5).fit(X, y)]",
    )
    children = await cells.fork(2)
    score = "[round(model.fit(X, y).score(X, y), 3) for model in models]"
    assert len({await output(place, score) for place in (cells, *children)}) == 1
    await close(*children)


async def test_random_streams_of_forks_repeat(backend: LocalBackend):
    draws = []
    for _ in range(2):
        async with await backend.create(SandboxSpec(stateful=True)) as parent:
            await output(parent, "import random, numpy as np\nrandom.seed(3); np.random.seed(3)")
            children = await parent.fork(2)
            again = await parent.fork(1)
            places = (parent, *children, *again)
            draws.append([await output(place, "(random.random(), np.random.rand())") for place in places])
            await close(*children, *again)
    assert draws[0] == draws[1]
    assert len(set(draws[0])) == 4


def _pids_of(sandbox: Sandbox) -> list[int]:
    """The init of a branch, and what is below it, as this process sees them."""
    body = sandbox._body
    frozen = body.parent._channel.pid
    below = _below(frozen)
    inner = {pid: _inner_pid(pid) for pid in below}
    return [pid for pid in below if inner[pid] and inner[pid][-2:] == [body.channel.pid, 1]]


def _below(pid: int) -> list[int]:
    """The descendants of a process; who ends meanwhile has none."""
    try:
        lists = [(task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except (FileNotFoundError, ProcessLookupError):
        return []
    children = [int(child) for text in lists for child in text.split()]
    return children + [found for child in children for found in _below(child)]


def _children(pid: int) -> list[int]:
    return [child for child in _below(pid) if f"PPid:\t{pid}\n" in Path(f"/proc/{child}/status").read_text()]


def _inner_pid(pid: int) -> list[int]:
    status = Path(f"/proc/{pid}/status").read_text()
    return [int(number) for number in status.split("NSpid:")[1].split("\n")[0].split()]


@pytest.mark.parametrize("order", ["parent first", "children first", "snapshot last"])
async def test_closing_frees_everything(backend: LocalBackend, order: str):
    parent = await backend.create(SandboxSpec(stateful=True))
    await output(parent, "x = 1")
    root = parent._body.channel.pid
    snapshot = await parent.snapshot()
    children = await parent.fork(2)
    grandchildren = await children[0].fork(1)
    await output(parent, "x")
    everything = [root, *_below(root)]
    watched = []
    for pid in everything:
        with contextlib.suppress(ProcessLookupError):
            watched.append(os.pidfd_open(pid))
    assert len(watched) >= 8
    last = [snapshot, *grandchildren] if order == "snapshot last" else [*grandchildren, snapshot]
    steps = [parent, *children, *last] if order == "parent first" else [*children, parent, *last]
    for step in steps:
        await step.aclose()
    for descriptor in watched:
        assert select.select([descriptor], [], [], 5)[0], "still alive"
        os.close(descriptor)


async def test_memory_of_a_frozen_state_is_shared(cells: Sandbox):
    await output(cells, "block = bytearray(b'1') * (64 << 20)")
    (child,) = await cells.fork(1)
    roll = "dict(l.split(':') for l in open('/proc/self/smaps_rollup').read().splitlines()[1:])"
    private = f"r = {roll}; (int(r['Private_Dirty'].split()[0]) + int(r['Private_Clean'].split()[0])) >> 10"
    assert int(await output(child, private)) < 40
    await close(child)


@pytest.mark.parametrize("branches", [0, 1, 3])
async def test_cancelling_a_fork_leaves_the_parent_alive(cells: Sandbox, monkeypatch, branches: int):
    await output(cells, "x = 1")
    reached, made = asyncio.Event(), 0
    branch = Frozen.branch

    async def counted(frozen: Frozen, index: int) -> Channel:
        nonlocal made
        if made == branches:
            reached.set()
        made += 1
        return await branch(frozen, index)

    monkeypatch.setattr(Frozen, "branch", counted)
    fork = asyncio.create_task(cells.fork(5))
    await reached.wait()
    fork.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fork
    assert await output(cells, "x") == "1\n"
    assert cells.origin == "created"
    (child,) = await cells.fork(1)
    assert await output(child, "x") == "1\n"
    await close(child)


async def test_a_snapshot_that_is_closed_at_once_costs_no_replay(cells: Sandbox):
    await output(cells, "x = 1")
    async with await cells.snapshot():
        pass
    async with await cells.snapshot() as snapshot:
        await cells.restore(snapshot)
    assert await output(cells, "x") == "1\n"
    assert cells.origin == "created"


@pytest.mark.parametrize("change", ["fork", "snapshot", "restore"])
async def test_closing_in_the_middle_of_a_change(backend: LocalBackend, change: str):
    groups, tasks = set(_groups()), asyncio.all_tasks()
    for turns in range(12):
        sandbox = await backend.create(SandboxSpec(stateful=True))
        async with await sandbox.snapshot() as snapshot:
            changes = {"fork": sandbox.fork(2), "snapshot": sandbox.snapshot(), "restore": sandbox.restore(snapshot)}
            changing = asyncio.create_task(changes.pop(change))
            for left in changes.values():
                left.close()
            for _ in range(turns):
                await asyncio.sleep(0)
            await sandbox.aclose()
            with contextlib.suppress(InfraError):
                made = await changing
                await close(*(made if isinstance(made, list) else [made] if made else []))
    assert set(_groups()) <= groups
    assert asyncio.all_tasks() == tasks


async def test_cancelling_at_any_moment_leaves_nothing(backend: LocalBackend):
    groups, tasks = set(_groups()), asyncio.all_tasks()
    for turns in range(0, 24, 2):
        making = asyncio.create_task(backend.create(SandboxSpec()))
        for _ in range(turns):
            await asyncio.sleep(0)
        making.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await making).aclose()
    assert set(_groups()) <= groups
    assert asyncio.all_tasks() == tasks


async def test_a_kernel_that_cannot_fork_sandboxes(monkeypatch, caplog):
    refuse = """
from _guest import linux
def refuse(*_):
    raise OSError(22, "no such overlay")
linux.mount_overlay = refuse
"""
    monkeypatch.setattr(_zygote, "MAIN", _zygote.MAIN.replace("import serve\n", f"import serve{refuse}", 1))
    async with LocalBackend(concurrency=2) as backend:
        found = await asyncio.to_thread(lambda: backend.capabilities)
        assert found.fork == "replay"
        assert "no such overlay" in found.detail
        for stateful in (False, True):
            caplog.clear()
            parent = await backend.create(SandboxSpec(stateful=stateful))
            await output(parent, "x = 1; open('file', 'w').write('kept'); None")
            with caplog.at_level(logging.WARNING, "sandmle.sandboxes"):
                (child,) = await parent.fork(1)
            assert child.origin == "replayed"
            assert "can't fork" in caplog.text
            look = f"print({'x' if stateful else 1}, open('file').read())"
            assert await output(child, look) == await output(parent, look) == "1 kept\n"
            await close(parent, child)


def _groups() -> list[Path]:
    return list(Path("/sys/fs/cgroup").glob(f"*/sandmle-*-{os.getpid()}-*"))


def test_another_event_loop_is_told_so(backend: LocalBackend):
    sandbox = asyncio.run(backend.create(SandboxSpec()))
    groups = set(_groups())
    with pytest.raises(InfraError, match="another event loop"):
        asyncio.run(sandbox.run("1", timeout=5))
    asyncio.run(sandbox.aclose())
    assert len(_groups()) == max(0, len(groups) - 1)


async def test_nothing_can_be_asked_of_the_closed(backend: LocalBackend):
    sandbox = await backend.create(SandboxSpec())
    snapshot = await sandbox.snapshot()
    await sandbox.aclose()
    for ask in (sandbox.fork(1), sandbox.snapshot(), sandbox.restore(snapshot)):
        with pytest.raises(InfraError, match="closed"):
            await ask
    await snapshot.aclose()
