"""What is done to rLLM's groups before it learns from them."""

import pytest

pytest.importorskip("rllm.trainer.algorithms.transform", reason="rllm is not installed")

from rllm.trainer.algorithms.config import CompactFilteringConfig, RejectionSamplingConfig, TransformConfig
from rllm.trainer.algorithms.rejection_sampling import RejectionSamplingState, apply_rejection_sampling_and_filtering
from rllm.types import Episode
from rllm.workflows.workflow import TerminationReason
from rllm_example import played

from sandmle.errors import EnvironmentProblem
from sandmle.rl.algorithms import make_estimator
from sandmle.rl.rllm.compose import compose
from sandmle.rl.rllm.episodes import as_rllm
from sandmle.rl.rllm.grouping import Grouping
from sandmle.rl.rllm.recipe import Recipe
from sandmle.trajectory import MASKED_STATUSES, EpisodeStatus

ANSWERED, LOST, SLOW = EpisodeStatus.ANSWERED, EpisodeStatus.INFRA_ERROR, EpisodeStatus.MODEL_TIMEOUT


def settings_of(part):
    """What a recipe sets in one table of rLLM's."""
    (stage,) = compose(Recipe.load("qwen3-8b"))
    prefix = f"rllm.{part}."
    return {key.removeprefix(prefix): value for key, value in stage.effective.items() if key.startswith(prefix)}


def grouped(grouping, statuses, task="rocks-1a2b"):
    episodes = [as_rllm(played(status, id=f"{n:016d}", task_id=task)) for n, status in enumerate(statuses)]
    return episodes, grouping(episodes, TransformConfig(), CompactFilteringConfig(**settings_of("compact_filtering")))


def test_a_batch_that_our_infrastructure_broke_ends_the_training_in_one_line():
    with pytest.raises(EnvironmentProblem) as told:
        grouped(Grouping(), [LOST, SLOW, LOST])
    assert str(told.value).startswith(
        "every rollout of an update failed for a reason of infrastructure (infra_error 2, model_timeout 1;"
    )
    assert "\n" not in str(told.value)
    for status in MASKED_STATUSES:
        with pytest.raises(EnvironmentProblem):
            grouped(Grouping(), [status])


def test_so_does_one_whose_every_rollout_rllm_gave_up():
    lost = Episode(id="rocks-1a2b:0", termination_reason=TerminationReason.ERROR)
    with pytest.raises(EnvironmentProblem, match=r"\(error 1;"):
        Grouping()([lost], TransformConfig())


@pytest.mark.parametrize("statuses", [[LOST, ANSWERED], [EpisodeStatus.TOKEN_BUDGET], []])
def test_a_batch_with_an_episode_that_counts_goes_on(statuses):
    assert len(grouped(Grouping(), statuses)[1]) == bool(statuses)


def test_an_episode_that_saw_answers_is_in_no_group():
    leaked, counted = as_rllm(played(leaked=True)), as_rllm(played(id="0" * 16))
    (group,) = Grouping()([leaked, counted], TransformConfig(), None)
    assert group.trajectories == counted.trajectories
    assert leaked.termination_reason is TerminationReason.ERROR


def test_a_validation_may_come_to_nothing():
    assert grouped(Grouping(validated=frozenset({"rocks-1a2b"})), [LOST])[1] == []
    with pytest.raises(EnvironmentProblem):
        grouped(Grouping(validated=frozenset({"another"})), [LOST])


@pytest.mark.parametrize("estimator", [None, make_estimator({"name": "grpo"})])
def test_a_group_that_masking_reduced_to_one_teaches_nothing(estimator):
    episodes, groups = grouped(Grouping(estimator), [ANSWERED, LOST, SLOW])
    assert [len(group.trajectories) for group in groups] == [1]
    if estimator:
        assert {step.advantage for step in groups[0].trajectories[0].steps} == {0.0}
    rejection = RejectionSamplingConfig.from_config(settings_of("rejection_sample"))
    kept, left, _ = apply_rejection_sampling_and_filtering(episodes, groups, rejection, RejectionSamplingState())
    assert kept == []
    assert [trajectory for episode in left for trajectory in episode.trajectories if trajectory.steps] == []
