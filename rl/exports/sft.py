"""Chat messages for supervised fine-tuning: JSON lines, and for each message whether it is learnt from.

OUT/conversations.jsonl   messages (role, content), loss (one 0 or 1 a message), episode, task, policy, scaffold, reward
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from sandmle.rl.exports._conversations import conversations
from sandmle.rl.exports._selection import Selection
from sandmle.trajectory import Episode

__all__ = ["write"]


def write(episodes: Iterator[Episode], out: Path, selection: Selection) -> None:
    """See ``sandmle.rl.exports._export.Layout``; conversations with nothing to learn from are left out."""
    with (out / "conversations.jsonl").open("w", encoding="utf-8") as stream:
        for episode in episodes:
            about = {
                "episode": episode.id,
                "task": episode.task_id,
                "policy": episode.policy,
                "scaffold": episode.scaffold,
                "reward": episode.reward.total if episode.reward else None,
            }
            for row in conversations(episode, learn_failed_steps=selection.learn_failed_steps):
                if any(row.learnt):
                    messages = [message.model_dump() for message in row.messages]
                    line = {"messages": messages, "loss": [int(each) for each in row.learnt], **about}
                    stream.write(json.dumps(line, ensure_ascii=False) + "\n")
