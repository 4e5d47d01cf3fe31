"""``sandmle synthesize``: make tasks from seeds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sandmle.cli._words import spell_cost

if TYPE_CHECKING:
    from sandmle.graphs.synthesis import Batch, Progress, SlotRecord
    from sandmle.sandboxes import SandboxName

__all__ = ["make_tasks", "parse_jobs", "synthesize_command"]

DEFAULT_SEEDS = "breast-cancer,wine,iris,digits,diabetes"


def synthesize_command(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder that gets the tasks.")] = Path("tasks"),
    seeds: Annotated[
        str | None,
        typer.Option(
            "--seeds",
            metavar="ID,...",
            help=f"Seeds in turn: ids, folders, paper, bundled, all. Default: {DEFAULT_SEEDS} (paper too with --mix).",
            show_default=False,
        ),
    ] = None,
    mix: Annotated[
        str,
        typer.Option("--mix", metavar="NAME|WEIGHTS", help="Modalities: seed, paper, even, or such as image=2,text=1."),
    ] = "seed",
    n: Annotated[int, typer.Option("--n", help="Tasks to make, from 1; a larger number extends a batch.")] = 8,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the batch, from 0: fixes every byte.")] = 0,
    jobs: Annotated[str, typer.Option("--jobs", metavar="N|auto", help="Sandbox steps at once.")] = "auto",
    n_train: Annotated[int, typer.Option("--n-train", help="Training rows of a task, 50 to 1000.")] = 200,
    n_test: Annotated[
        int | None,
        typer.Option("--n-test", help="Hidden test rows, 500 to 20000; by default what suits the kind of task."),
    ] = None,
    team: Annotated[
        str,
        typer.Option(
            "--team",
            metavar="NAME|ROLES|FILE",
            help="Who plays the roles: procedural, llm, paper, local-vllm, a .toml file, or such as writer=llm.",
        ),
    ] = "procedural",
    strictness: Annotated[
        Literal["standard", "discoverable"],
        typer.Option("--strictness", help="discoverable drops tasks whose rule the search does not find."),
    ] = "standard",
    replies: Annotated[
        Path | None,
        typer.Option(
            "--replies", metavar="DIR", help="Remembered replies of language models; by default inside --out."
        ),
    ] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Use remembered replies only; send no request to a model.")
    ] = False,
    sandbox: Annotated[
        Literal["local", "ray"],
        typer.Option("--sandbox", "--executor", help="Where scripts run: here, or in a Ray cluster (extra ray)."),
    ] = "local",
) -> None:
    """Make verified tasks. The same command goes on with an interrupted batch; equal settings give equal bytes."""
    from sandmle.graphs.synthesis import Batch

    at_once = None if jobs == "auto" else parse_jobs(jobs)
    chosen = seeds or (DEFAULT_SEEDS if mix == "seed" else f"{DEFAULT_SEEDS},paper")
    batch = Batch.open(
        out,
        [chosen],
        n=n,
        seed=seed,
        n_train=n_train,
        n_test=n_test,
        mix=mix,
        team=team,
        strictness=strictness,
        replies=replies,
        offline=offline,
    )
    try:
        records = make_tasks(batch, n, at_once, sandbox)
    except KeyboardInterrupt:
        typer.echo(f"stopped; finished tasks are in {out}: the same command goes on from there", err=True)
        raise typer.Exit(130) from None
    _print_yield(records, out)
    if any(record.task_id for record in records):
        from sandmle.graphs.synthesis.card import write_card

        typer.echo(f"dataset card: {write_card(out)}")


def parse_jobs(text: str) -> int:
    """The number behind ``--jobs``; ``auto`` is one per core.

    Raises:
        BadInput: neither a positive number nor ``auto``.
    """
    import os

    from sandmle.errors import BadInput

    if text == "auto":
        return os.cpu_count() or 1
    if not text.isdecimal() or int(text) < 1:
        raise BadInput(f"--jobs: give a number from 1 or auto, not {text!r}")
    return int(text)


def make_tasks(batch: Batch, n: int, jobs: int | None, sandbox: SandboxName = "local") -> list[SlotRecord]:
    """Settle ``n`` slots with live progress on standard error."""
    from sandmle.cli._synthesis_progress import synthesis_progress
    from sandmle.graphs.synthesis import synthesize

    async def settle(on_progress: Callable[[Progress], None]) -> list[SlotRecord]:
        records = synthesize(batch, n, jobs=jobs, on_progress=on_progress, sandbox=sandbox)
        return [record async for record in records]

    with synthesis_progress(n) as on_progress:
        return asyncio.run(settle(on_progress))


def _print_yield(records: list[SlotRecord], out: Path) -> None:
    kept = sum(record.outcome == "published" for record in records)
    drawn = sum(record.candidates for record in records)
    typer.echo(f"{kept} tasks in {out}; yield {kept}/{drawn} candidates ({100 * kept / drawn:.0f} %)")
    if tokens := sum(record.tokens for record in records):
        money = sum(record.money for record in records)
        typer.echo(f"language models: {spell_cost(tokens, money)}")
    for record in records:
        for rejection in record.rejections:
            typer.echo(f"  rejected candidate {rejection.candidate} at {rejection.stage}: {rejection.reason}")
        if record.outcome == "discarded":
            typer.echo(f"  slot {record.slot} gave no task: all {record.candidates} draws were rejected")
