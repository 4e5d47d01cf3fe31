"""What sandboxes share of the machine: cores and GPUs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandmle.errors import BadInput
from sandmle.sandboxes import LocalBackend, SandboxLimits, SandboxSpec
from sandmle.sandboxes._gpus import gpu_environment, gpu_files
from sandmle.sandboxes._leases import Leases, machine_cores
from sandmle.sandboxes._slots import Slots
from sandmle.settings import Settings

CORES = len(machine_cores())
linux = pytest.mark.skipif(sys.platform != "linux", reason="affinity is Linux's")


@given(st.lists(st.integers(1, 5), max_size=30), st.data())
def test_leases_are_spread_evenly(sizes: list[int], data: st.DataObject):
    leases = Leases(range(4))
    held: list[tuple[int, ...]] = []
    for size in sizes:
        if held and data.draw(st.booleans()):
            leases.give_back(held.pop())
        before = [sum(thing in taken for taken in held) for thing in range(4)]
        taken = leases.take(size)
        assert len(set(taken)) == len(taken) == min(size, 4)
        rest = [before[thing] for thing in range(4) if thing not in taken]
        assert max(before[thing] for thing in taken) <= min(rest, default=30)
        held.append(taken)


def test_nothing_to_lease_is_no_lease():
    assert Leases[str](()).take(1) == ()


async def test_slots_bound_what_runs_and_give_each_its_core():
    slots, running, most = Slots(2, Leases([7, 9])), set[int](), 0

    async def step() -> None:
        nonlocal most
        async with slots.take(1) as cores:
            assert not running & set(cores)
            running.update(cores)
            most = max(most, len(running))
            await asyncio.sleep(0.01)
            running.difference_update(cores)

    await asyncio.gather(*(step() for _ in range(6)))
    assert most == 2


ASK = """
import os, joblib
from joblib.externals.loky import cpu_count
print(len(os.sched_getaffinity(0)), joblib.cpu_count(), joblib.effective_n_jobs(-1), os.environ["OMP_NUM_THREADS"])
try:
    os.sched_setaffinity(0, range(os.cpu_count()))
except PermissionError:
    pass
print(len(os.sched_getaffinity(0)), *os.sched_getaffinity(0))
"""


@linux
async def test_steps_see_and_keep_their_cores(backend: LocalBackend, isolated: str):
    async with await backend.create(SandboxSpec()) as sandbox:
        first, second = (await sandbox.run(ASK, timeout=60)).output.splitlines()
        assert first == "1 1 1 1"
        assert second.split()[0] == "1"
    async with await backend.create(SandboxSpec(limits=SandboxLimits(cpus=CORES))) as sandbox:
        first, _ = (await sandbox.run(ASK, timeout=60)).output.splitlines()
        assert first == f"{CORES} {CORES} {CORES} {CORES}"


@linux
async def test_cells_see_their_cores(backend: LocalBackend):
    async with await backend.create(SandboxSpec(stateful=True)) as sandbox:
        for _ in range(2):
            assert (await sandbox.run("import os; len(os.sched_getaffinity(0))", timeout=60)).output == "1\n"


@linux
@pytest.mark.skipif(CORES < 2, reason="one core")
async def test_steps_at_once_are_on_different_cores(backend: LocalBackend):
    code = "import os, time; print(*os.sched_getaffinity(0)); time.sleep(1)"
    async with await backend.create(SandboxSpec()) as one, await backend.create(SandboxSpec()) as two:
        results = await asyncio.gather(one.run(code, timeout=60), two.run(code, timeout=60))
    assert len({result.output for result in results}) == 2


@linux
@pytest.mark.skipif(CORES < 2, reason="one core")
async def test_libraries_use_the_cores_that_are_given(backend: LocalBackend):
    code = """
import os, numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_info
X = np.random.default_rng(0).normal(size=(3000, 4))
HistGradientBoostingClassifier(max_iter=5).fit(X, X[:, 0] > 0)
print(len(os.listdir("/proc/self/task")) > 1, {part["num_threads"] for part in threadpool_info()})
"""
    async with await backend.create(SandboxSpec(limits=SandboxLimits(cpus=2))) as sandbox:
        assert (await sandbox.run(code, timeout=60)).output == "True {2}\n"


VISIBLE = "import glob, os; print(os.environ['CUDA_VISIBLE_DEVICES'] or 'none', *sorted(glob.glob('/dev/nvidia*')))"


async def test_no_gpu_is_seen_unless_given(backend: LocalBackend, isolated: str):
    async with await backend.create(SandboxSpec()) as sandbox:
        assert (await sandbox.run(VISIBLE, timeout=60)).output == "none\n"


async def test_the_least_used_gpu_is_leased_until_the_sandbox_closes():
    shown = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'], os.environ['CUDA_DEVICE_ORDER'])"

    async def ask(sandbox: object) -> str:
        return (await sandbox.run(shown, timeout=60)).output.split()[0]  # type: ignore[attr-defined]

    async with LocalBackend(allow_unisolated=True, gpus=("91", "92")) as backend:
        probed = backend.capabilities
        one, two, three = [await backend.create(SandboxSpec()) for _ in range(3)]
        assert [await ask(sandbox) for sandbox in (one, two, three)] == ["91", "92", "91"], probed
        await two.aclose()
        await one.aclose()
        four = await backend.create(SandboxSpec())
        assert await ask(four) == "92"
        await asyncio.gather(three.aclose(), four.aclose())
        again = [await backend.create(SandboxSpec()) for _ in range(2)]
        assert {await ask(sandbox) for sandbox in again} == {"91", "92"}
        await asyncio.gather(*(sandbox.aclose() for sandbox in again))


async def test_sandbox_that_cannot_be_made_gives_its_gpu_back():
    async with LocalBackend(allow_unisolated=True, gpus=("91", "92")) as backend:
        assert backend.capabilities
        for _ in range(3):
            with pytest.raises(BadInput):
                await backend.create(SandboxSpec(inputs={"../x": Path("/")}))
        assert set(backend._gpus._holders.values()) == {0}


FAKE = """
import asyncio, os, sys
from pathlib import Path
from sandmle.sandboxes import LocalBackend, SandboxSpec
from sandmle.sandboxes._guest import linux
linux.unshare(linux.CLONE_NEWNS)
linux.mount_private()
devices = {path: path.stat() for path in Path("/dev").iterdir() if path.is_char_device()}
linux._mount("tmpfs", "/dev", "tmpfs", 0, "mode=755")
for path, state in devices.items():
    os.mknod(path, state.st_mode, state.st_rdev)
    os.chmod(path, state.st_mode & 0o777)
os.mkdir("/dev/shm")
null = os.stat("/dev/null")
for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
    os.mknod(f"/dev/{name}", null.st_mode, null.st_rdev)
    os.chmod(f"/dev/{name}", 0o666)
async def main():
    async with LocalBackend(gpus=("1",)) as backend:
        async with await backend.create(SandboxSpec()) as sandbox:
            print(backend.capabilities.tier, end=" ")
            print((await sandbox.run(sys.argv[1], timeout=60)).output, end="")
    async with LocalBackend(gpus=()) as backend:
        async with await backend.create(SandboxSpec()) as sandbox:
            print((await sandbox.run(sys.argv[1], timeout=60)).output, end="")
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can make device files")
def test_device_files_of_one_gpu_are_shown():
    command = [
        sys.executable,
        "-c",
        FAKE,
        f"{VISIBLE}; print([open(p, 'r+b', 0).write(b'x') for p in glob.glob('/dev/nvidia*')])",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["A 0 /dev/nvidia-uvm /dev/nvidia1 /dev/nvidiactl", "[1, 1, 1]", "none", "[]"]


def test_gpus_are_named_by_number(monkeypatch, tmp_path: Path):
    with pytest.raises(BadInput, match="GPU-1"):
        LocalBackend(gpus=("0", "GPU-1"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SANDMLE_GPUS", "0, 3")
    assert Settings().gpus == ("0", "3")
    monkeypatch.delenv("SANDMLE_GPUS")
    (tmp_path / "sandmle.toml").write_text('gpus = ["2"]\n')
    assert Settings().gpus == ("2",)


def test_environment_of_a_gpu():
    assert gpu_environment(None, alone=False) == {"CUDA_VISIBLE_DEVICES": ""}
    assert gpu_environment("3", alone=False)["CUDA_VISIBLE_DEVICES"] == "3"
    assert gpu_environment("3", alone=True)["CUDA_VISIBLE_DEVICES"] == "0"
    assert gpu_files("987654") == gpu_files(None) == []
