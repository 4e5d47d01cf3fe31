"""Where the parts of a released task lie, in the authors' bundle or in an export of ours.

    <id>/prepared/public/     description.md, sample_submission.csv, data; theirs also evaluator.py and answer.csv
    <id>/prepared/private/    ours: answers.csv
    <id>/evaluator/           ours: evaluator.py

Beside the tasks may lie ``ok_competitions_sanity.json``, the ids that passed the authors' own checks, and
``SHA256SUMS``.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandmle.agents.observation import plain_text
from sandmle.errors import BadInput
from sandmle.eval.export import LISTED, SUMS
from sandmle.eval.imports._record import Refused
from sandmle.files import hash_tree

__all__ = ["Bundle", "broken_sums", "copy_public", "find_bundles", "open_bundle"]

EVALUATORS = ("evaluator/evaluator.py", "prepared/public/evaluator.py")
ANSWERS = ("prepared/private/answers.csv", "prepared/public/answer.csv")
NEEDED = ("description.md", "sample_submission.csv", "test.csv")


@dataclass(frozen=True)
class Bundle:
    """One task of a bundle; ``evaluator`` and ``answers`` are paths below ``root``."""

    root: Path
    evaluator: str
    answers: str

    @property
    def id(self) -> str:
        """Its name in the bundle."""
        return self.root.name

    @property
    def task_id(self) -> str:
        """Its name as a task of ours."""
        return _task_id(self.root)

    @property
    def public(self) -> Path:
        """Its public folder, in which evaluator and answers may lie too."""
        return self.root / "prepared" / "public"

    @property
    def open_secrets(self) -> tuple[str, ...]:
        """What must be hidden, but lies among the public files."""
        return tuple(name for name in (self.evaluator, self.answers) if name.startswith("prepared/public/"))

    def public_files(self) -> Iterator[Path]:
        """What an agent may see, sorted."""
        hidden = {self.root / name for name in self.open_secrets}
        yield from (path for path in sorted(self.public.rglob("*")) if path.is_file() and path not in hidden)


def find_bundles(folder: Path) -> list[Path]:
    """The tasks in ``folder``, or the one that it is; only those that its ``ok_competitions_sanity.json`` lists.

    Raises:
        BadInput: there are none, two would be the same task of ours, or the list can't be read.
    """
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder")
    folder = folder.resolve()
    if (folder / "prepared" / "public").is_dir():
        return [folder]
    found = sorted(path.parent.parent for path in folder.glob("[!.]*/prepared/public"))
    if not found:
        raise BadInput(f"{folder}: no task in the released layout (no <id>/prepared/public)")
    if (folder / LISTED).is_file():
        listed = _listed(folder / LISTED)
        found = [path for path in found if path.name in listed]
        if not found:
            raise BadInput(f"{folder / LISTED} lists none of the tasks beside it")
    known: dict[str, Path] = {}
    for path in found:
        if (other := known.setdefault(_task_id(path), path)) != path:
            raise BadInput(f"{other} and {path} would both be the task {_task_id(path)}; rename one")
    return found


def _listed(path: Path) -> set[str]:
    try:
        return set(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, RecursionError) as error:
        raise BadInput(f"{path}: not a JSON list of ids") from error


def _task_id(root: Path) -> str:
    return re.sub(r"[^a-z0-9]+", "-", root.name.lower()).strip("-") or "task"


def open_bundle(root: Path) -> Bundle:
    """The task in ``root``.

    Raises:
        Refused: a part is missing, no file of its own (a link, a pipe), or has a name that can't be printed.
    """
    for path in (root, *root.rglob("*")):
        name = path.relative_to(root.parent)
        if plain_text(str(name)) != str(name):
            raise Refused(f"the name of {name} holds control characters, or is not UTF-8")
        if path.is_symlink():
            raise Refused(f"{name} is a link, which may lead anywhere")
        if not (path.is_file() or path.is_dir()):
            raise Refused(f"{name} is neither a file nor a folder")
    for needed in NEEDED:
        if not (root / "prepared" / "public" / needed).is_file():
            raise Refused(f"prepared/public/{needed} is missing")
    return Bundle(root, _one_of(root, EVALUATORS), _one_of(root, ANSWERS))


def _one_of(root: Path, places: tuple[str, ...]) -> str:
    found = [name for name in places if (root / name).is_file()]
    if len(found) != 1:
        raise Refused(f"{'both' if found else 'neither'} of {' and '.join(places)}: there must be one")
    return found[0]


def broken_sums(root: Path) -> str:
    """What is wrong with the files of a task by the ``SHA256SUMS`` beside it; empty where all is well or none is."""
    sums = root.parent / SUMS
    if not sums.is_file():
        return ""
    lines = (line.partition("  ") for line in sums.read_text(encoding="utf-8", errors="replace").splitlines())
    told = {name: digest for digest, _, name in lines if name.startswith(f"{root.name}/")}
    found = {f"{root.name}/{name}": digest for name, digest in hash_tree(root).items()}
    differing = sorted({name for name, _ in told.items() ^ found.items()})
    return f"{SUMS}: {differing[0]} was changed, added or taken away" if differing else ""


def copy_public(bundle: Bundle, target: Path) -> None:
    """Copy what an agent may see to the folder ``target``."""
    for path in bundle.public_files():
        place = target / path.relative_to(bundle.public)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
