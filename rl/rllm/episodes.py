"""Our episodes as objects of rLLM, made of the one mapping in ``records``; needs rLLM.

Each trajectory carries the ``Episode`` that it was made of as its ``output``, so that whatever is computed from it
later, rows and masks, is computed from our own record. Two things are as rLLM's verl wants them: it reads tokens from
the ``model_output`` of a step alone, and makes rows of every step that it is given, masked or not; so a masked episode
has a trajectory without steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rllm.engine.rollout import ModelOutput
from rllm.types import Episode as TheirEpisode
from rllm.types import Step
from rllm.workflows.workflow import TerminationReason

from sandmle.errors import BadInput, EnvironmentProblem, InfraError
from sandmle.rl.rllm.records import counts, rllm_episode
from sandmle.trajectory import Episode, Turn

__all__ = ["as_rllm", "fault_of", "faulty", "stamped"]

_FAULT = "fault"


def as_rllm(episode: Episode) -> Any:
    """An episode in rLLM's own class, to learn from.

    Raises:
        BadInput: see ``rllm_episode``.
    """
    found = TheirEpisode.from_dict(rllm_episode(episode))
    (trajectory,) = found.trajectories
    trajectory.output = episode
    if not counts(episode):
        trajectory.steps = []
    for step in trajectory.steps:
        step.model_output = _model_output(step)
    return found


def _model_output(step: Step) -> ModelOutput:
    return ModelOutput(
        content=step.model_response,
        prompt_ids=step.prompt_ids,
        completion_ids=step.response_ids,
        logprobs=step.logprobs,
        prompt_length=len(step.prompt_ids),
        completion_length=len(step.response_ids),
        weight_version=step.weight_version,
    )


def faulty(error: BadInput | EnvironmentProblem) -> Any:
    """An episode that tells why none could be played; masked, and ``fault_of`` finds it."""
    return TheirEpisode(termination_reason=TerminationReason.ERROR, metadata={_FAULT: str(error)})


def fault_of(episode: Any) -> str | None:
    """What the user must mend; None if nothing."""
    fault: str | None = episode.info.get(_FAULT)
    return fault


def stamped(episode: Episode, traced: Sequence[Any]) -> Episode:
    """The episode with the weight versions that rLLM's gateway recorded.

    Args:
        episode: just played.
        traced: the gateway's record of its model calls as rLLM's steps; there may be more than turns, such as those of
            a try that our infrastructure broke off.

    Raises:
        InfraError: a turn is not in the record with just its ids: what would be learnt is not what was sampled.
    """
    left = iter(traced)
    turns = tuple(_found(episode, turn, left) for turn in episode.turns)
    return episode.model_copy(update={"turns": turns})


def _found(episode: Episode, turn: Turn, left: Any) -> Turn:
    fields = turn.tokens
    for step in left:
        if fields and (tuple(step.prompt_ids), tuple(step.response_ids)) == (fields.prompt_ids, fields.completion_ids):
            version = turn.weight_version if step.weight_version is None else step.weight_version
            return turn.model_copy(update={"weight_version": version})
    raise InfraError(f"episode {episode.id}, turn {turn.index}: rLLM's gateway has no record of just these tokens")
