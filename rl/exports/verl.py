"""verl's tables.

OUT/rl.parquet    one row a task and scaffold: data_source, prompt, ability, reward_model, extra_info
OUT/sft.parquet   one row a conversation: messages, extra_info; verl learns from every reply in it
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandmle.errors import BadInput
from sandmle.rl._parquet import load_pyarrow
from sandmle.rl.exports._conversations import conversations
from sandmle.rl.exports._selection import Selection
from sandmle.trajectory import Episode

__all__ = ["ABILITY", "write"]

ABILITY = "machine-learning-engineering"

_ROWS = 256
"""Rows written at once."""


def write(episodes: Iterator[Episode], out: Path, selection: Selection) -> None:
    """See ``sandmle.rl.exports._export.Layout``."""
    if not selection.learn_failed_steps:
        raise BadInput("verl learns from every reply of a conversation; use --format sft to leave failed steps out")
    pa, _ = load_pyarrow()
    messages = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
    names = ("task_id", "task_hash", "scaffold", "protocol", "split")
    of_task = [("index", pa.int64()), *((name, pa.string()) for name in names)]
    of_episode = [*of_task, ("episode", pa.string()), ("policy", pa.string()), ("reward", pa.float64())]
    model = pa.struct([("style", pa.string()), ("ground_truth", pa.string())])
    prompts = [("data_source", pa.string()), ("prompt", messages), ("ability", pa.string()), ("reward_model", model)]
    of_rl = pa.schema([*prompts, ("extra_info", pa.struct(of_task))])
    of_sft = pa.schema([("messages", messages), ("extra_info", pa.struct(of_episode))])
    with _Table(of_rl, out / "rl.parquet") as rl, _Table(of_sft, out / "sft.parquet") as sft:
        known: dict[tuple[str, str], int] = {}
        for episode in episodes:
            place = known.setdefault((episode.task_hash, episode.scaffold), len(known))
            about = _about(episode, place)
            if place == rl.rows:
                rl.add(_prompt(episode, about))
            for row in conversations(episode):
                said = [each.model_dump() for each in row.messages]
                sft.add({"messages": said, "extra_info": about | _played(episode)})


def _about(episode: Episode, place: int) -> dict[str, Any]:
    return {
        "index": place,
        "task_id": episode.task_id,
        "task_hash": episode.task_hash,
        "scaffold": episode.scaffold,
        "protocol": episode.protocol,
        "split": "train",
    }


def _played(episode: Episode) -> dict[str, Any]:
    reward = episode.reward.total if episode.reward else None
    return {"episode": episode.id, "policy": episode.policy, "reward": reward}


def _prompt(episode: Episode, about: dict[str, Any]) -> dict[str, Any]:
    return {
        "data_source": "sandmle",
        "prompt": [each.model_dump() for each in episode.turns[0].messages],
        "ability": ABILITY,
        "reward_model": {"style": "rule", "ground_truth": episode.task_id},
        "extra_info": about,
    }


class _Table:
    """A Parquet file that grows by some rows at a time."""

    def __init__(self, schema: Any, path: Path) -> None:  # noqa: ANN401 - pyarrow's, which is optional
        self._pa, pq = load_pyarrow()
        self._schema = schema
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")
        self._waiting: list[dict[str, Any]] = []
        self.rows = 0

    def __enter__(self) -> _Table:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        self._writer.close()

    def add(self, row: dict[str, Any]) -> None:
        self._waiting.append(row)
        self.rows += 1
        if len(self._waiting) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(self._pa.Table.from_pylist(self._waiting, schema=self._schema))
        self._waiting = []
