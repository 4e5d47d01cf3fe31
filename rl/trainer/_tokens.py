"""The rows that updates learnt from, as NumPy archives that are never written to again.

Not Parquet: pandas imports pyarrow wherever it is installed, and its threads and its memory would then be those of
every sandbox that shares this environment.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sandmle.files import disk_errors, write_bytes
from sandmle.rl.types import Group

__all__ = ["write_rows"]


def write_rows(out: Path, update: int, groups: Sequence[Group]) -> Path:
    """Write ``tokens/part-NNNNNN.npz``: the rows of all rollouts of an update, one after the other.

    Arrays with an entry a row: task, rollout, reward (nan where none is known), masked, row (its place in the rollout),
    weight_version, length. Arrays with an entry a token, ``length`` of them a row: token_ids, turns, mask,
    sampler_logprobs.

    Raises:
        EnvironmentProblem: the disk is full.
    """
    found = [
        (group.task_id, rollout, place, row)
        for group in groups
        for rollout in group.rollouts
        for place, row in enumerate(rollout.rows)
    ]
    tokens: dict[str, Any] = {
        name: np.concatenate([getattr(row, name) for *_, row in found]) if found else np.zeros(0)
        for name in ("token_ids", "turns", "mask", "sampler_logprobs")
    }
    written = io.BytesIO()
    np.savez_compressed(
        written,
        task=np.array([task for task, *_ in found], dtype=np.str_),
        rollout=np.array([rollout.id for _, rollout, *_ in found], dtype=np.str_),
        reward=np.array([np.nan if rollout.reward is None else rollout.reward for _, rollout, *_ in found]),
        masked=np.array([rollout.mask_reason is not None for _, rollout, *_ in found], dtype=np.bool_),
        row=np.array([place for *_, place, _ in found], dtype=np.int64),
        weight_version=np.array([row.weight_version for *_, row in found], dtype=np.int64),
        length=np.array([len(row) for *_, row in found], dtype=np.int64),
        **tokens,
    )
    path = out / "tokens" / f"part-{update:06d}.npz"
    with disk_errors(out):
        write_bytes(path, written.getvalue())
    return path
