"""The rows that updates learnt from, as Parquet files that are never written to again."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from sandmle.files import disk_errors, write_bytes
from sandmle.rl._parquet import load_pyarrow
from sandmle.rl.types import Group

__all__ = ["drop_rows_after", "write_rows"]


def drop_rows_after(out: Path, update: int) -> None:
    """Remove the rows of later updates, and what a killed process left half written."""
    for path in (out / "tokens").glob("*part-*"):
        if path.name.startswith(".") or int(path.stem.removeprefix("part-")) > update:
            path.unlink()


def write_rows(out: Path, update: int, groups: Sequence[Group]) -> Path:
    """Write ``tokens/part-NNNNNN.parquet``: one line a row of a rollout.

    Columns: task, rollout, reward, masked, row (its place in the rollout), weight_version, and the lists token_ids,
    turns, mask and sampler_logprobs, of one length each.

    Raises:
        EnvironmentProblem: the disk is full, or the extra ``train`` is not installed.
    """
    pa, pq = load_pyarrow()
    lines = [
        {
            "task": group.task_id,
            "rollout": rollout.id,
            "reward": rollout.reward,
            "masked": rollout.mask_reason is not None,
            "row": place,
            "weight_version": row.weight_version,
            "token_ids": row.token_ids.tolist(),
            "turns": row.turns.tolist(),
            "mask": row.mask.tolist(),
            "sampler_logprobs": row.sampler_logprobs.tolist(),
        }
        for group in groups
        for rollout in group.rollouts
        for place, row in enumerate(rollout.rows)
    ]
    schema = pa.schema(
        [
            ("task", pa.string()),
            ("rollout", pa.string()),
            ("reward", pa.float64()),
            ("masked", pa.bool_()),
            ("row", pa.int32()),
            ("weight_version", pa.int64()),
            ("token_ids", pa.list_(pa.int64())),
            ("turns", pa.list_(pa.int64())),
            ("mask", pa.list_(pa.bool_())),
            ("sampler_logprobs", pa.list_(pa.float64())),
        ]
    )
    written = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(lines, schema=schema), written, compression="zstd")
    path = out / "tokens" / f"part-{update:06d}.parquet"
    with disk_errors(out):
        write_bytes(path, written.getvalue())
    return path
