"""Advantages by hand, what holds for all estimators, and the traps that users of other frameworks fell into."""

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as checks
from hypothesis import strategies as st

from sandmle.errors import BadInput
from sandmle.rl.algorithms import estimator_names, make_estimator

SETTINGS = [
    {"name": "grpo"},
    {"name": "grpo", "std": "sample"},
    {"name": "grpo", "std": "none"},
    {"name": "rloo"},
    {"name": "step-wise"},
    {"name": "step-wise", "gamma": 0.9, "std": "none"},
]
every = pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: "-".join(map(str, settings.values())))
checked = checks(deadline=None, max_examples=40)
groups = st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=5), min_size=2, max_size=8)


def advantages(settings, *rollouts):
    found = make_estimator(settings).advantages([np.array(turns, dtype=float) for turns in rollouts])
    return [turns.tolist() for turns in found]


def outcomes(settings, *rewards):
    """Advantages of rollouts of one turn."""
    return [turns[0] for turns in advantages(settings, *([reward] for reward in rewards))]


def test_there_is_one_estimator_a_file():
    assert estimator_names() == ("best-of", "grpo", "rloo", "step-wise")


def test_grpo_divides_by_the_population_deviation_plus_a_millionth():
    assert outcomes({"name": "grpo"}, 0, 1) == [-0.5 / (0.5 + 1e-6), 0.5 / (0.5 + 1e-6)]


def test_grpo_divides_by_the_sample_deviation_if_asked():
    assert outcomes({"name": "grpo", "std": "sample"}, 0, 1)[1] == pytest.approx(0.5 / (0.5**0.5 + 1e-6), abs=1e-12)


def test_dr_grpo_does_not_divide():
    assert outcomes({"name": "grpo", "std": "none"}, 0.25, 0.5, 0.75) == [-0.25, 0, 0.25]


def test_rloo_leaves_the_rollout_itself_out_of_its_baseline():
    assert outcomes({"name": "rloo"}, 0, 0.5, 1) == pytest.approx([-0.75, 0, 0.75])


def test_all_turns_of_a_rollout_share_its_advantage():
    assert advantages({"name": "grpo", "std": "none"}, [0.25, 0.25], [0]) == [[0.25, 0.25], [-0.25]]


def test_step_wise_compares_returns_of_the_same_turn():
    found = advantages({"name": "step-wise", "std": "none", "gamma": 0.5}, [0, 1], [0.5, 0, 0], [1, 0.5])
    assert found == [pytest.approx([-0.25, 0.5]), pytest.approx([-0.25, -0.5, 0]), pytest.approx([0.5, 0])]


def test_step_wise_is_not_quietly_trajectory_wise():
    early, late = [1.0, 0.0], [0.0, 1.0]
    assert advantages({"name": "grpo"}, early, late) == [[0, 0], [0, 0]]
    assert advantages({"name": "step-wise"}, early, late) == [
        pytest.approx([0, -1], abs=1e-5),
        pytest.approx([0, 1], abs=1e-5),
    ]


@every
def test_a_group_of_one_has_no_advantage(settings):
    assert advantages(settings, [0.2, 0.7]) == [[0, 0]]


@every
def test_a_group_without_rollouts_is_no_error(settings):
    assert advantages(settings) == []


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_reward_that_is_no_number_is_refused_before_it_poisons_the_group(settings, bad):
    with pytest.raises(ValueError, match="no finite number"):
        advantages(settings, [0.5], [bad], [1])


@every
def test_rewards_may_be_whole_numbers(settings):
    found = make_estimator(settings).advantages([np.array([0]), np.array([1]), np.array([1])])
    assert found[0][0] == pytest.approx(outcomes(settings, 0.0, 1.0, 1.0)[0])
    assert found[0][0] < -0.5


@every
def test_a_rollout_without_turns_counts_with_a_reward_of_0(settings):
    assert advantages(settings, [], [0.5])[0] == []
    if settings["name"] != "step-wise":
        assert advantages(settings, [], [0.5])[1][0] > 0.2


@checked
@given(group=groups)
@pytest.mark.parametrize("settings", SETTINGS[:4])
def test_advantages_of_a_group_add_up_to_nothing(settings, group):
    found = advantages(settings, *group)
    assert sum(turns[0] for turns in found) == pytest.approx(0, abs=1e-5)


@checked
@given(group=groups)
@every
def test_the_order_of_rollouts_does_not_matter(settings, group):
    backwards = advantages(settings, *group[::-1])[::-1]
    for one, other in zip(advantages(settings, *group), backwards, strict=True):
        assert one == pytest.approx(other, abs=1e-6)


@checked
@given(rewards=st.lists(st.integers(0, 20), min_size=2, max_size=8))
def test_grpo_is_the_z_score_of_the_standard_library(rewards):
    found = outcomes({"name": "grpo"}, *rewards)
    mean, deviation = statistics.fmean(rewards), statistics.pstdev(rewards)
    assert found == pytest.approx([(reward - mean) / (deviation + 1e-6) for reward in rewards], abs=1e-9)


@checked
@given(rewards=st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_rloo_is_the_mean_of_differences_to_the_others(rewards):
    pairs = [[one - other for j, other in enumerate(rewards) if j != i] for i, one in enumerate(rewards)]
    assert outcomes({"name": "rloo"}, *rewards) == pytest.approx([statistics.fmean(each) for each in pairs], abs=1e-12)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "unknown advantage estimator None; choose from best-of, grpo, rloo, step-wise"),
        ({"name": "gae"}, "unknown advantage estimator 'gae'"),
        ({"name": "grpo", "std": "both"}, "'grpo': std: "),
        ({"name": "grpo", "eps": 0}, "'grpo': eps: "),
        ({"name": "rloo", "std": "none"}, "'rloo': std: "),
        ({"name": "step-wise", "gamma": 1.5}, "'step-wise': gamma: "),
        ({"name": "grpo", "mode": "per_step"}, "'grpo': mode: "),
    ],
)
def test_settings_that_an_estimator_does_not_have_are_refused_not_ignored(settings, words):
    with pytest.raises(BadInput, match=words):
        make_estimator(settings)


@pytest.mark.parametrize(
    ("rewards", "advantages"),
    [((0.2, 0.9, 0.9), [0, 1, 1]), ((0.5, 0.5), [0, 0]), ((0.0, 0.1, 1.0), [0, 0, 1]), ((0.1 + 0.2, 0.3), [0, 0])],
)
def test_best_of_keeps_the_best_of_a_group_that_differs(rewards, advantages):
    assert outcomes({"name": "best-of"}, *rewards) == advantages
