"""An episode, and as ``rllm_episode.json`` the record that it becomes; test_live reads it with rLLM's classes."""

from pathlib import Path

from sandmle.rl.rewards import get_preset, score_episode
from sandmle.trajectory import MASKED_STATUSES, Action, Episode, EpisodeStatus, Message, TokenFields, Turn

GOLDEN = Path(__file__).with_name("rllm_episode.json")


def turn(index: int, prompt: tuple[int, ...], reply: tuple[int, ...], **fields) -> Turn:
    tokens = TokenFields(prompt_ids=prompt, completion_ids=reply, logprobs=(-0.5,) * len(reply))
    plain = {"action": Action(kind="python", code="print(1)"), "format_ok": True, "weight_version": 2, "tokens": tokens}
    return Turn(
        index=index, messages=(Message(role="user", content=f"ask {index}"),), reply=f"reply {index}", **plain | fields
    )


def played(status: EpisodeStatus = EpisodeStatus.ANSWERED, **fields) -> Episode:
    """Three turns, the second a reply that nobody could read, the third prompted anew."""
    turns = (
        turn(0, (1, 2), (3, 4)),
        turn(1, (1, 2, 3, 4, 5), (6,), action=None, format_ok=False),
        turn(2, (1, 9), (7, 8), anew=True),
    )
    reward = score_episode([each.format_ok for each in turns], None, get_preset("paper"))
    plain = {"task_id": "rocks-1a2b", "repeat": 3, "turns": turns, "reward": reward}
    if status in MASKED_STATUSES:
        plain["reward"] = None
    plain |= {"id": "e" * 16, "task_hash": "h", "scaffold": "react", "policy": "p", "protocol": "train"}
    return Episode(status=status, **plain | fields)
