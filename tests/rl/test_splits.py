"""Splits: disjoint, complete, deterministic, and what is held out really is."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandmle.errors import BadInput
from sandmle.rl.splits import TaskTraits, paper_split, parse_validation, read_split, split_tasks

KINDS = tuple(f"kind_{letter}" for letter in "abcdefghij")
HELD_OUT = ("family", "domain", "composition", "primitive")


def task(index: int, **traits: object) -> TaskTraits:
    given = {"family": "iris", "domain": "tram-depot", "primitives": ("linear",), **traits}
    return TaskTraits.model_validate({"id": f"task-{index:04d}", "content_hash": f"{index:x}", **given})


@st.composite
def folders(draw: st.DrawFn) -> list[TaskTraits]:
    drawn = draw(
        st.lists(
            st.tuples(
                st.sampled_from("pqrst"),
                st.sampled_from("uvwxyz"),
                st.sets(st.sampled_from(KINDS), min_size=1, max_size=4),
                st.integers(0, 5),
            ),
            min_size=3,
            max_size=30,
        )
    )
    return [
        task(index, family=family, domain=domain, primitives=tuple(sorted(kinds)), discoverable=bool(found))
        for index, (family, domain, kinds, found) in enumerate(drawn)
    ]


def holds(held_out: str, by: str, one: TaskTraits) -> bool:
    """Whether a task has a held-out trait, told without the code under test."""
    if by in ("family", "domain"):
        return getattr(one, by) == held_out
    return set(held_out.split(" + ")) <= set(one.primitives)


@pytest.mark.parametrize("by", ["iid", *HELD_OUT])
@settings(deadline=None, max_examples=30)
@given(tasks=folders(), share=st.sampled_from(["1", "2", "0.2", "50%"]), seed=st.integers(0, 3), aside=st.booleans())
def test_every_split_is_disjoint_complete_deterministic_and_holds_out_what_it_says(by, tasks, share, seed, aside):
    try:
        found = split_tasks(tasks, by, share, seed, with_undiscoverable=not aside)
    except BadInput:
        return
    parts = (found.train, found.validation, found.undiscoverable)
    assert sorted(name for part in parts for name in part) == sorted(one.id for one in tasks)
    assert found.train
    assert 1 <= len(found.validation) <= found.asked
    assert set(found.undiscoverable) == {one.id for one in tasks if aside and not one.discoverable}
    assert found == split_tasks(tasks[::-1], by, share, seed, with_undiscoverable=not aside)
    by_id = {one.id: one for one in tasks}
    train, validation = ([by_id[name] for name in names] for names in (found.train, found.validation))
    assert not [one.id for one in train for trait in found.held_out if holds(trait, by, one)]
    if by == "iid":
        assert len(found.validation) == found.asked
        assert found.held_out == ()
    else:
        assert all(any(holds(trait, by, one) for trait in found.held_out) for one in validation)
        assert all(any(holds(trait, by, one) for one in validation) for trait in found.held_out)
    if by == "composition":
        parts_of_pairs = {kind for pair in found.held_out for kind in pair.split(" + ")}
        assert parts_of_pairs <= {kind for one in train for kind in one.primitives}


def test_a_number_that_whole_groups_can_make_up_is_met():
    sizes = {"a": 7, "b": 5, "c": 4, "d": 3, "e": 2}
    tasks = [task(10 * place + k, domain=name) for place, (name, size) in enumerate(sizes.items()) for k in range(size)]
    for asked in range(2, sum(sizes.values())):
        sums = {sum(group) for n in range(1, 5) for group in combinations(sizes.values(), n)}
        found = split_tasks(tasks, "domain", str(asked), 0)
        assert len(found.validation) == max(total for total in sums if total <= asked)


def test_seeds_and_kinds_of_split_choose_differently():
    tasks = [task(index, domain=str(index % 20)) for index in range(60)]
    chosen = {split_tasks(tasks, by, "6", seed).validation for by in ("iid", "domain") for seed in range(4)}
    assert len(chosen) == 8


@pytest.mark.parametrize(
    ("tasks", "by", "validation", "message"),
    [
        ([task(k) for k in range(6)], "family", "2", r"all tasks are of one family \(iris\).*--by iid"),
        ([task(k, domain="ab"[k % 2]) for k in range(6)], "domain", "2", "ask for --validation 3 or more"),
        ([task(k) for k in range(6)], "primitive", "2", "the rarest has 6 of 6 tasks; use another --by"),
        ([task(k, primitives=("x", "y")) for k in range(2)] + [task(2)], "composition", "2", "parts still occur"),
        ([task(k) for k in range(6)], "iid", "6", "leaves no task for training"),
        ([task(k) for k in range(6)], "iid", "0", "leaves no task"),
        ([task(k) for k in range(6)], "iid", "many", "--validation: give a number"),
        ([task(k) for k in range(6)], "iid", "1.5", "--validation: give a number"),
        ([task(0), task(1, discoverable=False)], "iid", "1", r"1 usable tasks \(1 undiscoverable"),
    ],
)
def test_what_is_impossible_is_said_with_a_way_out(tasks, by, validation, message):
    with pytest.raises(BadInput, match=message):
        split_tasks(tasks, by, validation, 0)


def test_shares():
    assert [parse_validation(text, 200) for text in ("64", "0.1", "10%", "12.5%")] == [64, 20, 20, 25]


def test_a_written_split_is_read_by_its_name_and_a_missing_one_tells_how_to_make_it(tmp_path):
    found = paper_split([task(k) for k in range(20)], 0)
    (tmp_path / "splits").mkdir()
    (tmp_path / "splits" / "paper.json").write_text(found.to_text())
    assert read_split(tmp_path, "paper") == found
    with pytest.raises(BadInput, match=r"domain\.json: no such split; make one with `sandmle split"):
        read_split(tmp_path, "domain")


def test_a_split_can_have_other_sizes():
    found = paper_split([task(k) for k in range(20)], 0, sizes=(6, 2))
    assert (len(found.train), len(found.validation), len(found.spare)) == (6, 2, 12)


def test_the_papers_split_and_the_same_shares_of_fewer_tasks():
    whole = paper_split([task(k) for k in range(912)], 0)
    assert (len(whole.train), len(whole.validation), len(whole.spare)) == (848, 64, 0)
    more = paper_split([task(k) for k in range(950)], 0)
    assert (len(more.train), len(more.validation), len(more.spare)) == (848, 64, 38)
    assert len({*more.train, *more.validation, *more.spare}) == 950
    fewer = paper_split([task(k) for k in range(114)], 0)
    assert (len(fewer.train), len(fewer.validation), len(fewer.spare)) == (106, 8, 0)
    assert more == paper_split([task(k) for k in range(950)], 0) != paper_split([task(k) for k in range(950)], 1)
