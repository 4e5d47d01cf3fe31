"""Our scaffolds as an agent flow of rLLM, and our grader as its evaluator; needs rLLM.

    rLLM's engine ─▶ PlayFlow.arun(task, config) ─▶ Playing over rLLM's gateway ─▶ our Episode
    the gateway's record, our Episode ─▶ GradeFlow.evaluate ─▶ steps, reward, reason, all of our Episode

Prompts go through the gateway as token ids, so nothing is encoded anew. What rLLM learns from is what the evaluator
leaves in the trajectories: our turns, each of which the gateway must have on record.
"""

from __future__ import annotations

import asyncio
from typing import Any

from rllm.eval.types import EvalOutput
from rllm.types import Episode as TheirEpisode
from rllm.types import Trajectory
from rllm.workflows.workflow import TerminationReason

from sandmle.agents.chat.tokens.endpoint import TokenEndpoint
from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.rl.rllm.episodes import as_rllm, faulty, stamped
from sandmle.rl.rllm.playing import Playing
from sandmle.rl.rllm.records import TRAJECTORY, termination_reason
from sandmle.trajectory import Episode

__all__ = ["GradeFlow", "PlayFlow"]

_PLAYED = "sandmle"


class PlayFlow:
    """Plays a task; satisfies rLLM's ``AgentFlow``."""

    name = TRAJECTORY
    needs_env = False

    def __init__(self, playing: Playing) -> None:
        """A flow for the tasks of ``playing``."""
        self.playing = playing

    def run(self, task: Any, config: Any) -> TheirEpisode:
        """See ``arun``."""
        return asyncio.run(self.arun(task, config))

    async def arun(self, task: Any, config: Any) -> TheirEpisode:
        """One episode, whose steps rLLM takes from its gateway's record until the evaluator puts ours there."""
        engine = TokenEndpoint(config.model, base_url=config.base_url, seed=self.playing.seed, api_key="EMPTY")
        try:
            played = await self.playing.episode(task.metadata, config.session_uid, engine)
        except (BadInput, EnvironmentProblem) as error:
            return faulty(error)
        finally:
            await engine.aclose()
        return TheirEpisode(
            task=task.metadata,
            termination_reason=TerminationReason(termination_reason(played)),
            trajectories=[Trajectory(name=TRAJECTORY, steps=[])],
            artifacts={_PLAYED: played},
        )


class GradeFlow:
    """Tells what our runner graded; satisfies rLLM's ``Evaluator``."""

    def evaluate(self, task: Any, episode: Any) -> EvalOutput:
        """The reward of an episode of ``PlayFlow``, whose trajectories become ours.

        Raises:
            InfraError: the gateway's record is not of these turns.
        """
        played: Episode | None = episode.artifacts.get(_PLAYED)
        if played is None:
            return EvalOutput(reward=0.0, is_correct=False)
        if not played.masked:
            traced = [step for trajectory in episode.trajectories for step in trajectory.steps]
            played = stamped(played, traced)
        ours = as_rllm(played)
        episode.trajectories = ours.trajectories
        episode.info.update(ours.info)
        return EvalOutput(
            reward=ours.trajectories[0].reward, is_correct=ours.is_correct, signals=[], metadata=ours.metrics
        )
