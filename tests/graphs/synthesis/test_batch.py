"""Batches: the same bytes however they are made, killed or resumed."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandmle.errors import BadInput
from sandmle.files import folder_lock, hash_tree
from sandmle.graphs.synthesis import Batch, Progress, SlotRecord, SynthesisContext, synthesize
from sandmle.task import load_tasks

pytestmark = pytest.mark.flow
SEEDS = ["breast-cancer", "diabetes"]
SIZES = {"n_train": 100, "n_test": 600}
KILLED = f"""
import asyncio, os, signal, sys
from pathlib import Path
from sandmle.graphs.synthesis import Batch, SynthesisContext, synthesize

left = int(sys.argv[2])


def on_progress(event):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)


async def main():
    batch = Batch(Path(sys.argv[1]), {SEEDS!r}, SynthesisContext(batch_seed=4, **{SIZES!r}))
    async for _ in synthesize(batch, 2, jobs=2, on_progress=on_progress):
        pass


asyncio.run(main())
"""


async def make(out: Path, n: int = 2, jobs: int = 2, **settings: int) -> list[SlotRecord]:
    batch = Batch(out, SEEDS, SynthesisContext(**{"batch_seed": 4, **SIZES, **settings}))
    return [record async for record in synthesize(batch, n, jobs=jobs)]


class Stopped(Exception):
    """Ends a batch in the middle."""


def tasks_of(out: Path) -> dict[str, str]:
    return {name: digest for name, digest in hash_tree(out).items() if not name.startswith(".sandmle")}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("unbroken")
    asyncio.run(make(out, jobs=1))
    return out


@pytest.mark.slow
def test_killed_again_and_again_it_ends_in_the_same_bytes(unbroken: Path, tmp_path: Path) -> None:
    for events in (3, 5):
        subprocess_killed_after(tmp_path, events)
        assert {task.root.name for task in load_tasks_or_none(tmp_path)} <= {p.name for p in unbroken.iterdir()}
    records = asyncio.run(make(tmp_path))
    assert [record.outcome for record in records] == ["published", "published"]
    assert tasks_of(tmp_path) == tasks_of(unbroken)
    assert len(load_tasks(tmp_path)) == 2


def subprocess_killed_after(out: Path, events: int) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, str(out), str(events)], check=False)
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.slow
async def test_a_larger_n_extends_and_settled_slots_are_not_made_again(unbroken: Path, tmp_path: Path) -> None:
    first = await make(tmp_path, n=1)
    seen: list[Progress] = []
    batch = Batch(tmp_path, SEEDS, SynthesisContext(batch_seed=4, **SIZES))
    records = [record async for record in synthesize(batch, 2, jobs=2, on_progress=seen.append)]
    assert records[0] == first[0]
    assert {event.slot for event in seen if event.settled is None} == {1}
    assert tasks_of(tmp_path) == tasks_of(unbroken)


@pytest.mark.slow
async def test_a_shorter_run_keeps_what_a_longer_one_goes_on_from(unbroken: Path, tmp_path: Path) -> None:
    batch = Batch(tmp_path, SEEDS, SynthesisContext(batch_seed=4, **SIZES))

    def stop_after_developer(event: Progress) -> None:
        if event.slot == 1 and event.node == "ml_developer":
            raise Stopped

    with pytest.raises(Stopped):
        [record async for record in synthesize(batch, 2, jobs=1, on_progress=stop_after_developer)]
    await make(tmp_path, n=1)
    await make(tmp_path, n=2)
    assert tasks_of(tmp_path) == tasks_of(unbroken)


@pytest.mark.slow
async def test_a_lost_work_folder_is_made_anew(unbroken: Path, tmp_path: Path) -> None:
    subprocess_killed_after(tmp_path, events=3)
    shutil.rmtree(tmp_path / ".sandmle" / "work")
    await make(tmp_path)
    assert tasks_of(tmp_path) == tasks_of(unbroken)


async def test_a_seed_without_usable_data_stops_a_batch_before_it_begins(tmp_path: Path) -> None:
    seed = tmp_path / "tiny"
    seed.mkdir()
    rows = [f"{k},{k % 5},{'ab'[k % 2]}" for k in range(12)]
    (seed / "description.md").write_text("# Tiny\n")
    (seed / "train.csv").write_text("id,x,y\n" + "\n".join(rows) + "\n")
    (seed / "test.csv").write_text("id,x\n100,1\n101,2\n")
    (seed / "sample_submission.csv").write_text("id,y\n100,a\n101,a\n")
    out = tmp_path / "out"
    batch = Batch(out, [str(seed)], SynthesisContext(**SIZES))
    with pytest.raises(BadInput, match="too few"):
        [record async for record in synthesize(batch, 1, jobs=1)]
    assert not out.exists()


@pytest.mark.slow
async def test_other_settings_are_refused_in_the_same_folder(unbroken: Path) -> None:
    before = hash_tree(unbroken)
    with pytest.raises(BadInput, match="batch_seed = 4, not 5"):
        await make(unbroken, batch_seed=5)
    assert tasks_of(unbroken) == {name: digest for name, digest in before.items() if not name.startswith(".sandmle")}


def test_a_stricter_batch_is_not_extended_by_a_laxer_one(tmp_path: Path) -> None:
    strict = Batch(tmp_path, ["iris"], SynthesisContext(**SIZES, strictness="discoverable"))
    strict.claim()
    strict.claim()
    with pytest.raises(BadInput, match="strictness = discoverable, not None"):
        Batch(tmp_path, ["iris"], SynthesisContext(**SIZES)).claim()


def test_a_batch_waits_for_no_person(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="in Studio"):
        Batch(tmp_path, ["iris"], SynthesisContext(**SIZES, review=True))


async def test_two_processes_never_write_to_one_folder(tmp_path: Path) -> None:
    with folder_lock(tmp_path), pytest.raises(BadInput, match="another sandmle"):
        await make(tmp_path)


@pytest.mark.slow
async def test_a_deleted_task_is_made_again(unbroken: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy"
    shutil.copytree(unbroken, out)
    victim = load_tasks(out)[0].root
    shutil.rmtree(victim)
    await make(out)
    assert tasks_of(out) == tasks_of(unbroken)


def load_tasks_or_none(out: Path) -> list:
    try:
        return load_tasks(out)
    except BadInput:
        return []
