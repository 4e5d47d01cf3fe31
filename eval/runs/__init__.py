"""A run on disk: what was asked, and every finished episode.

    RUN/run.json                    RunRecord: settings, versions, the hash of every task; never a key
    RUN/episodes.jsonl              one EpisodeSummary a line, fsynced, one writer
    RUN/transcripts/<episode>.json  the whole Episode with its turns, written before its line
    RUN/submissions/<episode>.csv   the submission that was graded, where there is one
    RUN/journals/<episode>.json     the scaffold's own record, where it keeps one

An episode counts as finished once its line is in ``episodes.jsonl``. The last line of an id wins, and a last line that
was cut off by a crash counts for nothing.
"""

from sandmle.eval.runs._folder import Run, RunWriter, open_run, read_run
from sandmle.eval.runs._record import BudgetSettings, EvalSettings, RunRecord, Scale
from sandmle.eval.runs._summary import EpisodeSummary, Timing, summarize_episode

__all__ = [
    "BudgetSettings",
    "EpisodeSummary",
    "EvalSettings",
    "Run",
    "RunRecord",
    "RunWriter",
    "Scale",
    "Timing",
    "open_run",
    "read_run",
    "summarize_episode",
]
