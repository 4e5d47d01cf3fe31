"""The Python API: what the command line does, as functions.

    for task in sandmle.generate_tasks(["iris", "wine"], n=8, out="tasks", seed=0): ...
    report = sandmle.evaluate(suite="synthetic:tasks", models=["scripted:linear"], out="run")
    sandmle.grade("tasks/<id>", "submission.csv").score

The sync forms work inside a running event loop (Jupyter) too: they then run in a thread of their own.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from sandmle.errors import BadInput
from sandmle.grades import GradeReport
from sandmle.record import first_problem
from sandmle.task import Task

if TYPE_CHECKING:
    from sandmle.eval.report import Report
    from sandmle.graphs.synthesis import Progress

__all__ = ["aevaluate", "agenerate_tasks", "evaluate", "generate_tasks", "grade"]

T = TypeVar("T")


async def agenerate_tasks(
    seeds: Sequence[str],
    n: int,
    *,
    out: Path | str = "tasks",
    seed: int = 0,
    jobs: int | None = None,
    n_train: int = 200,
    n_test: int = 2000,
    on_progress: Callable[[Progress], None] | None = None,
) -> AsyncIterator[Task]:
    """Make tasks from seeds and yield each when it is published, in order; an interrupted batch goes on.

    Args:
        seeds: ids of seeds or paths of seed folders; they take turns.
        n: slots of the batch, >= 1; each gives a task unless all its draws are rejected.
        out: folder that gets the tasks.
        seed: seed of the batch, >= 0; with equal settings it fixes every byte.
        jobs: sandbox steps at once; by default one per core.
        n_train: training rows of a task, 50 to 1,000.
        n_test: hidden test rows of a task, 500 to 20,000.
        on_progress: called for every node of the graph that ends.

    Raises:
        BadInput: something given can't be used; says what.
        EnvironmentProblem: the disk is full, or ``out`` can't be written.
    """
    from sandmle.graphs.synthesis import Batch, SynthesisContext, synthesize

    if n < 1:
        raise BadInput(f"n must be at least 1, not {n}")
    try:
        context = SynthesisContext(batch_seed=seed, n_train=n_train, n_test=n_test)
    except ValidationError as error:
        raise BadInput(first_problem(error)) from error
    batch = Batch(Path(out), seeds, context)
    report = on_progress or (lambda _: None)
    async for record in synthesize(batch, n, jobs=jobs or os.cpu_count() or 1, on_progress=report):
        if record.task_id is not None:
            yield batch.task(record)


def generate_tasks(seeds: Sequence[str], n: int, **options: Any) -> Iterator[Task]:  # noqa: ANN401 - as above
    """``agenerate_tasks`` as an iterator; same arguments. Closing it early stops the batch, which can be resumed."""
    return _iterate(lambda: agenerate_tasks(seeds, n, **options))


async def aevaluate(
    *,
    suite: str,
    models: Sequence[str],
    out: Path | str,
    scaffolds: Sequence[str] = ("react",),
    repeats: int = 1,
    protocol: str = "clean",
    reward: str = "paper",
    seed: int = 0,
    temperature: float = 1.0,
    jobs: int | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    allow_unisolated: bool = False,
) -> Report:
    """Run policies on a suite and return the report; an interrupted run goes on.

    Args:
        suite: such as ``synthetic:DIR``.
        models: such as ``scripted:linear`` or ``openai:NAME``.
        out: run folder.
        scaffolds: agent loops.
        repeats: episodes of each policy on each task.
        protocol: ``clean``, ``train``, ``paper`` or ``dojo``.
        reward: ``paper``, ``released`` or ``sparse``.
        seed: root of every random draw.
        temperature: of a language model's sampling.
        jobs: episodes at once; chosen by default.
        base_url: address of an OpenAI-compatible endpoint.
        api_key: its key; by default ``OPENAI_API_KEY``.
        allow_unisolated: run a language model's code where nothing shuts it in.

    Raises:
        BadInput: something given can't be used; says what.
        EnvironmentProblem: no isolation here, the disk is full, or the endpoint is down.
    """
    from sandmle.eval.report import summarize
    from sandmle.eval.runner import EvalSettings
    from sandmle.eval.runner import aevaluate as run

    try:
        settings = EvalSettings.model_validate(
            {
                "suite": suite,
                "models": tuple(models),
                "scaffolds": tuple(scaffolds),
                "repeats": repeats,
                "protocol": protocol,
                "reward": reward,
                "seed": seed,
                "temperature": temperature,
            }
        )
    except ValidationError as error:
        raise BadInput(f"evaluate: {first_problem(error)}") from error
    options = {"jobs": jobs, "base_url": base_url, "api_key": api_key, "allow_unisolated": allow_unisolated}
    return summarize([await run(settings, out, **options)])  # type: ignore[arg-type]


def evaluate(**options: Any) -> Report:  # noqa: ANN401 - as above
    """``aevaluate`` for callers that are not async; same arguments."""
    return _run(aevaluate(**options))


def grade(task: Path | str | Task, submission: Path | str) -> GradeReport:
    """Grade a submission file.

    Raises:
        BadInput: the task can't be read. A bad submission is a report with an ``error``, never an exception.
    """
    from sandmle.eval.grading import grade_submission

    return grade_submission(task if isinstance(task, Task) else Task.load(Path(task)), Path(submission))


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where an event loop is running already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    box: list[T | BaseException] = []

    def target() -> None:
        try:
            box.append(asyncio.run(work))
        except BaseException as error:  # noqa: BLE001 - carried to the caller's thread
            box.append(error)

    thread = threading.Thread(target=target, name="sandmle")
    thread.start()
    thread.join()
    if isinstance(box[0], BaseException):
        raise box[0]
    return box[0]


def _iterate(make: Callable[[], AsyncIterator[T]]) -> Iterator[T]:
    """An async iterator as a plain one: it runs in a thread of its own and is one item ahead at most."""
    items: queue.Queue[tuple[T] | BaseException | None] = queue.Queue(maxsize=1)
    loop = asyncio.new_event_loop()

    async def feed() -> None:
        try:
            async for item in make():
                await asyncio.to_thread(items.put, (item,))
            await asyncio.to_thread(items.put, None)
        except Exception as error:  # noqa: BLE001 - carried to the caller's thread
            await asyncio.to_thread(items.put, error)

    task = loop.create_task(feed())

    def target() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(task)
        except asyncio.CancelledError:
            pass
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    thread = threading.Thread(target=target, name="sandmle", daemon=True)
    thread.start()
    try:
        while (item := items.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item[0]
    finally:
        if thread.is_alive():
            loop.call_soon_threadsafe(task.cancel)
            while thread.is_alive():
                try:
                    items.get(timeout=0.05)
                except queue.Empty:
                    thread.join(0.05)
