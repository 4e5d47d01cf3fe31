"""Evaluations and sandboxes on a real cluster, and what they do when parts of it are killed."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandmle.errors import EnvironmentProblem
from sandmle.eval.runner import EpisodeFinished, EvalSettings, RunEvent, aevaluate
from sandmle.files import hash_tree
from sandmle.sandboxes import SandboxSpec
from sandmle.sandboxes.ray import RayBackend
from sandmle.sandboxes.ray._calls import LostPlace
from sandmle.sandboxes.ray._sandbox import RaySandbox
from sandmle.seeds import get_seed, materialize

pytestmark = pytest.mark.slow

DRIVER = """
import asyncio, sys
from sandmle.sandboxes import SandboxSpec
from sandmle.sandboxes.ray import RayBackend
async def main():
    async with RayBackend(allow_unisolated=True) as backend, await backend.create(SandboxSpec()) as sandbox:
        print((await sandbox.run("print('ready')", timeout=60)).output, flush=True)
        sys.stdin.read()
asyncio.run(main())
"""


@pytest.fixture
def settings(tmp_path: Path) -> EvalSettings:
    materialize(get_seed("iris"), tmp_path / "tasks")
    models = ("scripted:dummy", "scripted:linear")
    return EvalSettings(suite=f"synthetic:{tmp_path / 'tasks'}", models=models, repeats=4)


async def test_the_same_result_as_at_home(cluster, settings, tmp_path: Path):
    there = await aevaluate(settings, tmp_path / "there", sandbox="ray", allow_unisolated=True)
    here = await aevaluate(settings, tmp_path / "here", allow_unisolated=True)
    graded = [{one.id: (one.grade, one.reward) for one in run.episodes} for run in (there, here)]
    assert graded[0] == graded[1]
    assert there.record.isolation == here.record.isolation


def test_a_batch_has_the_same_bytes_as_at_home(cluster, tmp_path: Path):
    made = {}
    for executor in ("ray", "local"):
        out = tmp_path / executor
        command = [sys.executable, "-c", "from sandmle.cli import run; run()", "synthesize", "--out", str(out)]
        command += ["--executor", executor, "--seeds", "diabetes", "--n-train", "60", "--n-test", "500", "--n", "2"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        made[executor] = {folder.name: hash_tree(folder) for folder in out.glob("*-*/")}
    assert len(made["ray"]) == 2
    assert made["ray"] == made["local"]


async def test_losing_a_node_loses_no_episode(cluster, settings, tmp_path: Path, monkeypatch):
    """A third node, the only one with room, dies with a sandbox whose code runs; only then the others have room."""
    finished: list[str] = []
    held: list[RaySandbox] = []
    lost: list[RaySandbox] = []
    others = RayBackend(allow_unisolated=True)
    for _ in range(2):
        await others.create(SandboxSpec())
    third = cluster.add_node(num_cpus=1, object_store_memory=80 << 20)
    real = RaySandbox.run

    async def run(sandbox: RaySandbox, *arguments, **options):
        if len(finished) >= 3 and not held:
            held.append(sandbox)
            _kill(third.all_processes["raylet"][0].process)
            await others.aclose()
        try:
            return await real(sandbox, *arguments, **options)
        except LostPlace:
            lost.append(sandbox)
            raise

    def on_event(event: RunEvent) -> None:
        if isinstance(event, EpisodeFinished):
            finished.append(event.episode.id)

    monkeypatch.setattr(RaySandbox, "run", run)
    done = await aevaluate(settings, tmp_path / "run", sandbox="ray", jobs=3, allow_unisolated=True, on_event=on_event)
    assert held == lost
    assert len(done.episodes) == len(finished) == 8
    assert {one.status for one in done.episodes} == {"answered"}


def _kill(raylet: subprocess.Popen[bytes]) -> None:
    """End a node with all its places, as the end of a machine does."""
    below = _watch_places({raylet.pid})
    raylet.kill()
    for handle in below:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)


async def test_what_no_node_has_is_refused(cluster):
    async with RayBackend(gpus=1, allow_unisolated=True) as backend:
        with pytest.raises(EnvironmentProblem, match=r"no node .* has the 1 CPU and 1 GPU that a sandbox needs"):
            await backend.create(SandboxSpec())


async def test_a_sandbox_has_the_gpu_that_ray_gave_it(cluster):
    node = cluster.add_node(num_cpus=1, num_gpus=1, object_store_memory=80 << 20)
    async with RayBackend(gpus=1, allow_unisolated=True) as backend:
        async with await backend.create(SandboxSpec()) as sandbox:
            shown = await sandbox.run("import os; print(os.environ['CUDA_VISIBLE_DEVICES'])", timeout=60)
        assert shown.output == "0\n"
        assert backend.capabilities.room == 1
    cluster.remove_node(node)


async def test_waiting_for_a_place_can_be_given_up(cluster):
    async with RayBackend(allow_unisolated=True) as backend:
        held = [await backend.create(SandboxSpec()) for _ in range(2)]
        waiting = asyncio.create_task(backend.create(SandboxSpec()))
        await held[0].run("pass", timeout=60)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await held[0].aclose()
        async with await backend.create(SandboxSpec()) as sandbox:
            assert (await sandbox.run("print(1)", timeout=60)).output == "1\n"
        await held[1].aclose()


def test_a_killed_driver_leaves_nothing(cluster):
    with subprocess.Popen([sys.executable, "-c", DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as driver:
        assert driver.stdout.readline() == b"ready\n"
        left = _watch_places({node.all_processes["raylet"][0].process.pid for node in cluster.list_all_nodes()})
        assert len(left) >= 3  # the actor, its warm interpreter, the sandbox
        driver.kill()
        poll = select.poll()
        for handle in left:
            poll.register(handle, select.POLLIN)
        while left:
            ended = poll.poll(30_000)
            assert ended, f"{len(left)} processes are left"
            for handle, _ in ended:
                poll.unregister(handle)
                os.close(handle)
                left.discard(handle)


def _watch_places(raylets: set[int]) -> set[int]:
    """A handle of every process that is a place of these nodes, or below one."""
    processes = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            processes[int(process.name)] = parent, (process / "cmdline").read_bytes().startswith(b"ray::Place")
        except OSError:
            continue

    def below(pid: int) -> bool:
        parent, place = processes.get(pid, (0, False))
        return (place and parent in raylets) or (parent > 1 and below(parent))

    return {os.pidfd_open(pid) for pid in processes if below(pid)}
