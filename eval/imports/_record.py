"""What an import tells, and what stays of it in the task."""

from __future__ import annotations

from sandmle.record import Record, VersionedRecord

__all__ = ["IMPORT", "QUARANTINE", "ImportRecord", "ImportReport", "Refused"]

IMPORT = "import.json"
QUARANTINE = "released"


class Refused(Exception):
    """A bundle's task can't be a task of ours; says why."""


class ImportRecord(VersionedRecord):
    """``provenance/import.json``: how a task was recognised and verified.

    Attributes:
        bundle_id: the name of its folder in the bundle.
        evaluator: path of the evaluator below the quarantine, as it was in the bundle; ``answers`` likewise.
        probes: submissions that the evaluator and the grader scored alike.
        worst_difference: between the two, relative above 1.
        alike: other metrics that scored every probe the same.
        sample_score: of the bundle's sample submission, in the metric's units; ``perfect_score`` of its answers.
    """

    bundle_id: str
    evaluator: str
    answers: str
    probes: int
    worst_difference: float
    alike: tuple[str, ...]
    sample_score: float
    perfect_score: float


class ImportReport(Record):
    """What became of one task of a bundle.

    Attributes:
        task_id: of the task that was made; None where it was refused.
        reason: why it was refused.
        told: one line about what was recognised, or set apart.
    """

    bundle_id: str
    task_id: str | None = None
    reason: str = ""
    told: str = ""
