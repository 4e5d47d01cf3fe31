"""Our scaffolds as a Workflow of rLLM; needs rLLM.

The same as the agent flow, but without the gateway: replies are asked of rLLM's rollout engine, tokens in and out.

    UnifiedTrainer(workflow_class=PlayWorkflow, workflow_args={"playing": playing})
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rllm.types import Episode as TheirEpisode
from rllm.workflows.workflow import Workflow

from sandmle.agents.chat.tokens import Sample, SamplingSettings
from sandmle.errors import BadInput, EnvironmentProblem, InfraError
from sandmle.rl.rllm.episodes import as_rllm, faulty
from sandmle.rl.rllm.playing import Playing

__all__ = ["PlayWorkflow", "RolloutEngineSampler"]


class RolloutEngineSampler:
    """A rollout engine of rLLM that takes and gives tokens, as an engine of ours."""

    def __init__(self, engine: Any) -> None:
        """An engine over ``engine``; temperature and the like are rLLM's settings."""
        self._engine = engine

    def player(self) -> AbstractContextManager[None]:
        """See ``sandmle.agents.chat.tokens.Engine``; rLLM's engine fills its batches itself."""
        return nullcontext()

    async def sample(self, prompt: tuple[int, ...], settings: SamplingSettings, stop: int, *, key: str) -> Sample:
        """See ``sandmle.agents.chat.tokens.Engine``.

        Raises:
            InfraError: the engine failed, or gave no log-probabilities.
        """
        version = self._engine.weight_version
        try:
            found = await self._engine.get_token_output_from_token_input(
                list(prompt),
                enforce_max_prompt_length=False,
                max_tokens=settings.max_new_tokens,
                stop_token_ids=[stop],
            )
        except Exception as error:  # whatever their engines raise is no doing of the policy
            raise InfraError(f"rLLM's engine failed: {type(error).__name__}: {error}") from error
        ids, logprobs = tuple(found.token_ids), tuple(found.log_probs or ())
        if not ids or len(ids) != len(logprobs):
            raise InfraError(f"rLLM's engine gave {len(ids)} ids with {len(logprobs)} log-probabilities")
        return Sample(ids, logprobs, version)


class PlayWorkflow(Workflow):  # type: ignore[misc]
    """Plays a task over rLLM's rollout engine."""

    def __init__(self, *, playing: Playing, **given: Any) -> None:
        """A workflow for the tasks of ``playing``."""
        super().__init__(**given)
        self._playing = playing

    async def run(self, task: Mapping[str, Any], uid: str, **_: Any) -> TheirEpisode:
        """One episode."""
        try:
            return as_rllm(await self._playing.episode(task, uid, RolloutEngineSampler(self.rollout_engine)))
        except (BadInput, EnvironmentProblem) as error:
            return faulty(error)
