"""What an agent may do: the tools ``python`` and ``score``, bound to one task, one sandbox and one protocol.

The runner opens a session and hands it to a scaffold. The tools take no path and no task id, so whatever a model
writes, it acts on its own episode alone. Grades are typed records that the session keeps; they never come from text.

    session = await AgentSession.open(task, backend, "clean")
    async with session:
        outcome = await scaffold.rollout(model, session, budget, recorder=turns)
    session.grade(), session.archive, session.leaked

Vocabulary:
    attempt      a ``submission.csv`` that a step wrote, valid or not
    archive      the valid attempts, as bytes and grade, in the order of their steps
    protocol     what the agent learns about its score and which archived attempt counts (docs/design.md, section 6b)
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from sandmle.agents._board import board_position, task_board
from sandmle.agents.observation import escape_control, observe_step, plain_text
from sandmle.canary import canary
from sandmle.errors import BadInput, InfraError
from sandmle.eval.grading import MAX_BYTES, grade_bytes, invalid_report
from sandmle.files import hash_tree
from sandmle.grades import GradeError, GradeReport
from sandmle.sandboxes import Sandbox, SandboxBackend, SandboxLimits, SandboxSpec
from sandmle.task import TIERS, Task
from sandmle.trajectory import Protocol, StepResult

__all__ = ["SCORE_CALLS", "SUBMISSION", "AgentSession", "Attempt", "ToolResult", "agent_spec"]

SUBMISSION = "submission.csv"
SCORE_CALLS = 10
"""Calls of ``score`` that protocol ``train`` answers in one episode."""


def agent_spec(task: Task) -> SandboxSpec:
    """The sandbox of an agent on ``task``: its public folder, read-only, as ``input``, and nothing else of it.

    The only function that builds an agent's spec.
    """
    return SandboxSpec(inputs={"input": task.public}, limits=SandboxLimits(memory_mib=task.manifest.limits.memory_mib))


@dataclass(frozen=True)
class ToolResult:
    """What a tool did.

    Attributes:
        observation: what the agent is told, safe to put into the conversation.
        step: the run of code, None for ``score``.
        submitted: this call ran code that left a ``submission.csv``.
    """

    observation: str
    step: StepResult | None = None
    submitted: bool = False


@dataclass(frozen=True)
class Attempt:
    """One ``submission.csv``: the 0-based index of the step that wrote it, its bytes and its grade.

    Attributes:
        data: empty where the file could not be read (not regular, too large).
    """

    step: int
    data: bytes
    report: GradeReport


class AgentSession:
    """One agent's view of one task; see the module's docstring."""

    def __init__(
        self,
        task: Task,
        sandbox: Sandbox,
        protocol: Protocol,
        *,
        step_seconds: float | None = None,
        score_calls: int = SCORE_CALLS,
    ) -> None:
        """Bind the tools; ``open`` also makes the sandbox.

        Args:
            task: the task.
            sandbox: made from ``agent_spec(task)``; the session closes it.
            protocol: see docs/design.md, section 6b.
            step_seconds: limit of one run of code; None for the task's own.
            score_calls: calls of ``score`` that protocol ``train`` answers.

        Raises:
            BadInput: protocol ``dojo`` on a task without thresholds or calibration.
        """
        self.task = task
        self.protocol: Protocol = protocol
        self.step_seconds = task.manifest.limits.step_seconds if step_seconds is None else step_seconds
        self.score_calls_left = score_calls
        self.leaked = False
        self.calls = 0
        self._sandbox = sandbox
        self._board = task_board(task) if protocol == "dojo" else ()
        self._canary = canary(task.id)
        self._steps = 0
        self._latest: Attempt | None = None
        self._scored: Attempt | None = None
        self._archive: list[Attempt] = []
        self._before = hash_tree(task.public)

    @classmethod
    async def open(
        cls,
        task: Task,
        backend: SandboxBackend,
        protocol: Protocol,
        *,
        step_seconds: float | None = None,
        score_calls: int = SCORE_CALLS,
    ) -> Self:
        """Make the agent's sandbox and bind the tools to it; arguments as for the class.

        Raises:
            InfraError: the sandbox could not be made.
            BadInput: protocol ``dojo`` on a task without thresholds or calibration.
        """
        sandbox = await backend.create(agent_spec(task))
        try:
            return await asyncio.to_thread(
                cls, task, sandbox, protocol, step_seconds=step_seconds, score_calls=score_calls
            )
        except BaseException:
            await sandbox.aclose()
            raise

    @property
    def description(self) -> str:
        """The task's brief as the agent reads it, safe to put into the conversation.

        Raises:
            BadInput: the task has none, or not as UTF-8.
        """
        path = self.task.public / "description.md"
        try:
            return escape_control(plain_text(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise BadInput(f"{path}: can't be read ({error})") from error

    @property
    def archive(self) -> tuple[Attempt, ...]:
        """Every valid submission so far, in the order of the steps."""
        return tuple(self._archive)

    async def python(self, code: str) -> ToolResult:
        """Run ``code``; a ``submission.csv`` that an earlier step left is removed first, so none is counted twice.

        Raises:
            InfraError: the sandbox failed.
        """
        self.calls += 1
        await self._sandbox.remove(SUBMISSION)
        step = await self._sandbox.run(code, timeout=self.step_seconds)
        self.watch(step.head, step.tail)
        attempt = await self._collect()
        self._steps += 1
        memory = self.task.manifest.limits.memory_mib
        observation = observe_step(step, step_seconds=self.step_seconds, memory_mib=memory)
        if attempt and self.protocol == "dojo":
            observation += f"\n{self._verdict(attempt.report)}"
        return ToolResult(observation, step, submitted=attempt is not None)

    async def score(self) -> ToolResult:
        """Tell about the submission that was written last what the protocol allows."""
        self.calls += 1
        if self.protocol == "train":
            if self.score_calls_left == 0:
                return ToolResult("[submission: no score calls left]")
            self.score_calls_left -= 1
        if self._latest is None:
            return ToolResult(f"[submission: invalid, {GradeError.MISSING.value}]")
        if self._latest.report.valid:
            self._scored = self._latest
        return ToolResult(self._verdict(self._latest.report))

    def watch(self, *texts: str) -> None:
        """Flag the episode as ``leaked`` if a text holds the canary of the hidden labels."""
        self.leaked = self.leaked or any(self._canary in text for text in texts)

    def selected(self) -> Attempt | None:
        """The submission that counts by the protocol, None if there is none.

        ``clean`` and ``train``: the last valid one; ``paper``: the last scored; ``dojo``: the first of the best.
        """
        match self.protocol:
            case "paper":
                return self._scored
            case "dojo":
                sign = -1.0 if self.task.manifest.lower_is_better else 1.0
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
            self.task.manifest, GradeError.MISSING, f"no {SUBMISSION} counts under protocol {self.protocol}"
        )

    async def aclose(self) -> None:
        """Close the sandbox and check that the task's public data are what they were.

        Raises:
            InfraError: a public file was changed while the session was open.
        """
        await self._sandbox.aclose()
        after = await asyncio.to_thread(hash_tree, self.task.public)
        if after != self._before:
            changed = sorted(set(after.items()) ^ set(self._before.items()))
            raise InfraError(f"{self.task.public}: {changed[0][0]} changed during the episode; restore the task")

    async def __aenter__(self) -> Self:
        """The session itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the session."""
        await self.aclose()

    async def _collect(self) -> Attempt | None:
        """Take what the step left: read with the sandbox's rights, grade the bytes, archive if valid."""
        try:
            data = await self._sandbox.read(SUBMISSION, max_bytes=MAX_BYTES)
        except FileNotFoundError:
            return None
        except ValueError as error:
            code = GradeError.TOO_LARGE if "more than" in str(error) else GradeError.NOT_REGULAR
            self._latest = Attempt(
                self._steps, b"", invalid_report(self.task.manifest, code, f"{SUBMISSION} could not be read")
            )
            return self._latest
        self.watch(data.decode("utf-8", "replace"))
        report = await asyncio.to_thread(grade_bytes, self.task, data)
        self._latest = Attempt(self._steps, data, report)
        if report.valid:
            self._archive.append(self._latest)
        return self._latest

    def _verdict(self, report: GradeReport) -> str:
        """The one line that the protocol allows about a submission."""
        if report.error is not None:
            return f"[submission: invalid, {report.error.value}]"
        if self.protocol == "train":
            public = "not defined" if report.public_score is None else f"{report.public_score:.4f}"
            return f"[submission: valid] public score: {public} ({self.score_calls_left} score calls left)"
        if self.protocol == "paper":
            tiers = self.task.manifest.thresholds
            told = (
                "".join(f" {tier.value}: {getattr(tiers, tier.value):.6g}" for tier in reversed(TIERS)) if tiers else ""
            )
            return f"[submission: valid] score: {report.score:.6g}{';' + told if told else ''}"
        if self.protocol == "dojo" and report.score is not None:
            rank = board_position(report.score, self._board, lower_is_better=report.lower_is_better)
            return f"[submission: valid] score: {report.score:.6g}; position {rank} of {len(self._board)} on the board"
        return "[submission: valid]"
