"""The submissions of one episode: what is kept of them, what the protocol lets the agent know, and which one counts."""

from __future__ import annotations

from dataclasses import dataclass

from sandmle.agents._board import task_boards, tell_rank
from sandmle.eval.grading import invalid_report
from sandmle.grades import GradeError, GradeReport
from sandmle.task import TIERS, Task
from sandmle.trajectory import Chosen, Protocol

__all__ = ["SCORE_CALLS", "SUBMISSION", "Attempt", "Submissions"]

SUBMISSION = "submission.csv"
SCORE_CALLS = 10
"""Calls for the score that protocol ``train`` answers in one episode."""


@dataclass(frozen=True)
class Attempt:
    """One ``submission.csv``: the 0-based index of the step that wrote it, its bytes and its grade.

    Attributes:
        data: empty where the file could not be read (not regular, too large).
    """

    step: int
    data: bytes
    report: GradeReport


class Submissions:
    """The attempts of one episode.

    Attributes:
        turn: 0-based index of the turn under way; kept up by whoever asks the model.

    Args:
        task: the task.
        protocol: see docs/design.md, section 6b.
        score_calls: calls for the score that protocol ``train`` answers.

    Raises:
        BadInput: protocol ``dojo`` on a task without boards, thresholds or calibration.
    """

    def __init__(self, task: Task, protocol: Protocol, score_calls: int = SCORE_CALLS) -> None:
        self.score_calls_left = score_calls
        self.turn = 0
        self._manifest = task.manifest
        self._protocol: Protocol = protocol
        self._boards = task_boards(task) if protocol == "dojo" else None
        self._latest: Attempt | None = None
        self._scored: Attempt | None = None
        self._archive: list[Attempt] = []
        self._choices: list[tuple[int, Attempt]] = []

    @property
    def archive(self) -> tuple[Attempt, ...]:
        """The valid attempts, in the order of their steps, and at their end those that were submitted again."""
        return tuple(self._archive)

    @property
    def history(self) -> tuple[Chosen, ...]:
        """The submissions that counted, at most one a turn: had the episode ended after a turn, the last until then."""
        return tuple(
            Chosen(turn=turn, score=attempt.report.score, medal=attempt.report.medal)
            for turn, attempt in self._choices
            if attempt.report.score is not None
        )

    def add(self, attempt: Attempt) -> None:
        """Keep an attempt; archive it if it is valid."""
        self._latest = attempt
        if attempt.report.valid:
            self._archive.append(attempt)
            self._note_choice()

    def _note_choice(self) -> None:
        chosen, choices = self.selected(), self._choices
        if choices and choices[-1][0] == self.turn:
            choices.pop()
        if chosen is not None and not (choices and choices[-1][1] is chosen):
            choices.append((self.turn, chosen))

    def submit_again(self, step: int) -> None:
        """Make the valid submission of the 0-based ``step`` the last one: the agent's own choice among its own.

        Raises:
            ValueError: that step wrote no valid submission.
        """
        chosen = next((attempt for attempt in self._archive if attempt.step == step), None)
        if chosen is None:
            raise ValueError(f"step {step} wrote no valid submission")
        self.add(chosen)

    def tell(self) -> str:
        """What the protocol lets the agent know about the attempt that came last; under ``paper`` it then counts."""
        if self._protocol == "train":
            if self.score_calls_left == 0:
                return "[submission: no score calls left]"
            self.score_calls_left -= 1
        if self._latest is None:
            return f"[submission: invalid, {GradeError.MISSING.value}]"
        if self._latest.report.valid:
            self._scored = self._latest
            self._note_choice()
        return self._verdict(self._latest.report)

    def validity(self) -> str:
        """Whether the attempt that came last is valid, and no more: under every protocol the agent may know that."""
        if self._latest is None:
            return f"[submission: invalid, {GradeError.MISSING.value}]"
        error = self._latest.report.error
        return "[submission: valid]" if error is None else f"[submission: invalid, {error.value}]"

    def _verdict(self, report: GradeReport) -> str:
        if report.error is not None:
            return f"[submission: invalid, {report.error.value}]"
        if self._protocol == "train":
            public = "not defined" if report.public_score is None else f"{report.public_score:.4f}"
            return f"[submission: valid] public score: {public} ({self.score_calls_left} score calls left)"
        if self._protocol == "paper":
            tiers = self._manifest.thresholds
            told = (
                "".join(f" {tier.value}: {getattr(tiers, tier.value):.6g}" for tier in reversed(TIERS)) if tiers else ""
            )
            return f"[submission: valid] score: {report.score:.6g}{';' + told if told else ''}"
        if self._boards is not None and report.score is not None:
            rank = tell_rank(report.score, self._boards, lower_is_better=report.lower_is_better)
            return f"[submission: valid] score: {report.score:.6g}; {rank}"
        return "[submission: valid]"

    def selected(self) -> Attempt | None:
        """The submission that counts by the protocol, None if there is none.

        ``clean`` and ``train``: the last valid one; ``paper``: the last scored; ``dojo``: the first of the best.
        """
        match self._protocol:
            case "paper":
                return self._scored
            case "dojo":
                sign = -1.0 if self._manifest.lower_is_better else 1.0
                return max(self._archive, key=lambda attempt: sign * (attempt.report.score or 0.0), default=None)
            case _:
                return self._archive[-1] if self._archive else None

    def grade(self) -> GradeReport:
        """The grade of the selected submission, else the fault of the last attempt, else ``missing``."""
        selected = self.selected()
        if selected is not None:
            return selected.report
        if self._latest is not None and not self._latest.report.valid:
            return self._latest.report
        return invalid_report(
            self._manifest, GradeError.MISSING, f"no {SUBMISSION} counts under protocol {self._protocol}"
        )
