"""Tasks as the rows of a dataset of rLLM, and back.

A row's ``id`` is the task's: rLLM plays each row several times under one id, and ids make groups. ``place`` counts the
rows, so that each play of each task has a number of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandmle.errors import BadInput
from sandmle.rl._parquet import load_pyarrow
from sandmle.rl.splits import bare_traits, paper_split, split_of
from sandmle.task import Task, load_tasks

__all__ = ["DATA_SOURCE", "chosen_tasks", "task_of_row", "task_rows", "write_registry"]

DATA_SOURCE = "sandmle"


def task_rows(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """One row a task, in their order."""
    return [
        {
            "id": task.id,
            "instruction": (task.public / "description.md").read_text(encoding="utf-8"),
            "data_source": DATA_SOURCE,
            "place": place,
            "task_hash": task.manifest.content_hash,
            "folder": str(task.root.absolute()),
        }
        for place, task in enumerate(tasks)
    ]


def task_of_row(row: Mapping[str, Any]) -> Task:
    """The task of a row.

    Raises:
        BadInput: the row is none of ours, or its folder holds another task by now.
    """
    try:
        folder, wanted = Path(row["folder"]), row["task_hash"]
    except (KeyError, TypeError) as error:
        raise BadInput("a row of the dataset is no task of sandmle: it has no folder and no task_hash") from error
    task = Task.load(folder)
    if task.manifest.content_hash != wanted:
        raise BadInput(f"{folder}: another task than the dataset was made of; make the dataset anew")
    return task


def chosen_tasks(folder: Path, split: tuple[int, int] | str, seed: int) -> tuple[list[Task], list[Task]]:
    """Training and validation tasks.

    Args:
        folder: of the tasks.
        split: the name of a file in ``splits/`` of the folder, such as ``paper``; or how many tasks of each, drawn at
            random; where there are fewer, so many in the same shares.
        seed: of the random choice.

    Raises:
        BadInput: there is no such split, or it is of other tasks than are there.
    """
    tasks = load_tasks(folder)
    if isinstance(split, str):
        found = split_of(folder, split, tasks)
    else:
        found = paper_split(bare_traits(tasks), seed, sizes=split)
    known = {task.id: task for task in tasks}
    return [known[name] for name in found.train], [known[name] for name in found.validation]


def write_registry(out: Path, splits: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Write rows as the dataset ``sandmle`` of a registry of rLLM's, version 2; ``out`` then serves as RLLM_HOME.

    A row also gets ``prompt`` and ``extra_info``, as readers of verl's tables want them.

    Raises:
        EnvironmentProblem: pyarrow is missing.
    """
    pa, pq = load_pyarrow()
    folder = out / "datasets" / DATA_SOURCE
    folder.mkdir(parents=True)
    told = {}
    for name, rows in splits.items():
        written = [_for_readers(row, place, name) for place, row in enumerate(rows)]
        pq.write_table(pa.Table.from_pylist(written), folder / f"{name}.parquet")
        fields = list(written[0]) if written else []
        told[name] = {"path": f"{DATA_SOURCE}/{name}.parquet", "num_examples": len(rows), "fields": fields}
    entry = {"metadata": {"source": "sandmle", "category": "agent"}, "splits": told}
    registry = {"version": 2, "datasets": {DATA_SOURCE: entry}}
    (out / "datasets" / "registry.json").write_text(json.dumps(registry, indent=2) + "\n", encoding="utf-8")


def _for_readers(row: Mapping[str, Any], place: int, split: str) -> dict[str, Any]:
    prompt = [{"role": "user", "content": row["instruction"]}]
    about = {key: value for key, value in row.items() if key != "instruction"}
    return {**row, "prompt": prompt, "extra_info": {**about, "index": place, "split": split}}
