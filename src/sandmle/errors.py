"""The errors a person can meet. Each names what was wrong, where, and what to do, and carries its exit code.

Exit codes: 0 ok, 1 negative verdict (a check failed), 2 bad input (also a submission that can't be scored),
3 environment, 130 Ctrl-C.
"""

from __future__ import annotations

__all__ = ["BadInput", "EnvironmentProblem", "InfraError", "NegativeVerdict", "SandmleError"]


class SandmleError(Exception):
    """Base of every error whose message is meant for a person; the command line prints it without a traceback."""

    exit_code: int = 1


class NegativeVerdict(SandmleError):
    """The program worked and its answer is no: a check failed."""

    exit_code = 1


class BadInput(SandmleError):
    """What the user gave can't be used: a missing folder, an unknown name, a broken file."""

    exit_code = 2


class EnvironmentProblem(SandmleError):
    """The machine lacks something: an extra, isolation, disk space, a reachable endpoint."""

    exit_code = 3


class InfraError(SandmleError):
    """Our own infrastructure failed (sandbox, endpoint). Never the agent's fault, so never scored 0."""

    exit_code = 3
