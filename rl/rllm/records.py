"""Our episodes as rLLM's records: plain values in the layout that its ``Episode.from_dict`` reads.

    Episode  ─▶ episode: id ``TASK:EPISODE``, one trajectory, why it ended
    its turns ─▶ steps: the token ids as really sent and sampled, their log-probabilities, weight version, reward

What decides about learning there:

- rLLM cuts an id at its first ``:``: before it stands the task, whose episodes are one group. In a task's id a ``:`` is
  written ``%3A``.
- Trajectories of a task are grouped by their name; it is the same for all scaffolds, so that a task is one group.
- Its compact filtering masks by the reason of termination. The reasons here are chosen so that it masks, as our recipes
  set it, just the episodes that the runner's status masks, and those that saw answers. What has no reason of its own
  there is ``env_done``.
- A masked episode has no reward. rLLM wants a number in every trajectory, so it is 0 there; masked, it is never read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from sandmle.errors import BadInput
from sandmle.rl.types import Rollout
from sandmle.trajectory import Episode, EpisodeStatus, Turn

__all__ = ["TERMINATION_REASONS", "TRAJECTORY", "counts", "rllm_episode", "rllm_task_id", "termination_reason"]

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
    EpisodeStatus.STEP_TIMEOUTS: "timeout",
}
"""rLLM's reason by our status."""

TRAJECTORY = "policy"
"""The name of every trajectory."""


def counts(episode: Episode) -> bool:
    """Whether anything is learnt from an episode: it is not masked, and saw no answers."""
    return not (episode.masked or episode.leaked)


def termination_reason(episode: Episode) -> str:
    """The reason by which rLLM masks."""
    return "error" if episode.leaked else TERMINATION_REASONS[episode.status]


def rllm_task_id(task_id: str) -> str:
    """A task's id that rLLM does not cut."""
    return quote(task_id, safe="")


def rllm_episode(episode: Episode, *, tokens: bool = True) -> dict[str, Any]:
    """An episode in rLLM's layout.

    Args:
        episode: played by anybody.
        tokens: whether it is to be trained on, for which each turn needs token ids; without, ids may be missing.

    Raises:
        BadInput: a turn has no token ids that needs some, or an unmasked episode has no reward.
    """
    if tokens:
        _need_tokens(episode)
    rollout = Rollout.of_episode(episode)
    if rollout.reward is None and counts(episode):
        raise BadInput(f"episode {episode.id}: no reward, and one missing reward ends rLLM's update")
    return {
        "id": f"{rllm_task_id(episode.task_id)}:{episode.id}",
        "task": {"id": episode.task_id, "hash": episode.task_hash},
        "termination_reason": termination_reason(episode),
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
        "info": {
            "scaffold": episode.scaffold,
            "policy": episode.policy,
            "protocol": episode.protocol,
            "status": episode.status.value,
            "reason": episode.reason,
        },
    }


def _need_tokens(episode: Episode) -> None:
    for turn in episode.turns:
        if turn.tokens is None:
            raise BadInput(
                f"episode {episode.id}, turn {turn.index}: no token ids; play with a policy that reports them"
            )


def _steps(episode: Episode, rewards: Sequence[float]) -> Iterator[dict[str, Any]]:
    chat: list[dict[str, str]] = []
    for turn, reward in zip(episode.turns, rewards, strict=True):
        before = [] if turn.anew else chat
        asked = [{"role": message.role, "content": message.content} for message in turn.messages]
        chat = [*before, *asked, {"role": "assistant", "content": turn.reply}]
        yield _step(turn, chat, reward, done=turn.index == len(episode.turns) - 1)


def _step(turn: Turn, chat: Sequence[dict[str, str]], reward: float, *, done: bool) -> dict[str, Any]:
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
