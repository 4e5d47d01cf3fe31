"""Control groups: found only where they are ours, joined by steps, removed again; and a real want of memory."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from sandmle.sandboxes import LocalBackend, SandboxLimits, SandboxSpec, _cgroups
from sandmle.sandboxes._cgroups import Group, Groups

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="control groups are Linux's")


@pytest.fixture(scope="module")
def groups() -> Groups:
    found = Groups.find()
    if not found._places:
        pytest.skip(f"no control group here is ours: {found.detail}")
    return found


@pytest.fixture
async def bounded(backend: LocalBackend, groups: Groups) -> LocalBackend:
    if "memory" not in [name for place in groups._places for name in place.controllers]:
        pytest.skip(f"no memory group here is ours: {groups.detail}")
    return backend


def lay_out(folder: Path, own: str, mounts: dict[str, tuple[str, str]]) -> Path:
    """What /proc/self would show: the groups ``own``, and where (root, options) of each hierarchy is mounted."""
    (folder / "cgroup").write_text(own)
    lines = []
    for name, (root, options) in mounts.items():
        kind = "cgroup" if options else "cgroup2"
        point = str(folder / name).replace(" ", "\\040")
        lines.append(f"31 23 0:28 {root} {point} rw,relatime - {kind} {kind} rw,{options}\n")
    (folder / "mountinfo").write_text("22 1 8:1 / / rw - ext4 /dev/root rw\n" + "".join(lines))
    return folder


def places(process: Path) -> list[tuple[str, int, tuple[str, ...]]]:
    return [
        (str(place.folder.relative_to(process)), place.version, place.controllers)
        for place in _cgroups._own_places(process)
    ]


def delegate(folder: Path) -> None:
    try:
        os.setxattr(folder, "user.delegate", b"1")
    except OSError:
        pytest.skip("no extended attributes here")


def test_group_that_a_hierarchy_begins_with_is_ours(tmp_path: Path):
    own = "9:name=systemd:/\n4:memory:/docker/abc\n3:cpu,pids:/docker/abc\n0::/\n"
    mounts = {"memory": ("/docker/abc", "memory"), "cpu,pids": ("/docker/abc", "cpu,pids")}
    for name in mounts:
        (tmp_path / name).mkdir()
    assert places(lay_out(tmp_path, own, mounts)) == [("memory", 1, ("memory",)), ("cpu,pids", 1, ("pids",))]


def test_group_below_that_of_a_manager_is_not_ours_unless_delegated(tmp_path: Path):
    (tmp_path / "a memory" / "manager" / "session").mkdir(parents=True)
    process = lay_out(tmp_path, "4:memory:/manager/session\n", {"a memory": ("/", "memory")})
    assert places(process) == []
    delegate(tmp_path / "a memory" / "manager" / "session")
    assert places(process) == [("a memory/manager/session", 1, ("memory",))]


def test_version_2_divides_the_delegated_parent(tmp_path: Path):
    unit = tmp_path / "unified" / "user" / "unit"
    (unit / "run").mkdir(parents=True)
    for folder in (unit, unit / "run"):
        (folder / "cgroup.type").write_text("domain\n")
    process = lay_out(tmp_path, "0::/user/unit/run\n", {"unified": ("/", "")})
    assert places(process) == []
    delegate(unit / "run")
    assert places(process) == [], "a group with us in it can't be divided"
    assert not list(unit.rglob("cgroup.subtree_control"))
    delegate(unit)
    places(process)
    assert (unit / "cgroup.subtree_control").read_text() == "+memory +pids", (
        "asked of the kernel, which lists them then"
    )


def test_version_2_of_the_machine_is_divided_only_by_what_it_hands_down(tmp_path: Path):
    (tmp_path / "unified").mkdir()
    process = lay_out(tmp_path, "0::/\n", {"unified": ("/", "")})
    assert places(process) == []
    (tmp_path / "unified" / "cgroup.subtree_control").write_text("cpu pids\n")
    assert places(process) == [("unified", 2, ("pids",))]


def test_only_what_dead_processes_of_ours_left_is_swept(groups: Groups):
    prefix = _cgroups._prefix()
    folder = groups._places[0].folder
    dead = next(pid for pid in range(4_000_000, 1, -1) if not Path(f"/proc/{pid}").exists())
    names = [f"{prefix}{dead}-0", f"{prefix}{os.getppid()}-0", f"sandmle-1-{dead}-0", f"other-{dead}"]
    made = [folder / name for name in names]
    try:
        for path in made:
            path.mkdir()
        Groups.find()
        assert [path.exists() for path in made] == [False, True, True, True]
    finally:
        for path in made:
            if path.exists():
                path.rmdir()


def test_namespaces_bound_processes_themselves(groups: Groups):
    group = groups.make(SandboxLimits(), processes=False)
    assert len(group.join) == sum("memory" in place.controllers for place in groups._places)
    group.close()


def own_folders(groups: Groups) -> list[Path]:
    return [path for place in groups._places for path in place.folder.glob(f"{_cgroups._prefix()}{os.getpid()}-*")]


async def test_steps_are_in_the_group_and_it_goes_with_the_sandbox(unisolated: LocalBackend, groups: Groups):
    assert unisolated.capabilities.tier == "D"
    before = set(own_folders(groups))
    async with await unisolated.create(SandboxSpec()) as sandbox:
        made = set(own_folders(groups)) - before
        assert len(made) == len(groups._places)
        step = asyncio.create_task(sandbox.run("import os, time\nos.fork()\ntime.sleep(60)", timeout=60))
        await asyncio.sleep(1)
        assert {len((path / "cgroup.procs").read_text().split()) for path in made} == {2}
        step.cancel()
        await asyncio.wait({step})
        assert {(path / "cgroup.procs").read_text() for path in made} == {""}, "the init is outside"
    assert set(own_folders(groups)) == before


async def test_forks_have_groups_of_their_own(bounded: LocalBackend, groups: Groups):
    if bounded.capabilities.fork != "process":
        pytest.skip("forks are made by replay here")
    before = set(own_folders(groups))
    async with await bounded.create(SandboxSpec(stateful=True)) as sandbox:
        await sandbox.run("x = 1", timeout=60)
        children = await sandbox.fork(2)
        for child in children:
            assert (await child.run("print(x)", timeout=60)).output == "1\n"
        made = set(own_folders(groups)) - before
        members = sorted(len((path / "cgroup.procs").read_text().split()) for path in made)
        assert len(made) >= 3 * len(groups._places)
        assert sum(1 for count in members if count) >= 2 * len(groups._places), "each interpreter is in its own"
        for child in children:
            await child.aclose()
    assert set(own_folders(groups)) == before


async def test_processes_are_bounded_where_nothing_else_does(unisolated: LocalBackend, groups: Groups):
    if "pids" not in [name for place in groups._places for name in place.controllers]:
        pytest.skip("processes are not controlled here")
    code = """
import os, time
made = 0
try:
    while made < 100:
        if os.fork() == 0:
            time.sleep(100)
        made += 1
except BlockingIOError:
    print("stopped", made)
"""
    async with await unisolated.create(SandboxSpec(limits=SandboxLimits(processes=20))) as sandbox:
        assert (await sandbox.run(code, timeout=60)).output == "stopped 19\n"


SPREAD = """
import os, time
def fill():
    hog = bytearray(b"x") * (150 << 20)
    time.sleep(5)
for _ in range(3):
    if os.fork() == 0:
        fill()
        os._exit(0)
statuses = [os.wait()[1] for _ in range(3)]
"""


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (SPREAD + "raise SystemExit(any(statuses))", "oom"),
        (SPREAD + "print('goes on without them')", "ok"),
        ("hog = [bytearray(b'x') * (100 << 20) for _ in range(9)]", "error"),
        ("import mmap\nhog = mmap.mmap(-1, 900 << 20)\nfor i in range(0, 900 << 20, 4096): hog[i] = 1", "oom"),
        ("import os\nos.kill(os.getpid(), 9)", "killed"),
    ],
    ids=["workers", "workers that are not missed", "one process", "shared memory", "own kill"],
)
async def test_want_of_memory_is_told_apart(bounded: LocalBackend, code: str, status: str):
    async with await bounded.create(SandboxSpec(limits=SandboxLimits(memory_mib=300))) as sandbox:
        result = await sandbox.run(code, timeout=60)
        assert result.status == status, result
        assert (await sandbox.run("print(2)", timeout=30)).output == "2\n"


async def test_neighbour_is_not_blamed(bounded: LocalBackend):
    limits = SandboxLimits(memory_mib=300)
    hungry = "import mmap\nhog = mmap.mmap(-1, 900 << 20)\nfor i in range(0, 900 << 20, 4096): hog[i] = 1"
    patient = "import os, time\ntime.sleep(3)\nos.kill(os.getpid(), 9)"
    async with (
        await bounded.create(SandboxSpec(limits=limits)) as one,
        await bounded.create(SandboxSpec(limits=limits)) as two,
    ):
        results = await asyncio.gather(one.run(hungry, timeout=60), two.run(patient, timeout=60))
    assert [result.status for result in results] == ["oom", "killed"]


def test_group_that_cannot_be_made_leaves_nothing(groups: Groups, monkeypatch):
    before = own_folders(groups)
    monkeypatch.setitem(_cgroups._EVENTS, 1, "no.such.file")
    monkeypatch.setitem(_cgroups._EVENTS, 2, "no.such.file")
    monkeypatch.setattr(_cgroups, "_limit", lambda folder, *_: (folder / "no.such.file").write_text("1"))
    with pytest.raises(Exception, match="control group"):
        groups.make(SandboxLimits(), processes=True)
    assert own_folders(groups) == before


def test_no_place_is_an_empty_group():
    group = Groups("").make(SandboxLimits(), processes=True)
    assert (group, group.descriptors) == (Group(), [])
    group.close()
