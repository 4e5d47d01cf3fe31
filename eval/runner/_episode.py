"""``run_episode``: one policy on one task, from the sandbox to the reward."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field, replace

from langchain_core.language_models import BaseChatModel

from sandmle.agents.chat import Policy
from sandmle.agents.chat.tokens import TokenChat
from sandmle.agents.session import AgentSession
from sandmle.errors import BadInput, EnvironmentProblem, InfraError
from sandmle.graphs.scaffold import Budget, Outcome, Scaffold
from sandmle.rl.rewards import RewardWeights, score_episode, too_many_timeouts
from sandmle.sandboxes import SandboxBackend
from sandmle.task import Task
from sandmle.trajectory import MASKED_STATUSES, Episode, EpisodeStatus, Protocol, Turn, Usage

__all__ = ["TRIES", "EpisodePlan", "EpisodeResult", "run_episode"]

TRIES = 3
"""How often an episode is begun before a failure of our own infrastructure stands."""

_log = logging.getLogger("sandmle.eval")


@dataclass(frozen=True)
class EpisodePlan:
    """An episode before it is run.

    Attributes:
        id: see ``sandmle.trajectory.episode_id``.
        repeat: 0-based.
        weights: of the reward.
    """

    id: str
    task: Task
    scaffold: Scaffold
    repeat: int
    protocol: Protocol
    weights: RewardWeights
    budget: Budget


@dataclass(frozen=True)
class EpisodeResult:
    """A finished episode.

    Attributes:
        submission: the bytes that were graded, None where there were none.
        journal: the scaffold's own record as JSON, empty where it keeps none.
        discarded: tokens of earlier tries that failed for reasons of infrastructure; their turns are not kept.
    """

    episode: Episode
    submission: bytes | None
    journal: str = ""
    discarded: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class _Try:
    outcome: Outcome
    session: AgentSession | None
    wall_s: float


async def run_episode(plan: EpisodePlan, policy: Policy, backend: SandboxBackend) -> EpisodeResult:
    """Run one episode; an infrastructure failure is tried again, ``TRIES`` times in all, before it stands.

    Whatever goes wrong on our side becomes a masked status with its reason. Cancellation closes the sandbox.

    Raises:
        BadInput: the user must change something: the task is broken, the model's name unknown.
        EnvironmentProblem: the same for the machine or the endpoint.
    """
    discarded = Usage()
    for number in range(1, TRIES + 1):
        played = await _play(plan, policy, backend)
        if played.outcome.status is not EpisodeStatus.INFRA_ERROR:
            break
        _log.info("episode %s, try %d of %d: %s", plan.id, number, TRIES, played.outcome.reason)
        if number < TRIES:
            discarded = sum((turn.usage for turn in played.outcome.turns), start=discarded)
    return _result(plan, policy, played, discarded)


async def _play(plan: EpisodePlan, policy: Policy, backend: SandboxBackend) -> _Try:
    started = time.monotonic()
    recorder: list[Turn] = []
    session: AgentSession | None = None
    try:
        session = await AgentSession.open(
            plan.task, backend, plan.protocol, step_seconds=plan.budget.step_seconds, seed=plan.id
        )
        async with session:
            outcome = await plan.scaffold.rollout(_fresh(policy.model), session, plan.budget, recorder=recorder)
    except InfraError as error:
        outcome = Outcome(EpisodeStatus.INFRA_ERROR, str(error), tuple(recorder))
    except (BadInput, EnvironmentProblem):
        raise
    except Exception as error:  # noqa: BLE001 - one broken episode must not end the run
        _log.warning("episode %s of %s on %s failed", plan.id, policy.name, plan.task.id, exc_info=True)
        outcome = Outcome(EpisodeStatus.INTERNAL_ERROR, f"{type(error).__name__}: {error}", tuple(recorder))
    return _Try(outcome, session, time.monotonic() - started)


def _fresh(model: BaseChatModel) -> BaseChatModel:
    """The model of one try: what remembers its own replies begins without those of the try before."""
    return model.fresh() if isinstance(model, TokenChat) else model


def _with_mask(outcome: Outcome, weights: RewardWeights) -> Outcome:
    """The outcome; masked, with its own end in the reason, where steps timed out more often than the weights allow."""
    reason = too_many_timeouts(outcome.turns, weights)
    if outcome.status in MASKED_STATUSES or not reason:
        return outcome
    ended = f"ended as {outcome.status}" + (f" ({outcome.reason})" if outcome.reason else "")
    return replace(outcome, status=EpisodeStatus.STEP_TIMEOUTS, reason=f"{reason}; {ended}")


def _result(plan: EpisodePlan, policy: Policy, played: _Try, discarded: Usage) -> EpisodeResult:
    outcome, session = _with_mask(played.outcome, plan.weights), played.session
    counts = session is not None and outcome.status not in MASKED_STATUSES
    grade = session.submissions.grade() if session and counts else None
    selected = session.submissions.selected() if session and counts else None
    formats = [turn.format_ok for turn in outcome.turns]
    episode = Episode(
        id=plan.id,
        task_id=plan.task.id,
        task_hash=plan.task.manifest.content_hash,
        scaffold=plan.scaffold.name,
        policy=policy.name,
        protocol=plan.protocol,
        repeat=plan.repeat,
        privileged=policy.privileged,
        status=outcome.status,
        reason=outcome.reason,
        turns=outcome.turns,
        grade=grade,
        reward=score_episode(formats, grade, plan.weights) if counts else None,
        pruned=outcome.pruned,
        history=session.submissions.history if session and counts else (),
        leaked=session is not None and session.leaked,
        wall_s=played.wall_s,
    )
    return EpisodeResult(episode, selected.data if selected else None, outcome.journal, discarded)
