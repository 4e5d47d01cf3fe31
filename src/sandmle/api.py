"""The Python API: what the command line does, as functions.

    for task in sandmle.generate_tasks(["iris", "wine"], n=8, out="tasks", seed=0): ...
    report = sandmle.evaluate(suite="synthetic:tasks", models=["scripted:linear"], out="run")
    sandmle.grade("tasks/<id>", "submission.csv").score
    policy = sandmle.train("tiny-cpu", out="training", tasks="tasks")

The sync forms work inside a running event loop (Jupyter) too: they then run in a thread of their own.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pydantic import ValidationError

from sandmle.background import as_iterator, blocking
from sandmle.errors import BadInput
from sandmle.grades import GradeReport
from sandmle.record import first_problem
from sandmle.task import Task
from sandmle.trajectory import Price, Protocol

if TYPE_CHECKING:
    from sandmle.eval.report import Report
    from sandmle.eval.runner import RunEvent
    from sandmle.graphs.synthesis import Batch, Progress, SlotRecord, Strictness
    from sandmle.rl.trainer import TrainSettings
    from sandmle.rl.trainer.training import StepDone, TrainerName
    from sandmle.sandboxes import SandboxName

__all__ = ["aevaluate", "agenerate_tasks", "atrain", "evaluate", "generate_tasks", "grade", "train"]


def agenerate_tasks(
    seeds: Sequence[str],
    n: int,
    *,
    out: Path | str = "tasks",
    seed: int = 0,
    jobs: int | None = None,
    n_train: int = 200,
    n_test: int | None = None,
    mix: str = "seed",
    team: str = "procedural",
    strictness: Strictness = "standard",
    replies: Path | str | None = None,
    offline: bool = False,
    sandbox: SandboxName = "local",
    on_progress: Callable[[Progress], None] | None = None,
) -> AsyncGenerator[Task, None]:
    """Make tasks from seeds and yield each when it is published, in order; an interrupted batch goes on.

    Args:
        seeds: ids of seeds or paths of seed folders; they take turns.
        n: slots of the batch, >= 1; each gives a task unless all its draws are rejected.
        out: folder that gets the tasks.
        seed: seed of the batch, >= 0; with equal settings it fixes every byte.
        jobs: sandbox steps at once, >= 1; by default one per core, or as many as a Ray cluster holds.
        n_train: training rows of a task, 50 to 1,000.
        n_test: hidden test rows of a task, 500 to 20,000; None for what suits its kind (2,000 for tables).
        mix: modalities: ``seed``, ``paper``, ``even``, or weights such as ``image=2,tabular=1``.
        team: who plays the roles: ``procedural``, ``llm``, ``paper``, ``local-vllm``, the path of a ``.toml`` file, or
            roles such as ``strategist=llm,writer=openai:NAME``.
        strictness: ``discoverable`` drops tasks whose rule the search does not find; ``standard`` flags them.
        replies: folder of the remembered replies of language models; None for one inside ``out``.
        offline: use remembered replies only; one that is missing is an EnvironmentProblem.
        sandbox: where scripts run: ``local``, or ``ray`` (extra ``ray``, cluster in ``RAY_ADDRESS``).
        on_progress: called for every node of the graph that ends.

    Raises:
        BadInput: something given can't be used; says what. Raised at the call, but for what only the work itself shows.
        EnvironmentProblem: the disk is full, or ``out`` can't be written.
    """
    from sandmle.graphs.synthesis import Batch

    if jobs is not None and jobs < 1:
        raise BadInput(f"jobs must be at least 1, not {jobs}")
    batch = Batch.open(
        Path(out),
        seeds,
        n=n,
        seed=seed,
        n_train=n_train,
        n_test=n_test,
        mix=mix,
        team=team,
        strictness=strictness,
        replies=Path(replies) if replies else None,
        offline=offline,
    )
    return _published(batch, n, jobs, sandbox, on_progress or (lambda _: None))


async def _published(
    batch: Batch, n: int, jobs: int | None, sandbox: SandboxName, on_progress: Callable[[Progress], None]
) -> AsyncGenerator[Task, None]:
    from sandmle.graphs.synthesis import synthesize

    made = synthesize(batch, n, jobs=jobs, on_progress=on_progress, sandbox=sandbox)
    records = cast("AsyncGenerator[SlotRecord, None]", made)
    async with aclosing(records):
        async for record in records:
            if record.task_id is not None:
                yield batch.task(record)


generate_tasks = as_iterator(
    agenerate_tasks,
    "``agenerate_tasks`` as an iterator; same arguments. Closing it early stops the batch, which can be resumed.",
)


async def aevaluate(
    *,
    suite: str,
    models: Sequence[str],
    out: Path | str,
    scaffolds: Sequence[str] = ("react",),
    repeats: int = 1,
    protocol: Protocol = "clean",
    reward: str = "paper",
    seed: int = 0,
    temperature: float = 1.0,
    turns: int | None = None,
    step_seconds: float | None = None,
    prompt_tokens: int | None = None,
    episode_seconds: float | None = None,
    episode_tokens: int | None = None,
    run_tokens: int | None = None,
    run_seconds: float | None = None,
    jobs: int | None = None,
    base_url: str | None = None,
    endpoint_name: str | None = None,
    api_key: str | None = None,
    requests_per_minute: float | None = None,
    tokens_per_minute: float | None = None,
    prices: Mapping[str, tuple[float, float]] | None = None,
    allow_unisolated: bool = False,
    sandbox: SandboxName = "local",
    on_event: Callable[[RunEvent], None] | None = None,
) -> Report:
    """Run policies on a suite and return the report; an interrupted run goes on.

    Args:
        suite: such as ``synthetic:DIR``.
        models: such as ``scripted:linear`` or ``openai:NAME``.
        out: run folder.
        scaffolds: agent loops: ``react``, ``mle-agent``, ``aide``.
        repeats: episodes of each policy on each task, >= 1.
        protocol: ``clean``, ``train``, ``paper`` or ``dojo``.
        reward: ``paper``, ``released`` or ``sparse``.
        seed: root of every random draw, >= 0.
        temperature: of a language model's sampling, 0 to 2.
        turns: model calls an episode; by default the task's limit.
        step_seconds: wall seconds a run of code; by default the task's limit.
        prompt_tokens: tokens of one prompt, by default 32,768; older parts of a conversation are left out to keep it.
        episode_seconds: in the model and in the agent's code; by default an hour, or all turns' steps if that is more.
        episode_tokens: prompts and replies of an episode, which then ends; by default no limit, as for all that follow.
        run_tokens: the same of the whole run, which then stops; with a larger limit it goes on.
        run_seconds: after so many seconds the run begins no further episode.
        jobs: episodes at once, >= 1; chosen by default.
        base_url: address of an OpenAI-compatible endpoint; by default that of the settings.
        endpoint_name: what the run's record calls the endpoint, if its address is another one each time.
        api_key: its key; by default that of the settings.
        requests_per_minute: sent to the endpoint, of all episodes together; by default no limit of our own.
        tokens_per_minute: the same for tokens of prompts and replies.
        prices: money for a million tokens of prompts and of replies, by model.
        allow_unisolated: run a language model's code where nothing shuts it in.
        sandbox: where code runs: ``local``, ``e2b`` (extra ``e2b``, key in ``E2B_API_KEY``), or ``ray`` (extra ``ray``,
            cluster in ``RAY_ADDRESS``).
        on_event: called in the event loop for each event of the run; must return quickly.

    Raises:
        BadInput: something given can't be used; says what.
        EnvironmentProblem: no isolation here, the disk is full, or the endpoint is down.
    """
    from sandmle.eval.report import summarize
    from sandmle.eval.runner import BudgetSettings, Endpoint, EvalSettings, RunLimits
    from sandmle.eval.runner import aevaluate as play

    try:
        settings = EvalSettings(
            suite=suite,
            models=tuple(models),
            scaffolds=tuple(scaffolds),
            repeats=repeats,
            protocol=protocol,
            reward=reward,
            seed=seed,
            temperature=temperature,
            budget=BudgetSettings(
                turns=turns,
                step_seconds=step_seconds,
                prompt_tokens=prompt_tokens,
                tokens=episode_tokens,
                wall_seconds=episode_seconds,
            ),
        )
        priced = {name: Price(input=prompts, output=replies) for name, (prompts, replies) in (prices or {}).items()}
    except ValidationError as error:
        raise BadInput(first_problem(error)) from error
    finished = await play(
        settings,
        out,
        on_event=on_event,
        jobs=jobs,
        endpoint=Endpoint(base_url, api_key, requests_per_minute, tokens_per_minute, endpoint_name),
        limits=RunLimits(run_tokens, run_seconds),
        prices=priced,
        allow_unisolated=allow_unisolated,
        sandbox=sandbox,
    )
    return summarize([finished])


evaluate = blocking(
    aevaluate,
    "``aevaluate`` for callers that are not async; same arguments. Ctrl-C stops the run, which can be resumed.",
)


def grade(task: Path | str | Task, submission: Path | str) -> GradeReport:
    """Grade a submission file.

    Raises:
        BadInput: the task can't be read. A bad submission is a report with an ``error``, never an exception.
    """
    from sandmle.eval.grading import grade_submission

    return grade_submission(task if isinstance(task, Task) else Task.load(Path(task)), Path(submission))


async def atrain(
    config: Path | str | TrainSettings,
    *,
    out: Path | str,
    tasks: Path | str | None = None,
    seed: int | None = None,
    updates: int | None = None,
    trainer: TrainerName = "sandmle",
    allow_unisolated: bool = False,
    on_step: Callable[[StepDone], None] | None = None,
) -> Path:
    """Train a policy and return its folder; an interrupted training goes on. Needs the extra ``train``.

    Args:
        config: a ``TrainSettings``, the path of a TOML file, or the name of a bundled one, such as ``tiny-cpu``.
        out: the training's folder.
        tasks: folder of the tasks to train on, in place of the config's; so ``seed`` and ``updates``, which may grow.
        seed: root of every random draw, >= 0.
        updates: in all, >= 1; the config must have a ``[grpo]``.
        trainer: whose loop of updates: ``sandmle``, or ``rllm`` where rLLM is installed.
        allow_unisolated: run the policy's code where nothing shuts it in.
        on_step: called in the event loop after each step; must return quickly.

    Raises:
        BadInput: something given can't be used; says what.
        EnvironmentProblem: the extra is missing, no isolation here, or the disk is full.
    """
    settings = _training(config, updates, tasks=tasks, seed=seed)
    if trainer == "rllm":
        from sandmle.rl.rllm.installed import need_rllm

        need_rllm()
    from sandmle.rl.trainer.training import atrain as play

    phase = None
    if trainer == "rllm":
        from sandmle.rl.rllm.local import Unified

        phase = Unified()
    show = on_step or (lambda _: None)
    return await play(
        settings, Path(out), on_step=show, allow_unisolated=allow_unisolated, reinforce=phase, trainer=trainer
    )


def _training(config: Path | str | TrainSettings, updates: int | None, **options: object) -> TrainSettings:
    """The settings of a training: those of ``config``, with the options that are not None in place of its own."""
    from sandmle.rl.trainer import GrpoSettings, TrainSettings

    settings = config if isinstance(config, TrainSettings) else TrainSettings.load(str(config))
    given = {**dict(settings), **{name: value for name, value in options.items() if value is not None}}
    try:
        if updates is not None:
            if settings.grpo is None:
                raise BadInput("updates: the config has no [grpo]")
            given["grpo"] = GrpoSettings.model_validate({**dict(settings.grpo), "updates": updates})
        return TrainSettings.model_validate(given)
    except ValidationError as error:
        raise BadInput(first_problem(error)) from error


train = blocking(
    atrain,
    "``atrain`` for callers that are not async; same arguments. Ctrl-C stops the training, which can be resumed.",
)
