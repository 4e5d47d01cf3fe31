"""rLLM's records: one file an episode, and its tasks as a dataset of rLLM's registry. ``OUT`` serves as RLLM_HOME.

OUT/episodes/NNNNNN.json             what ``rllm.types.Episode.from_dict`` reads
OUT/datasets/registry.json           version 2 of the registry
OUT/datasets/sandmle/train.parquet   one row a task and scaffold: id, instruction, data_source and what tells it apart

rLLM parses an episode's id as ``task:rollout``; a colon in a task's id becomes ``%3A``, or tasks would be merged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sandmle.errors import BadInput
from sandmle.rl._parquet import load_pyarrow
from sandmle.rl.exports._selection import Selection
from sandmle.rl.rllm.records import TERMINATION_REASONS, rllm_step
from sandmle.trajectory import Episode, Message

__all__ = ["episode_record", "write"]


def write(episodes: Iterator[Episode], out: Path, selection: Selection) -> None:
    """See ``sandmle.rl.exports._export.Layout``."""
    if not selection.learn_failed_steps:
        raise BadInput("rLLM's records hold no mask for single replies; use --format sft to leave failed steps out")
    pa, pq = load_pyarrow()
    (out / "episodes").mkdir()
    tasks: dict[str, dict[str, Any]] = {}
    for number, episode in enumerate(episodes):
        text = json.dumps(episode_record(episode), ensure_ascii=False, indent=1)
        (out / "episodes" / f"{number:06d}.json").write_text(text + "\n", encoding="utf-8")
        row = _task(episode)
        tasks.setdefault(row["id"], row)
    table = out / "datasets" / "sandmle" / "train.parquet"
    table.parent.mkdir(parents=True)
    rows = list(tasks.values())
    pq.write_table(pa.Table.from_pylist(rows), table)
    fields = list(rows[0]) if rows else []
    split = {"path": "sandmle/train.parquet", "num_examples": len(rows), "fields": fields}
    entry = {"metadata": {"source": "sandmle", "category": "agent"}, "splits": {"train": split}}
    registry = {"version": 2, "datasets": {"sandmle": entry}}
    (out / "datasets" / "registry.json").write_text(json.dumps(registry, indent=2) + "\n", encoding="utf-8")


def episode_record(episode: Episode) -> dict[str, Any]:
    """An episode as rLLM's ``Episode``: one trajectory, one step a model call."""
    reward = episode.reward.total if episode.reward else None
    steps = list(_steps(episode, reward or 0.0))
    task = {"id": episode.task_id, "hash": episode.task_hash, "scaffold": episode.scaffold}
    trajectory = {
        "uid": episode.id,
        "name": episode.scaffold,
        "task": task,
        "steps": steps,
        "reward": reward,
        "info": {"policy": episode.policy, "status": episode.status.value},
    }
    return {
        "id": f"{quote(episode.task_id, safe='')}:{episode.id}",
        "task": task,
        "termination_reason": TERMINATION_REASONS[episode.status],
        "is_correct": episode.grade is not None and episode.grade.medal is not None,
        "session_id": None,
        "trajectories": [trajectory],
        "metrics": dict(episode.reward.parts) if episode.reward else {},
        "info": {"protocol": episode.protocol, "reason": episode.reason},
    }


def _steps(episode: Episode, reward: float) -> Iterator[dict[str, Any]]:
    said: list[Message] = []
    for turn in episode.turns:
        said = [*([] if turn.anew else said), *turn.messages, Message(role="assistant", content=turn.reply)]
        last = turn is episode.turns[-1]
        chat = [message.model_dump() for message in said]
        yield rllm_step(turn, chat, reward if last else 0.0, done=last)


def _task(episode: Episode) -> dict[str, Any]:
    opening = episode.turns[0].messages
    return {
        "id": f"{quote(episode.task_id, safe='')}/{episode.scaffold}",
        "instruction": "\n\n".join(message.content for message in opening),
        "data_source": "sandmle",
        "task_id": episode.task_id,
        "task_hash": episode.task_hash,
        "scaffold": episode.scaffold,
        "protocol": episode.protocol,
    }
