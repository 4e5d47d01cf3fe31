"""Sets of tasks: disjoint, new in what they say, and without what a constant script solves."""

from itertools import combinations

import numpy as np
import pytest

from sandmle.errors import BadInput
from sandmle.rl.experiments import TaskSettings
from sandmle.rl.experiments._tasks import divide
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
