"""``export_tasks``: a folder of tasks as a dataset to train on elsewhere.

rllm    OUT/datasets/registry.json, OUT/datasets/sandmle/{train,validation}.parquet: the rows that ``sandmle train``
        gives rLLM; OUT serves as RLLM_HOME
verl    OUT/{train,validation}.parquet: data_source, prompt, ability, reward_model, extra_info (the same rows)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from sandmle.errors import BadInput
from sandmle.files import disk_errors, publish_folder, scratch_folder
from sandmle.rl._parquet import load_pyarrow
from sandmle.rl.exports.verl import ABILITY
from sandmle.rl.rllm.tasks import DATA_SOURCE, chosen_tasks, task_rows, write_registry
from sandmle.task import load_tasks

__all__ = ["TaskLayout", "export_tasks"]

TaskLayout = Literal["rllm", "verl"]
_Splits = Mapping[str, Sequence[Mapping[str, Any]]]


def export_tasks(folder: Path, out: Path, layout: TaskLayout, split: str | None = None) -> dict[str, int]:
    """Write tasks as a dataset.

    Args:
        folder: of the tasks, which must stay where it is: rows name it.
        out: a new folder, or one that holds nothing.
        layout: whose dataset.
        split: name of a file in ``splits/`` of ``folder``; None for one split, ``train``, of all tasks.

    Returns:
        Tasks by split.

    Raises:
        BadInput: no such tasks or split, or ``out`` is in use.
        EnvironmentProblem: the disk is full, or pyarrow is missing.
    """
    load_pyarrow()
    if split is None:
        splits = {"train": task_rows(load_tasks(folder))}
    else:
        train, validation = chosen_tasks(folder, split, seed=0)
        splits = {"train": task_rows(train), "validation": task_rows(validation)}
    with disk_errors(out):
        if out.exists() and any(out.iterdir()):
            raise BadInput(f"{out}: not empty; choose a new folder")
        with scratch_folder(out.parent) as scratch:
            inside = scratch / out.name
            inside.mkdir()
            _WRITERS[layout](inside, splits)
            publish_folder(inside, out)
    return {name: len(rows) for name, rows in splits.items()}


def _write_verl(out: Path, splits: _Splits) -> None:
    pa, pq = load_pyarrow()
    for name, rows in splits.items():
        pq.write_table(pa.Table.from_pylist([_verl_row(row, name) for row in rows]), out / f"{name}.parquet")


def _verl_row(row: Mapping[str, Any], split: str) -> dict[str, Any]:
    about = {key: value for key, value in row.items() if key != "instruction"}
    return {
        "data_source": DATA_SOURCE,
        "prompt": [{"role": "user", "content": row["instruction"]}],
        "ability": ABILITY,
        "reward_model": {"style": "rule", "ground_truth": row["id"]},
        "extra_info": {**about, "index": row["place"], "split": split},
    }


_WRITERS: Mapping[TaskLayout, Callable[[Path, _Splits], None]] = {"rllm": write_registry, "verl": _write_verl}
