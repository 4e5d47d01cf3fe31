"""``sandmle train RECIPE``: recipes for rLLM, composed, checked and started."""

from __future__ import annotations

import json

import typer

from sandmle.errors import BadInput

__all__ = ["run_recipe"]


def run_recipe(
    config: str, changes: dict[str, object], *, dry_run: bool, as_json: bool, allow_unisolated: bool = False
) -> None:
    """Compose a recipe with some fields replaced, tell every fault, and print it for a dry run or start it.

    Raises:
        BadInput: the recipe or what it composes to is wrong; one line a fault.
        EnvironmentProblem: rLLM, verl, vLLM or a GPU is missing, or a stage failed.
    """
    from sandmle.rl.rllm.dry_run import DryRun
    from sandmle.rl.rllm.installed import need_verl
    from sandmle.rl.rllm.recipe import Recipe

    recipe = Recipe.load(config, changes)
    run = DryRun.of(recipe)
    if dry_run:
        typer.echo(json.dumps(run.to_plain(), indent=2) if as_json else run.text())
    if run.faults:
        raise BadInput("\n".join(run.faults))
    if dry_run:
        return
    need_verl()
    from sandmle.rl.rllm.on_verl import start
    from sandmle.rl.rllm.tasks import chosen_tasks

    if "grpo" not in recipe.stages:
        start(recipe, (), ())
        return
    train, validation = chosen_tasks(recipe.tasks, recipe.split, recipe.seed)
    if len(train) < recipe.grpo.batch:
        raise BadInput(f"{recipe.tasks}: {len(train)} training tasks are fewer than a batch of {recipe.grpo.batch}")
    start(recipe, train, validation, allow_unisolated=allow_unisolated)
