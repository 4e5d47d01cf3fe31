"""``sandmle eval``: run policies on a suite, then print the report."""

from __future__ import annotations

import asyncio
import gc
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sandmle.eval.runner import EvalSettings
    from sandmle.eval.runs import Run

__all__ = ["eval_command"]


class _Protocol(StrEnum):
    CLEAN = "clean"
    TRAIN = "train"
    PAPER = "paper"
    DOJO = "dojo"


def eval_command(
    suite: Annotated[str, typer.Option("--suite", metavar="KIND:WHERE", help="Tasks: synthetic:DIR.")],
    models: Annotated[
        list[str],
        typer.Option("--model", metavar="NAME", help="A policy: openai:NAME or scripted:NAME; may be repeated."),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="RUN", help="Run folder; an unfinished one is resumed.")],
    scaffolds: Annotated[
        list[str], typer.Option("--scaffold", metavar="NAME", help="An agent loop; may be repeated.")
    ] = ["react"],  # noqa: B006 - typer copies it
    repeats: Annotated[int, typer.Option("--repeats", metavar="K", help="Episodes of each policy on a task.")] = 1,
    protocol: Annotated[
        _Protocol, typer.Option("--protocol", help="What the agent learns about its score.")
    ] = _Protocol.CLEAN,
    reward: Annotated[str, typer.Option("--reward", help="Reward preset: paper, released or sparse.")] = "paper",
    jobs: Annotated[str, typer.Option("--jobs", metavar="N|auto", help="Episodes at once.")] = "auto",
    seed: Annotated[int, typer.Option("--seed", help="Root of every random draw.")] = 0,
    temperature: Annotated[float, typer.Option("--temperature", help="Of a language model's sampling.")] = 1.0,
    turns: Annotated[
        int | None, typer.Option("--turns", help="Model calls an episode; by default the task's limit.")
    ] = None,
    step_seconds: Annotated[
        float | None, typer.Option("--step-seconds", help="Seconds a run of code; by default the task's limit.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", metavar="URL", help="An OpenAI-compatible endpoint.")
    ] = None,
    allow_unisolated: Annotated[
        bool,
        typer.Option("--allow-unisolated", help="Run a language model's code even where nothing shuts it in."),
    ] = False,
) -> None:
    """Run policies on a suite of tasks and print the report. The same command resumes an interrupted run."""
    from sandmle.cli.report import print_report
    from sandmle.eval.report import summarize
    from sandmle.settings import get_settings

    settings = _settings(
        suite=suite,
        models=tuple(models),
        scaffolds=tuple(scaffolds),
        repeats=repeats,
        protocol=protocol.value,
        reward=reward,
        seed=seed,
        temperature=temperature,
        budget={"turns": turns, "step_seconds": step_seconds},
    )
    run = _run(settings, out, _jobs(jobs), base_url, allow_unisolated or get_settings().allow_unisolated)
    print_report(summarize([run]))


def _settings(**values: object) -> EvalSettings:
    from pydantic import ValidationError

    from sandmle.errors import BadInput
    from sandmle.eval.runner import EvalSettings
    from sandmle.record import first_problem

    try:
        return EvalSettings.model_validate(values)
    except ValidationError as error:
        raise BadInput(f"eval: {first_problem(error)}") from error


def _jobs(text: str) -> int | None:
    from sandmle.errors import BadInput

    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise BadInput(f"--jobs: give a number from 1 or auto, not {text!r}")
    return int(text)


def _run(settings: EvalSettings, out: Path, jobs: int | None, base_url: str | None, allow_unisolated: bool) -> Run:
    """Evaluate with live progress; Ctrl-C cancels the run, which closes its sandboxes, and tells how to go on."""
    from sandmle.cli._progress import eval_progress
    from sandmle.eval.runner import aevaluate

    try:
        with eval_progress() as on_event:
            return asyncio.run(
                aevaluate(
                    settings, out, on_event=on_event, jobs=jobs, base_url=base_url, allow_unisolated=allow_unisolated
                )
            )
    except KeyboardInterrupt:
        typer.echo(f"stopped; every finished episode is in {out}: the same command goes on from there", err=True)
        gc.freeze()  # the interpreter's last collection walks every object of every library: seconds on a busy machine
        raise typer.Exit(130) from None
