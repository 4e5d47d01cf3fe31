"""Sets of tasks: disjoint, new in what they say, and without what a constant script solves."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from sandmle.errors import BadInput
from sandmle.rl.experiments import ExperimentSettings, TaskSettings
from sandmle.rl.experiments._tasks import HELD_OUT, divide, sizes
from sandmle.rl.splits import TaskTraits

SETTINGS = TaskSettings(
    seeds=("iris",), other_seeds=("wine",), constants=("-",), train=20, same=6, other=5, unseen=6, batch_seed=3
)
KINDS = ("ratio", "season", "level", "curve", "plane", "gap", "step", "wave")


def traits(n=60):
    rng = np.random.default_rng(0)
    return [
        TaskTraits(
            id=f"task-{number:03d}",
            content_hash=str(number),
            family="-",
            domain="-",
            primitives=tuple(sorted(rng.choice(KINDS, 2, replace=False).tolist())),
            discoverable=number % 5 != 0,
        )
        for number in range(n)
    ]


def seeds(tasks):
    return {task.id: "wine" if number % 4 == 0 else "iris" for number, task in enumerate(tasks)}


def test_sets_share_no_task_and_training_takes_what_can_be_discovered():
    tasks = traits()
    sets = divide(SETTINGS, tasks, seeds(tasks), solved=set())
    ids = [name for members in sets.values() for name in members]
    assert len(ids) == len(set(ids))
    by_id = {task.id: task for task in tasks}
    assert all(by_id[name].discoverable for name in sets["train"])
    assert [len(sets[name]) for name in ("train", "same", "other", "unseen")] == [20, 6, 5, 6]


def test_other_tasks_are_of_seeds_that_training_never_saw():
    tasks = traits()
    of = seeds(tasks)
    sets = divide(SETTINGS, tasks, of, solved=set())
    assert {of[name] for name in sets["other"]} == {"wine"}
    assert {of[name] for set_name in ("train", "same", "unseen") for name in sets[set_name]} == {"iris"}


def test_every_unseen_task_holds_a_pair_of_terms_that_no_training_task_holds():
    tasks = traits()
    sets = divide(SETTINGS, tasks, seeds(tasks), solved=set())
    pairs = {task.id: set(combinations(task.primitives, 2)) for task in tasks}
    trained = set().union(*(pairs[name] for name in sets["train"]))
    assert all(pairs[name] - trained for name in sets["unseen"])


def test_a_task_that_a_constant_script_solves_is_nowhere():
    tasks = traits()
    solved = {task.id for task in tasks[::3]}
    sets = divide(SETTINGS, tasks, seeds(tasks), solved)
    assert not solved & {name for members in sets.values() for name in members}


def test_too_few_tasks_are_refused():
    tasks = traits(12)
    with pytest.raises(BadInput, match="set 'other'"):
        divide(SETTINGS, tasks, dict.fromkeys((task.id for task in tasks), "iris"), set())


def test_a_set_that_is_smaller_than_asked_is_told():
    tasks = traits(40)
    sets = divide(SETTINGS, tasks, seeds(tasks), set())
    assert [len(sets[name]) for name in ("train", "same", "other", "unseen")] == [18, 6, 5, 6]
    assert sizes(sets, SETTINGS) == "18 train (of 20 asked), 6 same, 5 other, 6 unseen"


def test_the_demo_holds_out_at_least_64_of_its_tasks():
    """``demo_tasks.jsonl`` records what its 97 slots were filled with (seed, terms) as far as they are suitable."""
    settings = ExperimentSettings.load("demo-cpu").tasks
    lines = Path(__file__).with_name("demo_tasks.jsonl").read_text().splitlines()
    made = [json.loads(line) for line in lines]
    of = {task.pop("id"): task for task in made}
    tasks = [
        TaskTraits(
            id=name,
            content_hash="-",
            family="-",
            domain="-",
            primitives=task["primitives"],
            discoverable=task["discoverable"],
        )
        for name, task in of.items()
    ]
    sets = divide(settings, tasks, {name: task["seed"] for name, task in of.items()}, solved=set())
    assert sizes(sets, settings) == "24 train, 21 same (of 22 asked), 22 other, 22 unseen"
    assert sum(len(sets[name]) for name in HELD_OUT) >= 64
    assert settings.n + settings.n_other == 97
    assert {task["seed"] for task in made} <= {*settings.seeds, *settings.other_seeds}
