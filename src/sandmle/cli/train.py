"""``sandmle train``: make a policy better."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sandmle.cli.experiment import run_experiment

if TYPE_CHECKING:
    from sandmle.rl.config_files import Kind
    from sandmle.rl.trainer import TrainSettings

__all__ = ["train_command"]

Trainer = Literal["sandmle", "rllm"]
Backend = Literal["local", "verl"]


def train_command(
    config: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG",
            help="A TOML file, or what comes with sandmle: tiny-cpu, smollm2-135m; demo-cpu; qwen3-8b, -14b, -30b-a3b.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="The training's folder; resumed where unfinished.",
            show_default="an experiment's name",
        ),
    ] = None,
    tasks: Annotated[
        Path | None, typer.Option("--tasks", metavar="DIR", help="Tasks to train on, in place of the config's.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", min=0, help="In place of the config's.")] = None,
    updates: Annotated[
        int | None,
        typer.Option("--updates", min=1, help="In place of the config's; may grow later, but not in an experiment."),
    ] = None,
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
    trainer: Annotated[
        Trainer | None,
        typer.Option("--trainer", help="Whose loop of updates.", show_default="rllm for a recipe, else sandmle"),
    ] = None,
    backend: Annotated[
        Backend | None,
        typer.Option(
            "--backend",
            help="Of rLLM's trainer. verl: on GPUs, from a recipe; local: our own, on this machine, from a config.",
            show_default="verl for a recipe, else local",
        ),
    ] = None,
) -> None:
    """Train a policy: imitation of episodes, then reinforcement. The same command resumes an interrupted training.

    `demo-cpu` is the learning demo: it makes tasks and demonstrations, trains, and measures on held-out tasks.
    """
    from sandmle.errors import BadInput
    from sandmle.rl.config_files import kind_of
    from sandmle.rl.trainer import TrainSettings

    kind = kind_of(config)
    _refuse_combination(config, kind, trainer, backend)
    _refuse_strange(config, kind, controls=controls, recipe=recipe is not None, as_json=as_json)
    changes = _given(tasks=tasks, seed=seed, grpo=updates and {"updates": updates})
    if kind == "recipe":
        from sandmle.cli._recipes import run_recipe

        changes |= _given(out=out, recipe=recipe)
        run_recipe(config, changes, dry_run=dry_run, as_json=as_json, allow_unisolated=allow_unisolated)
        return
    if kind == "experiment":
        run_experiment(
            config,
            out or Path(Path(config).stem),
            seeds=None if seed is None else (seed,),
            tasks=tasks,
            controls=controls,
            allow_unisolated=allow_unisolated,
            updates=updates,
            dry_run=dry_run,
        )
        return
    if updates is not None and TrainSettings.load(config).grpo is None:
        raise BadInput(f"--updates: {config} has no [grpo]")
    settings = TrainSettings.load(config, changes)
    if dry_run:
        typer.echo(settings.model_dump_json(indent=2))
        return
    if out is None:
        raise BadInput("--out DIR is missing: the folder of the training")
    _train(settings, out, trainer or "sandmle", allow_unisolated)


def _given(**options: object) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None}


def _refuse_strange(config: str, kind: Kind, **given: bool) -> None:
    """Refuse options that another kind of file takes."""
    from sandmle.errors import BadInput

    takers: dict[str, tuple[Kind, str]] = {
        "controls": ("experiment", "an experiment, as demo-cpu is"),
        "recipe": ("recipe", "a recipe for rLLM, as qwen3-8b is"),
        "as_json": ("recipe", "a recipe for rLLM, as qwen3-8b is"),
    }
    for name in (name for name, is_given in given.items() if is_given and kind != takers[name][0]):
        raise BadInput(f"--{name.removeprefix('as_')}: {config} is not {takers[name][1]}")


def _refuse_combination(config: str, kind: Kind, trainer: Trainer | None, backend: Backend | None) -> None:
    from sandmle.errors import BadInput

    if kind == "recipe" and (trainer == "sandmle" or backend == "local"):
        raise BadInput(f"{config} is a recipe for rLLM's trainer on verl; --backend local takes a config of ours")
    if backend == "verl" and kind != "recipe":
        raise BadInput(f"--backend verl takes a recipe, such as qwen3-8b, and {config} is none")
    if backend == "local" and trainer != "rllm":
        raise BadInput("--backend is one of rLLM's trainer: --trainer rllm")
    if kind == "experiment" and trainer == "rllm":
        raise BadInput(f"{config} is an experiment, which our own trainer makes")


def _train(settings: TrainSettings, out: Path, trainer: Trainer, allow_unisolated: bool) -> None:
    from sandmle.api import atrain
    from sandmle.cli._train_progress import train_progress

    try:
        with train_progress() as show:
            policy = asyncio.run(
                atrain(settings, out=out, trainer=trainer, allow_unisolated=allow_unisolated, on_step=show)
            )
    except KeyboardInterrupt:
        typer.echo(f"stopped; the same command goes on from what is finished in {out}", err=True)
        gc.freeze()
        raise typer.Exit(130) from None
    typer.echo(f"{policy}: the trained policy; `sandmle serve {policy}` lets scaffolds use it")
