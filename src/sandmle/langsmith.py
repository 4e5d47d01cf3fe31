"""Tasks as a dataset in LangSmith: one example a task, with its brief and thresholds, never its answers or its rule.

Runs of the graphs are traced there by LangGraph itself where the environment says ``LANGSMITH_TRACING=true``.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.task import Task

if TYPE_CHECKING:
    from langsmith import Client

__all__ = ["upload_dataset"]

AT_ONCE = 50
"""Examples in one request."""
KEYS = ("LANGSMITH_API_KEY", "LANGCHAIN_API_KEY")


def upload_dataset(
    tasks: Sequence[Task], name: str, *, on_progress: Callable[[int], None] = lambda _: None
) -> tuple[int, int]:
    """Add tasks to the dataset ``name``, which is made if there is none; those that it holds already are left alone.

    Args:
        tasks: what to upload.
        name: of the dataset.
        on_progress: called with how many tasks are there so far.

    Returns:
        How many tasks were added, and how many the dataset held before.

    Raises:
        BadInput: the name is empty, or a task has no readable brief.
        EnvironmentProblem: the environment holds no key, or LangSmith refuses it or can't be reached.
    """
    if not name.strip():
        raise BadInput("the dataset needs a name")
    if not any(os.environ.get(key) for key in KEYS):
        raise EnvironmentProblem(f"{KEYS[0]} is not set; make a key in LangSmith's settings and export it")
    from langsmith import Client

    with _explained():
        client = Client(auto_batch_tracing=False)
        dataset = _dataset_id(client, name)
        examples = {_example_id(dataset, task): task for task in tasks}
        known = {example.id for example in client.list_examples(dataset_id=dataset, select=["id"])}
        fresh = [(place, task) for place, task in examples.items() if place not in known]
        before = len(examples) - len(fresh)
        ready = [_example(place, task) for place, task in fresh]
        for start in range(0, len(ready), AT_ONCE):
            on_progress(before + start)
            client.create_examples(dataset_id=dataset, examples=ready[start : start + AT_ONCE])
        on_progress(len(examples))
    return len(fresh), before


def _dataset_id(client: Client, name: str) -> uuid.UUID:
    if client.has_dataset(dataset_name=name):
        dataset = client.read_dataset(dataset_name=name)
    else:
        dataset = client.create_dataset(name, description="Micro-scale machine-learning tasks made with sandmle.")
    place: uuid.UUID = dataset.id
    return place


def _example_id(dataset: uuid.UUID, task: Task) -> uuid.UUID:
    """The same for the same task in the same dataset, so that an interrupted upload can go on."""
    return uuid.uuid5(dataset, task.id)


def _example(place: uuid.UUID, task: Task) -> dict[str, Any]:
    manifest = task.manifest
    thresholds = manifest.thresholds
    try:
        brief = (task.public / "description.md").read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise BadInput(f"{task.root}: its description.md can't be read ({error})") from error
    return {
        "id": place,
        "inputs": {"task": task.id, "brief": brief},
        "outputs": {
            "metric": manifest.metric,
            "lower_is_better": manifest.lower_is_better,
            "thresholds": thresholds.model_dump(mode="json") if thresholds else None,
        },
        "metadata": {
            "modality": manifest.modality,
            "problem_type": manifest.problem_type,
            "seed": manifest.lineage.seed_id,
            "family": manifest.lineage.seed_family,
            "flags": list(manifest.flags),
        },
    }


@contextmanager
def _explained() -> Iterator[None]:
    """LangSmith's errors in one line each."""
    from langsmith.utils import LangSmithAuthError, LangSmithError

    try:
        yield
    except LangSmithAuthError as error:
        raise EnvironmentProblem(f"LangSmith refuses the key in {KEYS[0]}") from error
    except LangSmithError as error:
        raise EnvironmentProblem(f"LangSmith: {' '.join(str(error).split())[:300]}") from error
