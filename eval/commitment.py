"""Fresh suites by commit and reveal: no model can have memorised them, and nobody can choose them afterwards.

    commit    draw a secret seed and publish a hash of it with everything else that fixes the tasks
    reveal    publish the seed: whoever has the commitment sees that it is the one, and can make the very tasks
    verify    see that a folder holds those tasks (``sandmle.eval.reproduction``)

The hash is SHA-256 over the canonical JSON (sorted keys, no spaces) of generator version, settings, library versions,
secret seed and nonce. The nonce of 256 bits keeps anyone from trying seeds against a published hash.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from pydantic import Field

from sandmle import __version__
from sandmle.errors import BadInput, NegativeVerdict
from sandmle.files import disk_errors, write_text
from sandmle.record import Record, VersionedRecord, sha256_json

__all__ = [
    "MAX_SEED",
    "Commitment",
    "Secret",
    "SuiteSettings",
    "commit",
    "other_versions",
    "read_seed",
    "reveal",
    "synthesize_arguments",
    "write_commitment",
]

MAX_SEED = 2**63
NONCE_BYTES = 32
LIBRARIES = ("numpy", "pandas", "scikit-learn", "scipy", "lightgbm", "pillow")


class SuiteSettings(Record):
    """What ``sandmle synthesize`` is told beside the seed; ``n_test`` None is what suits each kind of task."""

    n: Annotated[int, Field(ge=1)]
    mix: str
    seeds: tuple[str, ...] = Field(min_length=1)
    n_train: int
    n_test: int | None = None


class Commitment(VersionedRecord):
    """``commitment.json``: everything but the secret.

    Attributes:
        generator: version of sandmle.
        settings: of the suite.
        versions: of the libraries that fix its bytes.
        hash: hex SHA-256, see above.
    """

    generator: str
    settings: SuiteSettings
    versions: dict[str, str]
    hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Secret(VersionedRecord):
    """What is kept until the reveal: the seed of the batch, in [0, 2**63), and 64 hex digits of nonce."""

    seed: Annotated[int, Field(ge=0, lt=MAX_SEED)]
    nonce: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def commit(settings: SuiteSettings, seed: int | None = None) -> tuple[Commitment, Secret]:
    """Commit to a suite made with the installed versions.

    Args:
        settings: of the suite.
        seed: the secret seed, in [0, 2**63); drawn from the operating system's source of randomness by default.
    """
    drawn = int.from_bytes(os.urandom(8)) % MAX_SEED if seed is None else seed
    secret = Secret(seed=drawn, nonce=os.urandom(NONCE_BYTES).hex())
    versions = _installed()
    return Commitment(
        generator=__version__,
        settings=settings,
        versions=versions,
        hash=_hash(__version__, settings, versions, secret),
    ), secret


def reveal(commitment: Commitment, secret: Secret) -> int:
    """The seed, if it is the one that was committed to.

    Raises:
        NegativeVerdict: it is not, or the commitment was changed.
    """
    if _hash(commitment.generator, commitment.settings, commitment.versions, secret) != commitment.hash:
        raise NegativeVerdict("the secret does not open the commitment: one of the two is another's or was changed")
    return secret.seed


def _hash(generator: str, settings: SuiteSettings, versions: dict[str, str], secret: Secret) -> str:
    return sha256_json(
        {
            "generator": generator,
            "settings": settings.model_dump(mode="json"),
            "versions": versions,
            "seed": secret.seed,
            "nonce": secret.nonce,
        }
    )


def _installed() -> dict[str, str]:
    return {"python": ".".join(map(str, sys.version_info[:3])), **{name: version(name) for name in LIBRARIES}}


def other_versions(commitment: Commitment) -> list[str]:
    """How this installation differs from that of the commitment, one line a library: other bytes may come out."""
    there = {"sandmle": commitment.generator, **commitment.versions}
    here = {"sandmle": __version__, **_installed()}
    differing = [name for name, number in there.items() if here.get(name) != number]
    return [f"{name} {here.get(name, 'missing')} here, {there[name]} there" for name in differing]


def synthesize_arguments(settings: SuiteSettings, seed: int, out: Path) -> list[str]:
    """The arguments of ``sandmle`` that make the suite in ``out``."""
    given = ["--seeds", ",".join(settings.seeds), "--mix", settings.mix, "--n", str(settings.n), "--seed", str(seed)]
    sizes = ["--n-train", str(settings.n_train)]
    if settings.n_test is not None:
        sizes += ["--n-test", str(settings.n_test)]
    return ["synthesize", "--out", str(out), *given, *sizes]


def read_seed(path: Path) -> int:
    """The secret seed in a file that holds one number.

    Raises:
        BadInput: it can't be read, or holds no number in [0, 2**63).
    """
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError:
        text = ""
    if not text.isdecimal() or len(text) > len(str(MAX_SEED)) or int(text) >= MAX_SEED:
        raise BadInput(f"{path}: holds no whole number from 0 to 2**63 - 1")
    return int(text)


def write_commitment(commitment: Commitment, out: Path, secret: Secret, secret_out: Path) -> None:
    """Write both files, the secret first and readable by its owner alone; neither may be there yet.

    Raises:
        BadInput: one of them is there, or they are one file: a secret that is written over is lost.
        EnvironmentProblem: the disk is full, or a folder can't be written.
    """
    if out.resolve() == secret_out.resolve():
        raise BadInput(f"{out}: the secret would be written over; --secret and --out must be two files")
    for path in (out, secret_out):
        if path.exists():
            raise BadInput(f"{path} is already there; a commitment is never written over: choose another name")
    with disk_errors(secret_out), disk_errors(out):
        secret_out.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(secret_out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(secret.to_text())
            stream.flush()
            os.fsync(stream.fileno())
        write_text(out, commitment.to_text())
