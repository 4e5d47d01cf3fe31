"""``sandmle suites``: fresh suites by commit and reveal."""

from __future__ import annotations

import asyncio
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandmle.cli.synthesize import parse_jobs
from sandmle.errors import BadInput, NegativeVerdict

if TYPE_CHECKING:
    from sandmle.eval.commitment import Commitment

__all__ = ["app"]

app = typer.Typer(name="suites", help="Fresh suites: commit to one, reveal it, verify it.", no_args_is_help=True)
CommitmentFile = Annotated[Path, typer.Argument(metavar="COMMITMENT", help="What was published.")]
SecretFile = Annotated[Path, typer.Argument(metavar="SECRET", help="What was kept until the reveal.")]


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
