"""``sandmle train RECIPE``: recipes for rLLM, composed and checked."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from sandmle.errors import BadInput, EnvironmentProblem

__all__ = ["is_recipe", "run_recipe"]


def is_recipe(config: str) -> bool:
    """Whether a name or path is that of a recipe for rLLM, not of a config of the embedded trainer."""
    from sandmle.rl.rllm.recipe import bundled_recipes

    if config in bundled_recipes():
        return True
    path = Path(config)
    return path.is_file() and 'trainer = "rllm"' in path.read_text(encoding="utf-8", errors="replace").splitlines()


def run_recipe(config: str, changes: dict[str, object], *, dry_run: bool, as_json: bool) -> None:
    """Compose a recipe with some fields replaced, print it for a dry run, and tell every fault.

    Raises:
        BadInput: the recipe or what it composes to is wrong; one line a fault.
        EnvironmentProblem: more than a dry run was asked for.
    """
    from sandmle.rl.rllm.dry_run import DryRun
    from sandmle.rl.rllm.recipe import Recipe

    run = DryRun.of(Recipe.load(config, changes))
    if dry_run:
        typer.echo(json.dumps(run.to_plain(), indent=2) if as_json else run.text())
    if run.faults:
        raise BadInput("\n".join(run.faults))
    if not dry_run:
        raise EnvironmentProblem(
            f"{config} is a recipe for rLLM and verl, which sandmle does not start itself yet: --dry-run checks it and"
            " prints the settings that their own command lines take"
        )
