from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandmle.graphs.aide import Journal, Node


def node(parent: int | None = None, metric: float | None = None) -> Node:
    return Node(parent=parent, plan="p", code="c", run=0, is_buggy=metric is None, metric=metric)


class Original:
    """The policy written down a second time, over objects with children, as the original's text has it."""

    class Node:
        def __init__(self, parent, metric, step):
            self.parent, self.metric, self.step, self.children = parent, metric, step, []
            if parent is not None:
                parent.children.append(self)

        @property
        def is_buggy(self):
            return self.metric is None

        @property
        def debug_depth(self):
            if self.parent is None or not self.parent.is_buggy:
                return 0
            return self.parent.debug_depth + 1

    def __init__(self, nodes, maximize):
        self.maximize = maximize
        self.nodes = []
        for place, (parent, metric) in enumerate(nodes):
            self.nodes.append(self.Node(None if parent is None else self.nodes[parent], metric, place))

    def better(self, one, other):
        return one > other if self.maximize else one < other

    def choose(self, rng):
        if len([n for n in self.nodes if n.parent is None]) < 5:
            return None
        if rng.random() < 0.5:
            debuggable = [n for n in self.nodes if n.is_buggy and not n.children and n.debug_depth <= 3]
            if debuggable:
                return rng.choice(debuggable).step
        good = [n for n in self.nodes if not n.is_buggy]
        if not good:
            return None
        best = good[0]
        for other in good[1:]:
            if self.better(other.metric, best.metric):
                best = other
        return best.step


@st.composite
def journals(draw):
    n = draw(st.integers(0, 24))
    shapes = []
    for place in range(n):
        parent = draw(st.none() | st.integers(0, place - 1)) if place else None
        shapes.append((parent, draw(st.none() | st.sampled_from([0.1, 0.2, 0.5, 1.0, 3]))))
    return shapes, draw(st.booleans()), draw(st.integers(0, 2**32 - 1))


@settings(max_examples=200)
@given(journals())
def test_the_choice_is_that_of_the_original(case) -> None:
    shapes, maximize, seed = case
    ours = Journal([node(*shape) for shape in shapes], lower_is_better=not maximize)
    one, other = random.Random(seed), random.Random(seed)
    for _ in range(4):
        assert ours.next(one) == Original(shapes, maximize).choose(other)


def test_it_drafts_five_times_before_it_does_anything_else() -> None:
    journal = Journal([node(metric=0.9), node(), node(), node(metric=0.1)], lower_is_better=False)
    assert {journal.next(random.Random(seed)) for seed in range(20)} == {None}


def test_a_chain_of_failed_repairs_is_given_up_after_four() -> None:
    nodes = [node() for _ in range(4)] + [node()]
    for _ in range(4):
        nodes.append(node(parent=len(nodes) - 1))
    journal = Journal(nodes, lower_is_better=True)
    assert journal.debug_depth(8) == 4
    chosen = {journal.next(random.Random(seed)) for seed in range(200)}
    assert chosen == {None, 0, 1, 2, 3}


@pytest.mark.parametrize(("lower", "best"), [(True, 1), (False, 2)])
def test_the_best_is_the_first_of_the_best_in_the_tasks_direction(lower: bool, best: int) -> None:
    nodes = [node(), node(metric=0.1), node(metric=2), node(metric=2.0), node(metric=0.1)]
    assert Journal(nodes, lower_is_better=lower).best() == best


def test_the_json_form_has_flat_nodes_and_a_map_to_parents() -> None:
    made = Journal([node(metric=1.0), node(parent=0), node(parent=1, metric=2.0)], lower_is_better=True)
    found = json.loads(made.to_json())
    assert found["node2parent"] == {"1": "0", "2": "1"}
    assert found["__version"] == "2"
    assert [each["metric"] for each in found["nodes"]] == [
        {"value": value, "maximize": False} for value in (1.0, None, 2.0)
    ]
    assert [each["is_buggy"] for each in found["nodes"]] == [False, True, False]
