"""``bundled``: real data sets that come inside installed packages, with thresholds from baselines that were really run.

The data are famous, so scores on them are for correctness and validity, not for headlines. Preparing takes seconds, as
the baselines' scores are published; where the data differ from the published ones (another version of the package that
carries them), the baselines are run here. Which members there are depends on what is installed.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path

from sandmle.errors import BadInput
from sandmle.eval.reference import Baselines, Measured, arguments, baseline_script, measure, published
from sandmle.eval.suites._kind import Preparation, Sources, SuiteKind
from sandmle.files import clear_leftovers, disk_errors, folder_lock, write_text
from sandmle.record import VersionedRecord, sha256_json
from sandmle.seeds import RealTask, get_seed, missing_install, real_task
from sandmle.settings import get_settings
from sandmle.task import Task

__all__ = ["MEMBERS", "Bundled"]

MEMBERS = (
    "breast-cancer",
    "diabetes",
    "wine-alcohol",
    "penguins-mass",
    "party",
    "auto",
    "orange-juice",
    "digit-scans",
    "mnist",
    "word-polarity",
    "newsgroups",
    "newswire",
    "power-season",
    "vowel-speakers",
    "leaf-outlines",
    "weather-notes",
)
"""Seeds: seven tables, two sets of pictures, three of texts, four of series."""
BASELINES = "baselines.json"

_log = logging.getLogger("sandmle.eval")


class Index(VersionedRecord):
    """``.sandmle/index.json`` in the suite's folder.

    Attributes:
        state: hash of what the suite was made from: the members at hand and the published scores.
        tasks: task ids.
    """

    state: str
    tasks: tuple[str, ...]


class Bundled(SuiteKind):
    """Real data that ship inside packages."""

    name = "bundled"
    about = "famous real data that come inside packages: for correctness and validity, not for headlines"
    how = "sandmle suites prepare bundled"

    def load(self, place: str) -> tuple[Task, ...]:
        """The tasks; prepared first where they are not, since their data are on this machine already."""
        if not self._is_current():
            self.prepare(Sources(), lambda _: None)
        tasks = self.prepared()
        if missing := sorted(filter(None, {missing_install(get_seed(name)) for name in MEMBERS})):
            _log.warning("bundled: %d of %d tasks; the others need %s", len(tasks), len(MEMBERS), "; ".join(missing))
        return tasks

    def prepared(self) -> tuple[Task, ...]:
        """The tasks that the index lists, sorted by id."""
        path = self._index()
        return tuple(Task.load(self.folder / name) for name in sorted(Index.read(path).tasks)) if path.exists() else ()

    def prepare(self, sources: Sources, on_done: Callable[[Preparation], None]) -> None:
        """Make the task of every member whose data are installed; nothing else is needed.

        Raises:
            BadInput: ``sources`` names data, code or a grader.
            SandmleError: a baseline fails on data that are not the published ones.
        """
        if sources != Sources():
            raise BadInput("suite bundled: its data come inside installed packages; it takes no --data and the like")
        with disk_errors(self.folder), folder_lock(self.folder, wait=True):
            clear_leftovers(self.folder)
            state, tasks = _state(), []
            for name in MEMBERS:
                hint = missing_install(get_seed(name))
                task = self._make(name) if hint is None else None
                tasks += [task.id] if task else []
                on_done(Preparation(name, task, hint or ""))
            write_text(self._index(), Index(state=state, tasks=tuple(tasks)).to_text())

    def _index(self) -> Path:
        return self.folder / ".sandmle" / "index.json"

    def _is_current(self) -> bool:
        path = self._index()
        return path.exists() and Index.read(path).state == _state()

    def _make(self, name: str) -> Task:
        """The member's task; one that is there already stays if it is the same."""
        real = real_task(get_seed(name))
        folder = self.folder / real.manifest.id
        known = published().tasks.get(real.manifest.id)
        if (folder / "task.json").exists():
            kept = Baselines.read(folder / "provenance" / BASELINES).measured
            if kept == known or (known is None and kept.data == real.data_hash):
                return Task.load(folder)
        return _write(real, self.folder, known if known and known.data == real.data_hash else _measured(real))


def _write(real: RealTask, out: Path, measured: Measured) -> Task:
    runs = Baselines(runs=arguments(real), measured=measured)
    told = {BASELINES: runs.to_text(), "baselines.py": baseline_script()}
    return real.write(out, thresholds=measured.thresholds(), provenance=told)


def _measured(real: RealTask) -> Measured:
    """Run the baselines here; their code is ours, so it may run unisolated."""
    from sandmle.sandboxes import LocalBackend

    _log.warning("%s: not the published data, so its baselines are run here; that takes minutes", real.manifest.id)

    async def run(folder: Path) -> Measured:
        backend = LocalBackend(allow_unisolated=True, python=get_settings().python)
        try:
            return await measure(backend, real, folder)
        finally:
            await backend.aclose()

    with tempfile.TemporaryDirectory(prefix="sandmle-measure-") as scratch:
        return asyncio.run(run(Path(scratch)))


def _state() -> str:
    seeds = [get_seed(name) for name in MEMBERS]
    at_hand = [seed.model_dump(mode="json") for seed in seeds if missing_install(seed) is None]
    return sha256_json([at_hand, published().model_dump(mode="json")])
