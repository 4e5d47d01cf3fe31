"""The exception that carries a submission's first fault to the grader, which turns it into a report."""

from __future__ import annotations

from sandmle.grades import GradeError

__all__ = ["InvalidSubmission", "quoted"]

MAX_QUOTED = 40


class InvalidSubmission(Exception):
    """A submission that can't be scored.

    Attributes:
        code: one of the closed list.
        detail: the same in words: columns, rows and ids, but never a hidden label or a path of this machine.
    """

    def __init__(self, code: GradeError, detail: str) -> None:
        super().__init__(f"{code.value}: {detail}")
        self.code = code
        self.detail = detail


def quoted(text: str) -> str:
    """Text of a submission as it may stand in a message: escaped, and cut to a few words."""
    return repr(text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "...")
