"""What trainings used, and how many updates a matched arm still makes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandmle.rl.experiments._costs import Cost

LINE = {"rollouts": 64, "sampled": 9000, "sandbox_runs": 70, "sandbox_s": 12.5}


def test_the_cost_of_trainings_is_the_sum_of_their_logs(tmp_path):
    for name, lines in (("a", 2), ("b", 1), ("none", 0)):
        (tmp_path / name).mkdir()
        if lines:
            (tmp_path / name / "metrics-grpo.jsonl").write_text((json.dumps(LINE) + "\n") * lines)
    found = Cost.of(tmp_path / name for name in ("a", "b", "none"))
    assert found == Cost(updates=3, rollouts=192, tokens=27_000, sandbox_runs=210, sandbox_s=37.5)


@pytest.mark.parametrize(
    ("tokens", "runs", "missing"),
    [(1000, 50, 0), (900, 50, 1), (500, 50, 10), (1500, 25, 10), (0, 50, 1), (999, 50, 1)],
)
def test_the_cost_that_lacks_most_decides(tokens, runs, missing):
    made = Cost(updates=10, tokens=tokens, sandbox_runs=runs)
    assert made.updates_missing(Cost(updates=10, tokens=1000, sandbox_runs=50), ["tokens", "sandbox_runs"]) == missing


@given(st.integers(1, 500), st.integers(1, 500), st.integers(1, 30))
def test_growing_by_what_is_missing_ends_at_most_one_update_beyond(per_update, reference, first):
    made, goal = Cost(updates=first, tokens=first * per_update), Cost(tokens=reference)
    while missing := made.updates_missing(goal, ["tokens"]):
        updates = made.updates + missing
        made = Cost(updates=updates, tokens=updates * per_update)
    assert made.tokens >= reference
    assert made.updates == first or made.tokens < reference + per_update
