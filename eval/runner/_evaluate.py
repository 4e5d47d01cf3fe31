"""``aevaluate``: tasks x scaffolds x policies x repeats, bounded many at once, resumable."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.eval.runner._episode import EpisodePlan, run_episode
from sandmle.eval.runner._prepare import Endpoint, Policies, Prepared, may_run_unisolated, prepare, run_record
from sandmle.eval.runs import EpisodeSummary, EvalSettings, Run, RunRecord, RunWriter, open_run, read_run
from sandmle.sandboxes import Capabilities, SandboxBackend, SandboxName, open_backend
from sandmle.settings import get_settings
from sandmle.trajectory import EpisodeStatus, Price

__all__ = ["EpisodeFinished", "RunEvent", "RunLimits", "RunStarted", "RunStopped", "aevaluate"]

_WAITING_PER_CORE = 4
"""Episodes a core where a language model is waited for; only as many steps as cores run at once."""


@dataclass(frozen=True)
class RunStarted:
    """The run has ``total`` episodes, of which those in ``done`` were finished by an earlier command.

    Attributes:
        pairs: scaffold and policy of each row of the report; all have equally many episodes.
        prices: of the models whose tokens have a known price, by name.
    """

    total: int
    done: tuple[EpisodeSummary, ...]
    pairs: tuple[tuple[str, str], ...]
    prices: Mapping[str, Price] = field(default_factory=dict)


@dataclass(frozen=True)
class EpisodeFinished:
    """An episode is on disk."""

    episode: EpisodeSummary


@dataclass(frozen=True)
class RunStopped:
    """The run has used what it may: no further episode is begun, and ``left`` are missing."""

    reason: str
    left: int


@dataclass(frozen=True)
class RunLimits:
    """What a whole run may use. At a limit it lets running episodes finish, and stops; with a larger one it goes on.

    Attributes:
        tokens: of prompts and replies of all episodes in the run's folder, those of failed tries included; None for no
            limit, as for ``seconds``.
        seconds: of this one command.
    """

    tokens: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse what can't work.

        Raises:
            BadInput: a limit is not positive.
        """
        for name, limit in vars(self).items():
            if limit is not None and not limit > 0:
                raise BadInput(f"the run's limit of {name} must be positive, not {limit:g}")

    def reached(self, tokens: int, seconds: float) -> str:
        """Which limit so many tokens and seconds have reached, in words; empty for none."""
        if self.tokens is not None and tokens >= self.tokens:
            return f"the run has used {tokens:,} of {self.tokens:,} tokens"
        if self.seconds is not None and seconds >= self.seconds:
            return f"the run has used its {self.seconds:g} s"
        return ""


RunEvent = RunStarted | EpisodeFinished | RunStopped
OnEvent = Callable[[RunEvent], None]


async def aevaluate(
    settings: EvalSettings,
    out: Path | str,
    *,
    on_event: OnEvent | None = None,
    jobs: int | None = None,
    endpoint: Endpoint | None = None,
    limits: RunLimits | None = None,
    prices: Mapping[str, Price] | None = None,
    allow_unisolated: bool = False,
    sandbox: SandboxName = "local",
) -> Run:
    """Run an evaluation into the folder ``out``, or what is missing of it.

    Episodes that ended in ``infra_error`` are run again. Cancelling stops at once, closes all sandboxes and keeps every
    finished episode; the result is the same for any ``jobs``, and whether or not the run was interrupted.

    Args:
        settings: what to run.
        out: new or empty, or the folder of the same run; ``repeats`` may have grown.
        on_event: called in the event loop for each event; must return quickly.
        jobs: episodes at once; None: one a core, four a core where a language model is waited for, sixteen at E2B, and
            as many as a Ray cluster holds.
        endpoint: of the language models; None for the settings'. Its key is never written anywhere.
        limits: where the run stops before all its episodes are finished; None for nowhere.
        prices: of the models' tokens, by name; they are shown and put into the run's record.
        allow_unisolated: run a language model's code even where this machine offers no isolation.
        sandbox: where code runs: ``local``, ``e2b`` (extra ``e2b``, key in ``E2B_API_KEY``), or ``ray`` (extra ``ray``,
            cluster in ``RAY_ADDRESS``).

    Returns:
        The run as ``read_run`` reads it, finished unless it reached one of its limits.

    Raises:
        BadInput: unknown names, broken tasks, or ``out`` holds another run.
        EnvironmentProblem: no isolation, disk full, a key missing or refused, or every episode failed for reasons of
            infrastructure.
    """
    if jobs is not None and jobs < 1:
        raise BadInput(f"jobs must be at least 1, not {jobs}")
    folder, endpoint = Path(out), endpoint or Endpoint()
    prepared = await asyncio.to_thread(prepare, settings, endpoint)
    unisolated = may_run_unisolated(prepared, allow_unisolated=allow_unisolated)
    backend = open_backend(sandbox, allow_unisolated=unisolated, python=get_settings().python)
    emit = on_event or (lambda _: None)
    async with aclosing(backend):
        found = await asyncio.to_thread(lambda: backend.capabilities)
        record = await asyncio.to_thread(_record, prepared, endpoint, prices, found, unisolated)
        with open_run(folder, record) as writer:
            plans, done = prepared.plans(), writer.done
            pairs = tuple((scaffold, model) for scaffold in settings.scaffolds for model in settings.models)
            known = tuple(done[plan.id] for plan, _ in plans if plan.id in done)
            emit(RunStarted(len(plans), known, pairs, writer.record.prices))
            missing = deque((plan, model) for plan, model in plans if plan.id not in done)
            workers = min(jobs or found.room or _auto_jobs(prepared.policies), len(missing))
            await _work_off(missing, workers, limits or RunLimits(), prepared.policies, backend, writer, emit)
    run = read_run(folder)
    _refuse_all_failed(run)
    return run


def _record(
    prepared: Prepared,
    endpoint: Endpoint,
    prices: Mapping[str, Price] | None,
    found: Capabilities,
    unisolated: bool,
) -> RunRecord:
    """The run's record, once it is certain that its code may run here."""
    if found.tier == "D" and not unisolated:
        raise EnvironmentProblem(
            f"this machine can't isolate the code of a language model ({found.detail}); use another machine, or accept"
            " the risk with --allow-unisolated"
        )
    return run_record(prepared, found.tier, endpoint, prices)


def _auto_jobs(policies: Policies) -> int:
    cores = os.cpu_count() or 1
    return cores * _WAITING_PER_CORE if policies.shared else cores


async def _work_off(
    missing: deque[tuple[EpisodePlan, str]],
    workers: int,
    limits: RunLimits,
    policies: Policies,
    backend: SandboxBackend,
    writer: RunWriter,
    emit: OnEvent,
) -> None:
    """Run the episodes of ``missing`` in order, ``workers`` at once; the first error that needs the user ends all."""
    started = time.monotonic()

    async def work() -> None:
        while missing:
            if reason := limits.reached(writer.tokens, time.monotonic() - started):
                emit(RunStopped(reason, len(missing)))
                missing.clear()
                return
            plan, model = missing.popleft()
            result = await run_episode(plan, policies.make(model, plan.task, plan.repeat), backend)
            summary = writer.add(result.episode, result.submission, result.journal, discarded=result.discarded)
            emit(EpisodeFinished(summary))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(work())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors


def _refuse_all_failed(run: Run) -> None:
    if run.episodes and all(episode.status is EpisodeStatus.INFRA_ERROR for episode in run.episodes):
        raise EnvironmentProblem(
            f"every episode failed for a reason of infrastructure, such as: {run.episodes[0].reason};"
            " mend it and run the same command again"
        )
