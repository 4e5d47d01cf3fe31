"""rLLM's records: one file an episode, and its tasks as a dataset of rLLM's registry. ``OUT`` serves as RLLM_HOME.

OUT/episodes/NNNNNN.json             what ``rllm.types.Episode.from_dict`` reads
OUT/datasets/registry.json           version 2 of the registry
OUT/datasets/sandmle/train.parquet   one row a task: id, instruction (of its first episode), data_source and more
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandmle.errors import BadInput
from sandmle.rl._parquet import load_pyarrow
from sandmle.rl.exports._selection import Selection
from sandmle.rl.rllm.records import rllm_episode, rllm_task_id
from sandmle.rl.rllm.tasks import DATA_SOURCE, write_registry
from sandmle.trajectory import Episode

__all__ = ["write"]


def write(episodes: Iterator[Episode], out: Path, selection: Selection) -> None:
    """See ``sandmle.rl.exports._export.Layout``."""
    if not selection.learn_failed_steps:
        raise BadInput("rLLM's records hold no mask for single replies; use --format sft to leave failed steps out")
    load_pyarrow()
    (out / "episodes").mkdir()
    tasks: dict[str, dict[str, Any]] = {}
    for number, episode in enumerate(episodes):
        text = json.dumps(rllm_episode(episode, tokens=False), ensure_ascii=False, indent=1)
        (out / "episodes" / f"{number:06d}.json").write_text(text + "\n", encoding="utf-8")
        row = _task(episode)
        tasks.setdefault(row["id"], row)
    write_registry(out, {"train": list(tasks.values())})


def _task(episode: Episode) -> dict[str, Any]:
    opening = episode.turns[0].messages
    return {
        "id": rllm_task_id(episode.task_id),
        "instruction": "\n\n".join(message.content for message in opening),
        "data_source": DATA_SOURCE,
        "task_id": episode.task_id,
        "task_hash": episode.task_hash,
        "scaffold": episode.scaffold,
        "protocol": episode.protocol,
    }
