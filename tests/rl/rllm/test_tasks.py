"""Tasks as rows of a dataset, and how rLLM has one played; without rLLM."""

import asyncio
import json
import shutil
from contextlib import nullcontext

import pytest
from byte_codec import RENDERER

from sandmle.agents.chat.tokens import Sample, SamplingSettings
from sandmle.errors import BadInput
from sandmle.rl.exports import export_tasks
from sandmle.rl.rllm.playing import Playing
from sandmle.rl.rllm.tasks import chosen_tasks, task_of_row, task_rows
from sandmle.rl.rollouts import RolloutSettings
from sandmle.rl.splits import bare_traits, split_tasks
from sandmle.sandboxes import LocalBackend
from sandmle.seeds import get_seed, materialize
from sandmle.task import load_tasks
from sandmle.trajectory import EpisodeStatus


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three small tasks and a split of them."""
    root = tmp_path_factory.mktemp("tasks")
    for name in ("iris", "wine", "breast-cancer"):
        materialize(get_seed(name), root)
    (root / "splits").mkdir()
    (root / "splits" / "paper.json").write_text(split_tasks(bare_traits(load_tasks(root)), "iid", "1", 0).to_text())
    return root


def test_a_row_is_its_task_again_until_the_folder_holds_another(folder):
    tasks = load_tasks(folder)
    rows = task_rows(tasks)
    assert [row["place"] for row in rows] == [0, 1, 2]
    assert [task_of_row(row).id for row in rows] == [task.id for task in tasks] == [row["id"] for row in rows]
    with pytest.raises(BadInput, match="another task than the dataset was made of"):
        task_of_row(rows[0] | {"task_hash": "else"})
    with pytest.raises(BadInput, match="no task of sandmle"):
        task_of_row({"question": "1 + 1"})


def test_tasks_are_chosen_by_a_splits_name_or_by_numbers(folder):
    train, validation = chosen_tasks(folder, "paper", seed=0)
    assert (len(train), len(validation)) == (2, 1)
    assert {task.id for task in train}.isdisjoint(task.id for task in validation)
    assert [len(part) for part in chosen_tasks(folder, (1, 1), seed=0)] == [1, 1]
    assert [len(part) for part in chosen_tasks(folder, (848, 64), seed=0)] == [2, 1]
    with pytest.raises(BadInput, match=r"domain\.json: no such split"):
        chosen_tasks(folder, "domain", seed=0)


def test_a_split_of_other_tasks_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "tasks")
    materialize(get_seed("diabetes"), tmp_path / "tasks")
    with pytest.raises(BadInput, match="it was made of other tasks than are there now; make it anew"):
        chosen_tasks(tmp_path / "tasks", "paper", seed=0)


@pytest.mark.parametrize("split", [None, "paper"])
@pytest.mark.parametrize("layout", ["rllm", "verl"])
def test_tasks_are_exported_as_a_dataset(folder, tmp_path, layout, split):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra train")
    out = tmp_path / "out"
    assert export_tasks(folder, out, layout, split) == ({"train": 2, "validation": 1} if split else {"train": 3})
    if layout == "verl":
        table = parquet.read_table(out / "train.parquet").to_pylist()
    else:
        registry = json.loads((out / "datasets" / "registry.json").read_text())["datasets"]["sandmle"]["splits"][
            "train"
        ]
        table = parquet.read_table(out / "datasets" / registry["path"]).to_pylist()
        assert (registry["num_examples"], registry["fields"]) == (len(table), list(table[0]))
        assert [task_of_row(row).id for row in table] == [row["id"] for row in table]
    for place, row in enumerate(table):
        assert [each["role"] for each in row["prompt"]] == ["user"]
        assert (row["extra_info"]["index"], row["extra_info"]["split"]) == (place, "train")
        assert task_of_row(row["extra_info"]).id == row["extra_info"]["id"]
    with pytest.raises(BadInput, match="not empty"):
        export_tasks(folder, out, layout, split)


class Answers:
    """An engine that gives up at once and remembers the keys of its calls."""

    def __init__(self):
        self.keys = []

    def player(self):
        return nullcontext()

    async def sample(self, prompt, settings, stop, *, key):
        self.keys.append(key)
        ids = RENDERER.reply_ids("<answer>submission</answer>")
        return Sample(ids, (-0.5,) * len(ids), weight_version=3)


def playing_in(sandboxes, tasks, group=2, deadline_s=None, **fields):
    settings = RolloutSettings(group=group, sampling=SamplingSettings(max_tokens=100_000), deadline_s=deadline_s)
    return Playing("train:policy", "nowhere", settings, tasks, sandboxes=sandboxes, renderer=RENDERER, **fields)


async def test_each_play_of_a_task_draws_anew_and_has_an_id_of_its_own(folder):
    rows = task_rows(load_tasks(folder))
    engine, kept = Answers(), []
    plays = [(rows[1], "b:0"), (rows[1], "b:1"), (rows[2], "c:0"), (rows[1], "b:0")]
    async with LocalBackend(allow_unisolated=True) as sandboxes:
        playing = playing_in(sandboxes, len(rows), on_episode=kept.append)
        episodes = [await playing.episode(row, uid, engine) for row, uid in plays]
    assert engine.keys == ["000000001/0000/1", "000000001/0001/1", "000000002/0000/1", "000000004/0000/1"]
    assert len({episode.id for episode in episodes}) == 4
    assert [episode.turns[0].weight_version for episode in episodes] == [3] * 4
    assert kept == episodes


class Silent(Answers):
    """An engine that never answers the second episode of a group."""

    async def sample(self, prompt, settings, stop, *, key):
        if "/0001/" in key:
            await asyncio.Event().wait()
        return await super().sample(prompt, settings, stop, key=key)


async def test_a_stuck_endpoint_costs_its_episode_and_no_more(folder):
    rows = task_rows(load_tasks(folder))[:1]
    kept = []
    async with LocalBackend(allow_unisolated=True) as sandboxes:
        playing = playing_in(sandboxes, 1, group=3, deadline_s=0.01, on_episode=kept.append)
        first = await asyncio.gather(*(playing.episode(rows[0], f"b:{repeat}", Silent()) for repeat in range(3)))
        again = await playing.episode(rows[0], "b:0", Answers())
    assert [each.status for each in first] == [EpisodeStatus.ANSWERED, EpisodeStatus.CANCELLED, EpisodeStatus.ANSWERED]
    assert first[1].reason == "cut off: its group's deadline had passed"
    assert again.status is EpisodeStatus.ANSWERED
    assert len({each.id for each in (*first, again)}) == 4
    assert sorted(each.id for each in kept) == sorted(each.id for each in (*first, again))


async def test_a_resumed_training_plays_an_epoch_as_an_unbroken_one(folder):
    rows = task_rows(load_tasks(folder))[:1]
    played = []
    async with LocalBackend(allow_unisolated=True) as sandboxes:
        for epochs in ((0, 1, 2), (2,)):
            engine, playing = Answers(), playing_in(sandboxes, len(rows))
            for playing.epoch in epochs:
                episode = await playing.episode(rows[0], "b:1", engine)
            played.append((engine.keys[-1], episode.id))
    assert played[0] == played[1] == ("000000002/0001/1", episode.id)
