"""``sandmle eval``: run policies on a suite, then print the report."""

from __future__ import annotations

import asyncio
import gc
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sandmle.cli.serve import while_served
from sandmle.cli.synthesize import parse_jobs
from sandmle.errors import BadInput

if TYPE_CHECKING:
    from sandmle.sandboxes import SandboxName
    from sandmle.trajectory import Protocol

__all__ = ["eval_command"]


def eval_command(
    suite: Annotated[
        str, typer.Option("--suite", metavar="SUITE", help="Tasks: synthetic:DIR, or a name of `sandmle suites list`.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="RUN", help="Run folder; an unfinished one is resumed.")],
    models: Annotated[
        list[str],
        typer.Option("--model", metavar="NAME", help="A policy: openai:NAME or scripted:NAME; may be repeated."),
    ] = [],  # noqa: B006 - typer copies it
    served: Annotated[
        str | None,
        typer.Option(
            "--serve",
            metavar="MODEL",
            help="Serve this policy's folder (with vLLM also a hub's name) meanwhile, and evaluate it too.",
        ),
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", help="With --serve: embedded (extra train), or vllm (extra vllm).")
    ] = "embedded",
    serve_options: Annotated[
        str, typer.Option("--serve-options", metavar="TEXT", help="With --serve: options of `sandmle serve`, quoted.")
    ] = "",
    scaffolds: Annotated[
        list[str],
        typer.Option("--scaffold", metavar="NAME", help="An agent loop: react, mle-agent, aide; may be repeated."),
    ] = ["react"],  # noqa: B006 - typer copies it
    repeats: Annotated[int, typer.Option("--repeats", metavar="K", help="Episodes of each policy on a task.")] = 1,
    protocol: Annotated[
        str, typer.Option("--protocol", help="What the agent learns about its score: clean, train, paper or dojo.")
    ] = "clean",
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
    prompt_tokens: Annotated[
        int | None,
        typer.Option("--prompt-tokens", min=1, metavar="N", help="Tokens of one prompt, by default 32768."),
    ] = None,
    episode_seconds: Annotated[
        float | None,
        typer.Option("--episode-seconds", metavar="S", help="Seconds of an episode in the model and its code."),
    ] = None,
    episode_tokens: Annotated[
        int | None,
        typer.Option("--episode-tokens", min=1, metavar="N", help="Tokens of an episode; then it ends."),
    ] = None,
    run_tokens: Annotated[
        int | None,
        typer.Option(
            "--run-tokens", min=1, metavar="N", help="Tokens of the run; it stops there, and goes on with more."
        ),
    ] = None,
    run_seconds: Annotated[
        float | None, typer.Option("--run-seconds", metavar="S", help="After so long no further episode is begun.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", metavar="URL", help="An OpenAI-compatible endpoint.")
    ] = None,
    requests_per_minute: Annotated[
        float | None, typer.Option("--requests-per-minute", metavar="N", help="At most so many go to the endpoint.")
    ] = None,
    tokens_per_minute: Annotated[
        float | None, typer.Option("--tokens-per-minute", metavar="N", help="The same for tokens, replies included.")
    ] = None,
    prices: Annotated[
        list[str],
        typer.Option(
            "--price",
            metavar="MODEL=IN,OUT",
            help="Money for a million tokens of prompts and of replies, to show the cost; may be repeated.",
        ),
    ] = [],  # noqa: B006 - typer copies it
    sandbox: Annotated[
        str,
        typer.Option(
            "--sandbox",
            "--executor",
            metavar="NAME",
            help="Where code runs: local, e2b (extra e2b) or ray (extra ray).",
        ),
    ] = "local",
    allow_unisolated: Annotated[
        bool,
        typer.Option("--allow-unisolated", help="Run a language model's code even where nothing shuts it in."),
    ] = False,
) -> None:
    """Run policies on a suite of tasks and print the report. The same command resumes an interrupted run.

    --serve MODEL starts a server of a checkpoint on a free port, evaluates it as openai:NAME, and stops it, whatever
    happens; NAME tells its weights, so that a run never goes on with others.

    Exit code 3 where a limit of the run (--run-tokens, --run-seconds) left episodes unfinished.
    """
    from sandmle.api import aevaluate
    from sandmle.cli._progress import eval_progress
    from sandmle.cli.report import print_report

    if served is None and not models:
        raise BadInput("no policy: give --model NAME, or --serve with a policy's folder")
    if served is not None and base_url is not None:
        raise BadInput("--serve and --base-url: one run has one endpoint; serve the model, or give its address")
    play = partial(
        aevaluate,
        suite=suite,
        out=out,
        scaffolds=scaffolds,
        repeats=repeats,
        protocol=cast("Protocol", protocol),
        reward=reward,
        seed=seed,
        temperature=temperature,
        turns=turns,
        step_seconds=step_seconds,
        prompt_tokens=prompt_tokens,
        episode_seconds=episode_seconds,
        episode_tokens=episode_tokens,
        run_tokens=run_tokens,
        run_seconds=run_seconds,
        jobs=None if jobs == "auto" else parse_jobs(jobs),
        requests_per_minute=requests_per_minute,
        tokens_per_minute=tokens_per_minute,
        prices=dict(map(_price, prices)),
        sandbox=cast("SandboxName", sandbox),
        allow_unisolated=allow_unisolated,
    )
    try:
        with eval_progress() as on_event:
            shown = partial(play, on_event=on_event)
            if served is None:
                report = asyncio.run(shown(models=models, base_url=base_url))
            else:
                report = asyncio.run(
                    while_served(
                        served,
                        engine,
                        serve_options,
                        lambda url, name: shown(
                            models=[*models, f"openai:{name}"], base_url=url, endpoint_name=f"sandmle serve, {engine}"
                        ),
                    )
                )
    except KeyboardInterrupt:
        typer.echo(f"stopped; every finished episode is in {out}: the same command goes on from there", err=True)
        gc.freeze()  # the interpreter's last collection walks every object of every library: seconds on a busy machine
        raise typer.Exit(130) from None
    print_report(report)
    if report.episodes < report.expected:
        raise typer.Exit(3)  # a limit of the run was reached


def _price(text: str) -> tuple[str, tuple[float, float]]:
    """The model and its prices in ``MODEL=IN,OUT``.

    Raises:
        BadInput: it is not of that form.
    """
    model, _, amounts = text.rpartition("=")
    try:
        prompts, replies = map(float, amounts.split(","))
    except ValueError:
        raise BadInput(f"--price {text}: write MODEL=IN,OUT, such as openai:NAME=0.25,2") from None
    return model, (prompts, replies)
