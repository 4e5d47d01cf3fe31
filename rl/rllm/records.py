"""Our episodes as rLLM's records: plain values in the layout that its ``Episode.from_dict`` reads.

    Episode  ─▶ episode: id ``TASK:REPEAT``, one trajectory, why it ended
    its turns ─▶ steps: the token ids as really sent and sampled, their log-probabilities, weight version, reward

What decides about learning there:

- rLLM cuts an id at its first ``:``: before it stands the task, whose episodes are one group. So a task's id has none.
- Trajectories of a task are grouped by their name; it is the same for all scaffolds, so that a task is one group.
- Its compact filtering masks by the reason of termination. The reasons here are chosen so that it masks, as our recipes
  set it, just the episodes that the runner's status masks. What has no reason of its own there is ``env_done``.
- A masked episode has no reward. rLLM wants a number in every trajectory, so it is 0 there; masked, it is never read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sandmle.errors import BadInput
from sandmle.rl.types import Rollout
from sandmle.trajectory import Episode, EpisodeStatus, Turn

__all__ = ["TERMINATION_REASONS", "TRAJECTORY", "rllm_episode", "rllm_step"]

TERMINATION_REASONS = {
    EpisodeStatus.ANSWERED: "env_done",
    EpisodeStatus.MAX_TURNS: "max_turns_exceeded",
    EpisodeStatus.TOKEN_BUDGET: "max_response_length_exceeded",
    EpisodeStatus.WALL_BUDGET: "env_done",
    EpisodeStatus.FORMAT_ABORT: "env_done",
    EpisodeStatus.MODEL_TIMEOUT: "timeout",
    EpisodeStatus.INFRA_ERROR: "error",
    EpisodeStatus.INTERNAL_ERROR: "error",
    EpisodeStatus.CANCELLED: "error",
}
"""rLLM's reason by our status."""

TRAJECTORY = "policy"
"""The name of every trajectory."""


def rllm_episode(episode: Episode) -> dict[str, Any]:
    """An episode in rLLM's layout.

    Raises:
        BadInput: the task's id has a ``:``, a turn has no token ids, or an unmasked episode has no reward.
    """
    if ":" in episode.task_id:
        raise BadInput(f"task {episode.task_id}: rLLM groups by what stands before a ':'; give the task an id without")
    rollout = Rollout.of_episode(episode)
    if rollout.reward is None and not episode.masked:
        raise BadInput(f"episode {episode.id}: no reward, and one missing reward ends rLLM's update")
    return {
        "id": f"{episode.task_id}:{episode.repeat}",
        "task": {"id": episode.task_id, "hash": episode.task_hash},
        "termination_reason": TERMINATION_REASONS[episode.status],
        "is_correct": bool(episode.grade and episode.grade.medal),
        "session_id": None,
        "trajectories": [
            {
                "uid": episode.id,
                "name": TRAJECTORY,
                "task": episode.task_id,
                "steps": list(_steps(episode, rollout.turn_rewards or (0.0,) * len(episode.turns))),
                "reward": rollout.reward or 0.0,
                "info": {},
            }
        ],
        "metrics": dict(episode.reward.parts) if episode.reward else {},
        "info": {"scaffold": episode.scaffold, "policy": episode.policy, "status": episode.status.value},
    }


def _steps(episode: Episode, rewards: Sequence[float]) -> Iterator[dict[str, Any]]:
    chat: list[dict[str, str]] = []
    for turn, reward in zip(episode.turns, rewards, strict=True):
        if turn.tokens is None:
            raise BadInput(
                f"episode {episode.id}, turn {turn.index}: no token ids; play with a policy that reports them"
            )
        before = [] if turn.anew else chat
        asked = [{"role": message.role, "content": message.content} for message in turn.messages]
        chat = [*before, *asked, {"role": "assistant", "content": turn.reply}]
        yield rllm_step(turn, chat, reward, done=turn.index == len(episode.turns) - 1)


def rllm_step(turn: Turn, chat: Sequence[dict[str, str]], reward: float, *, done: bool) -> dict[str, Any]:
    """A turn in rLLM's layout, ``chat`` up to its reply; empty ids where the policy reported none."""
    tokens = turn.tokens
    return {
        "prompt_ids": list(tokens.prompt_ids) if tokens else [],
        "response_ids": list(tokens.completion_ids) if tokens else [],
        "logprobs": list(tokens.logprobs) if tokens else [],
        "routing_matrices": None,
        "chat_completions": list(chat),
        "observation": turn.observation,
        "thought": "",
        "action": turn.action.model_dump() if turn.action else None,
        "model_response": turn.reply,
        "model_output": None,
        "info": {"format_ok": turn.format_ok},
        "reward": reward,
        "done": done,
        "mc_return": 0.0,
        "advantage": None,
        "weight_version": turn.weight_version,
    }
