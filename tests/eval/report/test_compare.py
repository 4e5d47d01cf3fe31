from __future__ import annotations

import numpy as np
import pytest

from sandmle.errors import BadInput
from sandmle.eval.report import compare


@pytest.fixture
def run(make_run, make_summary):
    def make(folder, policy="openai:a", rewards=(0.4, 0.6, 0.5), medals=(None, None, None), **changes):
        facts = enumerate(zip(rewards, medals, strict=True))
        rows = [make_summary(policy, f"t{place}", 0, reward, medal=medal) for place, (reward, medal) in facts]
        return make_run(rows, folder=folder, **changes)

    return make


def test_rows_are_paired_by_task(run) -> None:
    one = run("one")
    other = run("other", rewards=(0.6, 0.6, 0.8), medals=("gold", None, "bronze"))
    (row,) = compare(one, other)
    assert (row.scaffold, row.policy, row.tasks) == ("react", "openai:a", 3)
    assert row.reward is not None
    assert row.reward.mean == pytest.approx(np.mean([0.2, 0.0, 0.3]))
    assert row.reward.low is not None
    assert row.reward.low >= 0
    assert row.any_medal is not None
    assert row.any_medal.mean == pytest.approx(2 / 3)
    (back,) = compare(other, one)
    assert back.reward is not None
    assert back.reward.mean == pytest.approx(-row.reward.mean)


def test_single_rows_are_compared_under_both_names(run) -> None:
    (row,) = compare(run("one"), run("other", policy="openai:b"))
    assert row.policy == "openai:a → openai:b"
    assert row.reward is not None
    assert row.reward.mean == 0


def test_what_can_not_be_compared(run, make_run, make_summary) -> None:
    one = run("one")
    with pytest.raises(BadInput, match="protocol"):
        compare(one, run("other", protocol="paper"))
    elsewhere = make_run([make_summary("openai:a", "elsewhere", 0, 0.5)], folder="other")
    with pytest.raises(BadInput, match="no finished task in common"):
        compare(one, elsewhere)
