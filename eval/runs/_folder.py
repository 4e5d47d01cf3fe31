"""Reading a run folder, and writing one so that it survives ``kill -9`` and resumes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from pydantic import ValidationError

from sandmle.errors import BadInput
from sandmle.eval.runs._record import RunRecord
from sandmle.eval.runs._summary import NONE_SPENT, EpisodeSummary, summarize_episode
from sandmle.files import disk_errors, folder_lock, write_bytes, write_text
from sandmle.record import first_problem
from sandmle.trajectory import Episode, EpisodeStatus, Usage

__all__ = ["RUN_AGAIN", "Run", "RunWriter", "open_run", "read_run"]

RUN_AGAIN = frozenset({EpisodeStatus.INFRA_ERROR, EpisodeStatus.CANCELLED})
"""A resumed run runs these again: they say nothing about the agent."""


@dataclass(frozen=True)
class Run:
    """A run folder as it was read.

    Attributes:
        episodes: the finished ones, sorted by scaffold, policy, task and repeat, whatever order they finished in.
    """

    folder: Path
    record: RunRecord
    episodes: tuple[EpisodeSummary, ...]


class RunWriter:
    """The one writer of a run folder; made by ``open_run``.

    Attributes:
        record: what ``run.json`` holds.
        tokens: of all episodes in the folder, those that were run again included.
    """

    def __init__(self, folder: Path, record: RunRecord, stored: Sequence[EpisodeSummary], lines: FileIO) -> None:
        self.folder = folder
        self.record = record
        self._done = {name: summary for name, summary in _latest(stored).items() if summary.status not in RUN_AGAIN}
        self._lines = lines
        self.tokens = sum(summary.timing.tokens for summary in stored)

    @property
    def done(self) -> dict[str, EpisodeSummary]:
        """The episodes that need not run again, by id."""
        return dict(self._done)

    def add(
        self, episode: Episode, submission: bytes | None, journal: str = "", *, discarded: Usage = NONE_SPENT
    ) -> EpisodeSummary:
        """Store a finished episode: transcript, submission and journal first, then the line; synced when this returns.

        Nothing stays of an earlier one with its id.

        Args:
            episode: with its turns.
            submission: what was graded.
            journal: JSON, see ``EpisodeResult``.
            discarded: tokens that were spent on it beside those of its turns.

        Raises:
            EnvironmentProblem: the disk is full.
        """
        summary = summarize_episode(episode, discarded)
        with disk_errors(self.folder):
            write_text(self.folder / "transcripts" / f"{episode.id}.json", episode.to_text())
            _settle(self.folder / "submissions" / f"{episode.id}.csv", submission)
            _settle(self.folder / "journals" / f"{episode.id}.json", journal.encode() or None)
            _append(self._lines, summary.model_dump_json().encode() + b"\n")
        self.tokens += summary.timing.tokens
        if summary.status not in RUN_AGAIN:
            self._done[summary.id] = summary
        return summary


def _settle(path: Path, data: bytes | None) -> None:
    """Make ``path`` hold ``data``, or not exist where there is none."""
    if data is None:
        path.unlink(missing_ok=True)
    else:
        write_bytes(path, data)


def _append(stream: FileIO, line: bytes) -> None:
    """Append ``line`` whole and synced; where that fails, cut the file back to what it was."""
    before = stream.seek(0, os.SEEK_END)
    try:
        left = memoryview(line)
        while left:
            left = left[stream.write(left) :]
        os.fsync(stream.fileno())
    except OSError:
        os.ftruncate(stream.fileno(), before)
        raise


def read_run(folder: Path | str) -> Run:
    """Read a run, finished or not.

    Raises:
        BadInput: not a run folder, or one of its files is broken (a cut-off last line is not).
    """
    root = Path(folder)
    if not root.is_dir():
        raise BadInput(f"{root}: no such run folder; `sandmle eval --out {root}` makes one")
    if not (root / "run.json").exists():
        raise BadInput(f"{root}: not a run of `sandmle eval`: it has no run.json")
    record = RunRecord.read(root / "run.json")
    stored, _ = _read_lines(root / "episodes.jsonl")
    return Run(root, record, tuple(sorted(_latest(stored).values(), key=_order)))


def _order(summary: EpisodeSummary) -> tuple[str, str, str, int]:
    return summary.scaffold, summary.policy, summary.task_id, summary.repeat


def _latest(stored: Sequence[EpisodeSummary]) -> dict[str, EpisodeSummary]:
    """The last summary of each id."""
    return {summary.id: summary for summary in stored}


def _read_lines(path: Path) -> tuple[list[EpisodeSummary], int]:
    """The summaries, and how many bytes of the file are whole lines."""
    data = path.read_bytes() if path.exists() else b""
    stored: list[EpisodeSummary] = []
    whole = 0
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        try:
            if not line.endswith(b"\n"):
                break
            summary = EpisodeSummary.model_validate_json(line)
        except ValidationError as error:
            if whole + len(line) == len(data):
                break
            raise BadInput(f"{path}, line {number}: {first_problem(error)}") from error
        stored.append(summary)
        whole += len(line)
    return stored, whole


@contextmanager
def open_run(folder: Path, asked: RunRecord) -> Iterator[RunWriter]:
    """Start the run ``asked`` in ``folder``, or resume it where the folder already holds it.

    Raises:
        BadInput: the folder holds something else, another run (names the first difference), or another process
            is writing to it.
        EnvironmentProblem: the folder can't be written to.
    """
    with ExitStack() as stack:
        with disk_errors(folder):
            _refuse_foreign(folder)
            stack.enter_context(folder_lock(folder))
            _drop_leftovers(folder)
            record = _settle_record(folder, asked)
            for name in ("transcripts", "submissions"):
                (folder / name).mkdir(exist_ok=True)
            path = folder / "episodes.jsonl"
            stored, whole = _read_lines(path)
            lines = stack.enter_context(FileIO(path, "a"))
            os.ftruncate(lines.fileno(), whole)
        yield RunWriter(folder, record, stored, lines)


def _refuse_foreign(folder: Path) -> None:
    if not folder.exists() or (folder / "run.json").exists():
        return
    if not folder.is_dir():
        raise BadInput(f"{folder}: not a folder")
    foreign = sorted(child.name for child in folder.iterdir() if not child.name.startswith("."))
    if foreign:
        raise BadInput(f"{folder}: holds {foreign[0]} but no run; choose an empty or a new folder for --out")


def _settle_record(folder: Path, asked: RunRecord) -> RunRecord:
    """Write ``run.json``, or check that the one there is of the same run and take over what may change."""
    path = folder / "run.json"
    if not path.exists():
        write_text(path, asked.to_text())
        return asked
    known = RunRecord.read(path)
    difference = known.first_difference(asked)
    if difference:
        raise BadInput(f"{folder}: holds another run: {difference}; choose another folder for --out")
    resumed = known.resumed_as(asked)
    if resumed != known:
        write_text(path, resumed.to_text())
    return resumed


def _drop_leftovers(folder: Path) -> None:
    """Remove temporary files that a killed process left."""
    for pattern in (".run.json.*", "transcripts/.*", "submissions/.*", "journals/.*"):
        for path in folder.glob(pattern):
            if path.is_file():
                path.unlink()
