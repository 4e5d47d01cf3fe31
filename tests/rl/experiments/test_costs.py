"""What trainings used, and how many updates a matched arm still makes."""

import json

import pytest

from sandmle.rl.experiments._costs import Cost

LINE = {"rollouts": 64, "sampled": 9000, "sandbox_runs": 70, "sandbox_s": 12.5}


def test_the_cost_of_trainings_is_the_sum_of_their_logs(tmp_path):
    for name, lines in (("a", 2), ("b", 1), ("none", 0)):
        (tmp_path / name).mkdir()
        if lines:
            (tmp_path / name / "metrics-grpo.jsonl").write_text((json.dumps(LINE) + "\n") * lines)
    found = Cost.of(tmp_path / name for name in ("a", "b", "none"))
    assert found == Cost(updates=3, rollouts=192, tokens=27_000, sandbox_runs=210, sandbox_s=37.5)


@pytest.mark.parametrize(("tokens", "runs", "reached"), [(1000, 50, True), (999, 50, False), (1500, 49, False)])
def test_every_cost_that_is_matched_must_be_reached(tokens, runs, reached):
    made = Cost(tokens=tokens, sandbox_runs=runs)
    assert made.reaches(Cost(tokens=1000, sandbox_runs=50, sandbox_s=9), ["tokens", "sandbox_runs"]) is reached
