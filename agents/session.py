"""What an agent may do: the tools ``python`` and ``score``, bound to one task, one sandbox and one protocol.

The runner opens a session and hands it to a scaffold. The tools take no path and no task id, so whatever a model
writes, it acts on its own episode alone. Grades are typed records that the session keeps; they never come from text.

    session = await AgentSession.open(task, backend, "clean")
    async with session:
        outcome = await scaffold.rollout(model, session, budget, recorder=turns)
    session.submissions.grade(), session.submissions.archive, session.leaked

Vocabulary:
    attempt      a ``submission.csv`` that a step wrote, valid or not
    archive      the valid attempts, as bytes and grade, in the order of their steps
    protocol     what the agent learns about its score and which archived attempt counts (docs/design.md, section 6b)
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import Self

from sandmle.agents.observation import escape_control, observe_step, plain_text
from sandmle.agents.submissions import SCORE_CALLS, SUBMISSION, Attempt, Submissions
from sandmle.canary import canary
from sandmle.closing import Closing
from sandmle.errors import BadInput, InfraError
from sandmle.eval.grading import grade_bytes, invalid_report, size_limit
from sandmle.files import hash_tree
from sandmle.grades import GradeError
from sandmle.sandboxes import Sandbox, SandboxBackend, SandboxLimits, SandboxSpec
from sandmle.task import Task
from sandmle.trajectory import Protocol, StepResult

__all__ = ["AgentSession", "ToolResult", "agent_spec"]

CLEAN = """
import os, shutil, sys


def open_up(function, path, _):
    os.chmod(os.path.dirname(path) or ".", 0o700)
    os.chmod(path, 0o700)
    function(path)


left = []
for entry in list(os.scandir()):
    try:
        if entry.name != "input" and entry.is_dir(follow_symlinks=False):
            os.chmod(entry.path, 0o700)
            shutil.rmtree(entry.path, onerror=open_up)
        elif entry.name != "input":
            os.unlink(entry.path)
    except OSError:
        left.append(entry.name)
sys.exit(bool(left))
"""


def agent_spec(task: Task) -> SandboxSpec:
    """The sandbox of an agent on ``task``: its public folder, read-only, as ``input``, and nothing else of it.

    With a task's memory grow, by the same factor, the cores (as far as there are any), the workspace and the size of
    a file. The only function that builds an agent's spec.
    """
    usual, memory = SandboxLimits(), task.manifest.limits.memory_mib
    times = max(memory // usual.memory_mib, 1)
    limits = SandboxLimits(
        memory_mib=memory,
        cpus=min(usual.cpus * times, os.cpu_count() or 1),
        workspace_mib=usual.workspace_mib * times,
        file_mib=usual.file_mib * times,
    )
    return SandboxSpec(inputs={"input": task.public}, limits=limits)


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


class AgentSession(Closing):
    """One agent's view of one task; see the module's docstring."""

    def __init__(
        self,
        task: Task,
        sandbox: Sandbox,
        protocol: Protocol,
        *,
        step_seconds: float | None = None,
        score_calls: int = SCORE_CALLS,
        seed: str | None = None,
    ) -> None:
        """Bind the tools; ``open`` also makes the sandbox.

        Args:
            task: the task.
            sandbox: made from ``agent_spec(task)``; the session closes it.
            protocol: see docs/design.md, section 6b.
            step_seconds: limit of one run of code; None for the task's own.
            score_calls: calls of ``score`` that protocol ``train`` answers.
            seed: with the number of the run it fixes what code draws from global generators; None leaves that
                to chance.

        Raises:
            BadInput: protocol ``dojo`` on a task without boards, thresholds or calibration.
        """
        self.task = task
        self.protocol: Protocol = protocol
        self.step_seconds = task.manifest.limits.step_seconds if step_seconds is None else step_seconds
        self.submissions = Submissions(task, protocol, score_calls)
        self.leaked = False
        self.calls = 0
        self._sandbox = sandbox
        self._canary = canary(task.id)
        self._steps = 0
        self._seed = seed
        self._runs = 0
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
        seed: str | None = None,
    ) -> Self:
        """Make the agent's sandbox and bind the tools to it; arguments as for the class.

        Raises:
            InfraError: the sandbox could not be made.
            BadInput: protocol ``dojo`` on a task without boards, thresholds or calibration.
        """
        sandbox = await backend.create(agent_spec(task))
        try:
            return await asyncio.to_thread(
                cls, task, sandbox, protocol, step_seconds=step_seconds, score_calls=score_calls, seed=seed
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

    async def python(self, code: str, *, submit: bool = True, tell: bool = False) -> ToolResult:
        """Run ``code``; a ``submission.csv`` that an earlier step left is removed first, so none is counted twice.

        Args:
            code: a Python script.
            submit: whether a ``submission.csv`` that it writes counts; else it is removed unread.
            tell: whether the observation ends with what ``score`` says of it.

        Raises:
            InfraError: the sandbox failed.
        """
        self.calls += 1
        await self._sandbox.remove(SUBMISSION)
        step = await self._run(code)
        self.watch(step.head, step.tail)
        if submit:
            attempt = await self._collect()
        else:
            attempt = None
            await self._sandbox.remove(SUBMISSION)
        self._steps += 1
        memory = self.task.manifest.limits.memory_mib
        observation = observe_step(step, step_seconds=self.step_seconds, memory_mib=memory)
        if attempt and (tell or self.protocol == "dojo"):
            observation += f"\n{self.submissions.tell()}"
        return ToolResult(observation, step, submitted=attempt is not None)

    async def score(self) -> ToolResult:
        """Tell about the submission that was written last what the protocol allows."""
        self.calls += 1
        return ToolResult(self.submissions.tell())

    async def clean_workspace(self) -> bool:
        """Remove every file that steps left in the workspace; submissions that counted stay archived.

        Returns:
            Whether all are gone.

        Raises:
            InfraError: the sandbox failed.
        """
        self.calls += 1
        step = await self._run(CLEAN)
        return step.status == "ok"

    async def look(self, code: str) -> str:
        """What a script of the scaffold's own prints: no step of the agent, and nothing that it submits.

        It changes no number that the agent's runs draw: a session that is made again looks at nothing.

        Raises:
            InfraError: the sandbox failed.
        """
        step = await self._sandbox.run(code, timeout=self.step_seconds, seed=self._seed)
        memory = self.task.manifest.limits.memory_mib
        return observe_step(step, step_seconds=self.step_seconds, memory_mib=memory)

    @property
    def steps(self) -> int:
        """Runs of the agent's code so far."""
        return self._steps

    def watch(self, *texts: str) -> None:
        """Flag the episode as ``leaked`` if a text holds the canary of the hidden labels."""
        self.leaked = self.leaked or any(self._canary in text for text in texts)

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

    async def _run(self, code: str) -> StepResult:
        self._runs += 1
        seed = None if self._seed is None else f"{self._seed}/{self._runs}"
        return await self._sandbox.run(code, timeout=self.step_seconds, seed=seed)

    async def _collect(self) -> Attempt | None:
        """Take what the step left: read with the sandbox's rights, grade the bytes, archive if valid."""
        try:
            data = await self._sandbox.read(SUBMISSION, max_bytes=size_limit(self.task))
        except FileNotFoundError:
            return None
        except ValueError as error:
            code = GradeError.TOO_LARGE if "more than" in str(error) else GradeError.NOT_REGULAR
            report = invalid_report(self.task.manifest, code, f"{SUBMISSION} could not be read")
            data = b""
        else:
            self.watch(data.decode("utf-8", "replace"))
            report = await asyncio.to_thread(grade_bytes, self.task, data)
        attempt = Attempt(self._steps, data, report)
        self.submissions.add(attempt)
        return attempt
