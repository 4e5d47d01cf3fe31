"""The three kinds: the benchmark, its Lite split, and the competitions for development."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sandmle.errors import BadInput
from sandmle.eval.suites._kind import Preparation, Sources, SuiteKind
from sandmle.eval.suites.mle_bench._table import competitions
from sandmle.eval.suites.mle_bench._task import build_task
from sandmle.files import clear_leftovers, disk_errors, folder_lock
from sandmle.mlebench import Checkout, Entry
from sandmle.task import Task

__all__ = ["MLE_BENCH_KINDS", "MleBench"]


class MleBench(SuiteKind):
    """Competitions of some splits of MLE-bench.

    Args:
        name: as users write it.
        about: one line.
        splits: names of the lists of ids in the checkout.
        flag: what makes ``mlebench prepare`` get them all.
    """

    def __init__(self, name: str, about: str, splits: tuple[str, ...], flag: str) -> None:
        self.name = name
        self.about = about
        self.how = f"sandmle suites prepare {name} --data DATA --checkout MLE_BENCH"
        self._splits = splits
        self._flag = flag

    def prepare(self, sources: Sources, on_done: Callable[[Preparation], None]) -> None:
        """Make the tasks of all competitions whose data are there; those that are tasks already stay as they are."""
        if sources.checkout is None:
            raise BadInput("--checkout MLE_BENCH: a clone of github.com/openai/mle-bench, with `git lfs pull`")
        checkout = Checkout.open(sources.checkout)
        fetch = f"mlebench prepare {self._flag.format(root=checkout.root)} --data-dir"
        if sources.data is None:
            raise BadInput(f"--data DATA: a folder that MLE-bench has prepared (`{fetch} DATA`)")
        data, members = sources.data.resolve(), self._members(checkout)
        if not any((data / name / "prepared").is_dir() for name in members):
            raise BadInput(f"{data}: no data of {self.name}; get them with `{fetch} {data}`")
        with disk_errors(self.folder), folder_lock(self.folder):
            clear_leftovers(self.folder)
            for name in members:
                on_done(self._prepare(checkout, name, sources, data))

    def _members(self, checkout: Checkout) -> list[str]:
        """The ids of the competitions, sorted."""
        found: list[str] = []
        for split in self._splits:
            listed = checkout.split(split)
            if not listed:
                raise BadInput(f"{checkout.split_file(split)}: missing or empty; check out MLE-bench again")
            found += listed
        return sorted(found)

    def _prepare(self, checkout: Checkout, name: str, sources: Sources, data: Path) -> Preparation:
        folder = self.folder / name.lower()
        try:
            if (folder / "task.json").exists():
                return Preparation(name, Task.load(folder), "there already")
            if name not in competitions():
                raise BadInput("not one of the 82 competitions that sandmle knows")
            entry = checkout.entry(name)
            _require_data(entry, data)
            return Preparation(name, build_task(entry, competitions()[name], data, sources.grader, self.folder))
        except BadInput as error:
            return Preparation(name, None, str(error))


def _require_data(entry: Entry, data: Path) -> None:
    """See that MLE-bench would take the competition for prepared."""
    prepared = data / entry.id / "prepared"
    command = f"`mlebench prepare -c {entry.id} --data-dir {data}`"
    for folder in (prepared / "public", prepared / "private"):
        if not folder.is_dir() or not any(folder.iterdir()):
            raise BadInput(f"{folder}: no data; run {command}")
    for name in (entry.answers, entry.sample_submission):
        if not name or not (data / name).is_file():
            raise BadInput(f"{data / name}: no such file; run {command}")


MLE_BENCH_KINDS = (
    MleBench("mle-bench", "the 75 competitions of MLE-bench", ("low", "medium", "high"), "--all"),
    MleBench("mle-bench-lite", "the 22 of its low split, MLE-bench Lite", ("low",), "--lite"),
    MleBench(
        "mle-bench-dev", "its 7 competitions for development", ("dev",), "--list {root}/experiments/splits/dev.txt"
    ),
)
