"""``sandmle suites``: the suites there are, preparing one, and fresh suites by commit and reveal."""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandmle.cli._console import output_console
from sandmle.cli.synthesize import parse_jobs
from sandmle.cli.validity import validity_command
from sandmle.errors import BadInput, NegativeVerdict

if TYPE_CHECKING:
    from sandmle.eval.commitment import Commitment
    from sandmle.eval.suites import Preparation

__all__ = ["app"]

app = typer.Typer(
    name="suites",
    help="List, prepare and show suites; commit to a fresh one, reveal it, verify it.",
    no_args_is_help=True,
)
app.command("validity", epilog="Example: sandmle suites validity tasks --out validity")(validity_command)
CommitmentFile = Annotated[Path, typer.Argument(metavar="COMMITMENT", help="What was published.")]
SecretFile = Annotated[Path, typer.Argument(metavar="SECRET", help="What was kept until the reveal.")]


@app.command("list")
def list_command() -> None:
    """The suites there are, and how many tasks of each lie ready on this machine."""
    from rich.markup import escape
    from rich.table import Table

    from sandmle.eval.suites import suite_kinds

    table = Table("suite", "ready", "what", "prepared by", box=None, pad_edge=False)
    for kind in suite_kinds():
        ready = "-" if kind.place else str(len(kind.prepared()))
        spelled = f"{kind.name}:{kind.place}" if kind.place else kind.name
        table.add_row(*map(escape, (spelled, ready, kind.about, kind.how)))
    output_console().print(table)


@app.command("prepare", epilog="Example: sandmle suites prepare mle-bench-lite --data DATA --checkout mle-bench")
def prepare_command(
    name: Annotated[str, typer.Argument(metavar="SUITE", help="A suite of `sandmle suites list`.")],
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="The benchmark's own prepared data.")
    ] = None,
    checkout: Annotated[
        Path | None, typer.Option("--checkout", metavar="DIR", help="A checkout of the benchmark's code.")
    ] = None,
    grader: Annotated[
        str, typer.Option("--grader", help="sandmle, or original: the benchmark's own code in a process of its own.")
    ] = "sandmle",
) -> None:
    """Turn a suite's data into task folders for `sandmle eval --suite`. Run again, it adds what is new."""
    from sandmle.eval.suites import Sources, get_kind, prepare_suite

    if grader not in ("sandmle", "original"):
        raise BadInput(f"--grader {grader}: it is sandmle or original")
    missing: list[str] = []

    def show(done: Preparation) -> None:
        if done.task is None:
            missing.append(done.name)
        typer.echo(f"{done.name}: {done.reason or 'ready'}", err=True)

    prepare_suite(name, Sources(data, checkout, "original" if grader == "original" else "sandmle"), show)
    kind = get_kind(name)
    typer.echo(f"{kind.folder}: {len(kind.prepared())} tasks" + (f", {len(missing)} missing" if missing else ""))


@app.command("show", epilog="Example: sandmle suites show bundled")
def show_command(
    name: Annotated[str, typer.Argument(metavar="SUITE", help="As for `sandmle eval --suite`.")],
) -> None:
    """The tasks of a suite: what each is about, its metric and its thresholds."""
    from rich.markup import escape
    from rich.table import Table

    from sandmle.eval.suites import load_suite

    table = Table("task", "modality", "problem", "metric", box=None, pad_edge=False)
    for tier in ("median", "bronze", "silver", "gold"):
        table.add_column(tier, justify="right")
    for task in load_suite(name).tasks:
        found = task.manifest
        tiers = found.thresholds.model_dump().values() if found.thresholds else ("-",) * 4
        cells = (
            found.id,
            found.modality,
            found.problem_type,
            found.metric,
            *(f"{tier:.5g}" if found.thresholds else tier for tier in tiers),
        )
        table.add_row(*map(escape, cells))
    output_console().print(table)


@app.command("commit", epilog="Example: sandmle suites commit --n 64 --mix paper --out commitment.json")
def commit_command(
    n: Annotated[int, typer.Option("--n", help="Slots of the suite; each gives a task or none.")] = 64,
    mix: Annotated[str, typer.Option("--mix", metavar="NAME|WEIGHTS", help="Modalities, as in synthesize.")] = "paper",
    seeds: Annotated[
        str, typer.Option("--seeds", metavar="ID,...", help="Seeds that take turns; no folders of your own.")
    ] = "bundled,paper",
    n_train: Annotated[int, typer.Option("--n-train", help="Training rows of a task.")] = 200,
    n_test: Annotated[int | None, typer.Option("--n-test", help="Hidden test rows; by default by kind.")] = None,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The commitment, to be published.")] = Path(
        "commitment.json"
    ),
    secret: Annotated[
        Path | None, typer.Option("--secret", metavar="FILE", help="The secret; by default OUT with .secret.json.")
    ] = None,
    seed_file: Annotated[
        Path | None, typer.Option("--seed-file", metavar="FILE", help="Take the secret seed from FILE; else drawn.")
    ] = None,
) -> None:
    """Draw a secret seed and publish a hash of it with all that fixes the suite; the secret is for you alone."""
    from sandmle.eval.commitment import SuiteSettings, commit, read_seed, write_commitment
    from sandmle.graphs.synthesis import Batch

    batch = Batch.open(out.parent, [seeds], n=n, seed=0, n_train=n_train, n_test=n_test, mix=mix)
    if folders := [name for name in batch.seeds if "/" in name]:
        raise BadInput(f"--seeds: {folders[0]} is a folder of yours, from which nobody else can make the suite again")
    settings = SuiteSettings(n=n, mix=mix, seeds=batch.seeds, n_train=n_train, n_test=n_test)
    kept = secret or out.with_name(f"{out.stem}.secret.json")
    commitment, drawn = commit(settings, read_seed(seed_file) if seed_file else None)
    write_commitment(commitment, out, drawn, kept)
    typer.echo(f"{out}: publish this; it commits to {n} slots with {commitment.hash}")
    typer.echo(f"{kept}: keep this to yourself until the reveal; without it the commitment can't be opened")


@app.command("reveal", epilog="Example: sandmle suites reveal commitment.json commitment.secret.json --run --out tasks")
def reveal_command(
    commitment_file: CommitmentFile,
    secret_file: SecretFile,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder that gets the tasks.")] = Path("tasks"),
    run: Annotated[bool, typer.Option("--run", help="Make the tasks at once.")] = False,
    jobs: Annotated[str, typer.Option("--jobs", metavar="N|auto", help="Sandbox steps at once.")] = "auto",
) -> None:
    """See that the secret is the one that was committed to, and print the command that makes the suite."""
    from sandmle.cli.synthesize import synthesize_command
    from sandmle.eval.commitment import synthesize_arguments

    commitment, seed = _opened(commitment_file, secret_file)
    settings = commitment.settings
    typer.echo(shlex.join(["sandmle", *synthesize_arguments(settings, seed, out)]))
    if run:
        synthesize_command(
            out=out,
            seeds=",".join(settings.seeds),
            mix=settings.mix,
            n=settings.n,
            seed=seed,
            jobs=jobs,
            n_train=settings.n_train,
            n_test=settings.n_test,
        )


@app.command("verify", epilog="Example: sandmle suites verify commitment.json commitment.secret.json --tasks tasks")
def verify_command(
    commitment_file: CommitmentFile,
    secret_file: SecretFile,
    tasks: Annotated[Path, typer.Option("--tasks", metavar="DIR", help="The tasks that are said to be the suite.")],
    sample: Annotated[
        int | None, typer.Option("--sample", metavar="N", min=1, help="Make only N tasks again; by default all.")
    ] = None,
    jobs: Annotated[str, typer.Option("--jobs", metavar="N|auto", help="Sandbox steps at once.")] = "auto",
) -> None:
    """Make the suite again and compare every byte with the tasks in DIR. Exit code 1: they are others."""
    from sandmle.eval.reproduction import open_suite, reproduce

    commitment, seed = _opened(commitment_file, secret_file)
    n, at_once = commitment.settings.n, parse_jobs(jobs)

    def show(task_id: str, same: bool) -> None:
        typer.echo(f"{task_id}: {'the same' if same else 'ANOTHER'}", err=True)

    with tempfile.TemporaryDirectory(prefix="sandmle-suite-") as scratch:
        batch = open_suite(commitment.settings, seed, Path(scratch))
        found = asyncio.run(reproduce(tasks, batch, n, sample=sample, jobs=at_once, on_done=show))
    for line in found.findings:
        typer.echo(f"  {line}")
    if found.findings:
        raise NegativeVerdict(f"{tasks} does not hold the tasks of the commitment")
    what = "all" if sample is None else "a sample of"
    typer.echo(f"{tasks} holds the tasks of the commitment ({what} {found.made} of {n} slots made again)")


def _opened(commitment_file: Path, secret_file: Path) -> tuple[Commitment, int]:
    """The commitment and its seed; a difference in versions is told, since other bytes may come out."""
    from sandmle.eval.commitment import Commitment, Secret, other_versions, reveal

    commitment = Commitment.read(commitment_file)
    seed = reveal(commitment, Secret.read(secret_file))
    typer.echo(f"the secret opens the commitment {commitment.hash}", err=True)
    for line in other_versions(commitment):
        typer.echo(f"warning: {line}: other bytes may come out", err=True)
    return commitment, seed
