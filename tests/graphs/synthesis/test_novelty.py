"""Near-duplicates and overlaps with benchmarks."""

from __future__ import annotations

import asyncio

import pytest

from sandmle.agents.procedural.strategist import ProceduralStrategist
from sandmle.agents.roles import TaskPlan
from sandmle.graphs.synthesis import novelty
from sandmle.graphs.synthesis.novelty import Fingerprint, NoveltyIndex, benchmark_overlap, similarity
from sandmle.seeds import get_seed

BRIEF = "the quick brown fox jumps over the lazy dog while seven careful judges measure every single step of it"
WORDS = BRIEF.split()


@pytest.fixture(scope="module")
def plans() -> list[TaskPlan]:
    strategist = ProceduralStrategist(7, "novelty", 100, 500)
    return [asyncio.run(strategist.plan(get_seed("iris"), candidate)) for candidate in range(3)]


def test_the_same_plan_under_another_id_is_a_twin(plans: list[TaskPlan]) -> None:
    index = NoveltyIndex()
    index.add(Fingerprint.of(plans[0], BRIEF))
    copy = plans[0].model_copy(update={"task_id": "other-00000000"})
    assert index.twin(Fingerprint.of(copy, BRIEF)) == (plans[0].task_id, 1.0)


def test_a_task_is_no_twin_of_itself_nor_of_others(plans: list[TaskPlan]) -> None:
    index = NoveltyIndex()
    assert index.twin(Fingerprint.of(plans[0], BRIEF)) is None
    for plan in plans:
        assert index.twin(Fingerprint.of(plan, BRIEF)) is None
        index.add(Fingerprint.of(plan, BRIEF))
    assert index.twin(Fingerprint.of(plans[0], BRIEF)) is None


@pytest.mark.parametrize("part", ["rule", "schema", "text"])
def test_one_part_that_differs_is_enough(plans: list[TaskPlan], part: str) -> None:
    one = Fingerprint.of(plans[0], BRIEF)
    values = {name: getattr(one, name) for name in ("rule", "schema", "text")}
    other = Fingerprint("other", **{**values, part: frozenset({"nothing alike"})})
    assert similarity(one, other) == 0.0
    assert similarity(one, one) == 1.0


def test_thirteen_words_of_a_benchmark_are_an_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = ("dog-judging-2019", novelty._shingles(BRIEF, novelty.OVERLAP))
    monkeypatch.setattr(novelty, "_benchmark", lambda: (entry,))
    assert "13 words" in benchmark_overlap("a-1", "New here: " + " ".join(WORDS[2:15]) + ", and so on.")
    assert benchmark_overlap("a-1", "New here: " + " ".join(WORDS[2:14]) + ", and so on.") == ""
    assert "bears the id" in benchmark_overlap("a-1", "As in dog-judging-2019, predict.")
    assert "bears the id" in benchmark_overlap("dog-judging-2019", "Predict.")
