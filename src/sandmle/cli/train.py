"""``sandmle train`` and ``sandmle serve``: make a policy better, and let others use it."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import Annotated

import typer

from sandmle.cli.experiment import run_experiment

__all__ = ["serve_command", "train_command"]


def train_command(
    config: Annotated[
        str,
        typer.Argument(metavar="CONFIG", help="A TOML file, or the name of a bundled config, experiment or recipe."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="The training's folder; resumed where unfinished.",
            show_default="the name of a bundled experiment",
        ),
    ] = None,
    tasks: Annotated[
        Path | None, typer.Option("--tasks", metavar="DIR", help="Tasks to train on, in place of the config's.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="In place of the config's.")] = None,
    updates: Annotated[int | None, typer.Option("--updates", help="In place of the config's; may grow later.")] = None,
    controls: Annotated[
        bool, typer.Option("--controls", help="With an experiment such as demo-cpu: also its control arms.")
    ] = False,
    allow_unisolated: Annotated[
        bool, typer.Option("--allow-unisolated", help="Run the policy's code even where nothing shuts it in.")
    ] = False,
    recipe: Annotated[
        str | None, typer.Option("--recipe", metavar="NAME", help="Of a recipe for rLLM: seed-sft, sandmle or sft+rl.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print and check the whole configuration, on a machine without GPU.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --dry-run: print JSON.")] = False,
) -> None:
    """Train a policy: imitation of episodes, then reinforcement. The same command resumes an interrupted training.

    `demo-cpu` is the learning demo: it makes tasks and demonstrations, trains, and measures on held-out tasks.
    """
    from sandmle.cli._recipes import is_recipe, run_recipe
    from sandmle.cli._train_progress import train_progress
    from sandmle.errors import BadInput
    from sandmle.rl.experiments import bundled_experiments
    from sandmle.rl.trainer import TrainSettings

    if is_recipe(config):
        changes = {"tasks": tasks, "seed": seed, "out": out, "recipe": recipe, "grpo": updates and {"updates": updates}}
        run_recipe(config, {k: v for k, v in changes.items() if v is not None}, dry_run=dry_run, as_json=as_json)
        return
    if config in bundled_experiments():
        run_experiment(
            config,
            out or Path(config),
            seeds=None if seed is None else (seed,),
            tasks=tasks,
            controls=controls,
            allow_unisolated=allow_unisolated,
            updates=updates,
        )
        return
    if controls:
        raise BadInput(f"--controls: {config} is no experiment; those are {', '.join(bundled_experiments())}")
    settings = TrainSettings.load(config)
    if recipe is not None:
        raise BadInput(f"--recipe: {config} is no recipe for rLLM")
    if dry_run:
        typer.echo(settings.model_dump_json(indent=2))
        return
    if out is None:
        raise BadInput("--out DIR is missing: the folder of the training")
    from sandmle.rl.trainer.training import atrain  # PyTorch takes seconds; a wrong config is told at once

    given: dict[str, object] = {name: value for name, value in (("tasks", tasks), ("seed", seed)) if value is not None}
    if updates is not None:
        if settings.grpo is None:
            raise BadInput(f"--updates: {config} has no [grpo]")
        given["grpo"] = settings.grpo.model_copy(update={"updates": updates})
    try:
        with train_progress() as show:
            policy = asyncio.run(
                atrain(settings.model_copy(update=given), out, on_step=show, allow_unisolated=allow_unisolated)
            )
    except KeyboardInterrupt:
        typer.echo(f"stopped; the same command goes on from the last checkpoint in {out}", err=True)
        gc.freeze()
        raise typer.Exit(130) from None
    typer.echo(f"{policy}: the trained policy; `sandmle serve {policy}` lets scaffolds use it")


def serve_command(
    policy: Annotated[
        Path, typer.Argument(metavar="POLICY", help="A policy's folder, such as DIR/policy of a training.")
    ],
    host: Annotated[str, typer.Option("--host", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen at.")] = 8000,
    device: Annotated[str, typer.Option("--device", help="cpu, or such as cuda.")] = "cpu",
    dtype: Annotated[str, typer.Option("--dtype", help="Of the weights: float32, bfloat16.")] = "float32",
    seed: Annotated[int, typer.Option("--seed", help="Root of every random draw.")] = 0,
) -> None:
    """Serve a policy as an OpenAI-compatible endpoint with token ids and log-probabilities."""
    from sandmle.rl.checkpoints import load_policy
    from sandmle.rl.serve import serve

    loaded = load_policy(policy, device=device, dtype=dtype)
    typer.echo(f"http://{host}:{port}/v1: try `sandmle eval --model openai:policy --base-url http://{host}:{port}/v1`")
    serve(loaded, "policy", host=host, port=port, seed=seed)
