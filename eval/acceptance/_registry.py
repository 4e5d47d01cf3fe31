"""The probes, found by name, and the verdict over all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sandmle.errors import BadInput
from sandmle.eval.acceptance._evidence import Evidence, Verdict
from sandmle.eval.acceptance._one_thread import one_thread
from sandmle.eval.acceptance.calibration import Calibration, calibrate
from sandmle.record import VersionedRecord
from sandmle.task import TaskFlag

__all__ = ["Acceptance", "Finding", "accept", "judge", "probe", "probe_names"]


@dataclass(frozen=True)
class Finding:
    """What a probe function returns; ``judge`` turns it into a verdict under the probe's name."""

    reason: str
    numbers: dict[str, float]
    passed: bool
    marks: TaskFlag | None = None


Probe = Callable[[Evidence, Calibration], Finding]
_PROBES: dict[str, tuple[int, Probe]] = {}


def probe(name: str, stage: int) -> Callable[[Probe], Probe]:
    """Register a probe function under ``name``; ``accept`` runs them by rising ``stage``."""

    def add(function: Probe) -> Probe:
        if name in _PROBES:
            raise ValueError(f"two probes are named {name!r}")
        _PROBES[name] = (stage, function)
        return function

    return add


def probe_names() -> tuple[str, ...]:
    """The names of all probes, in the order in which ``accept`` runs them."""
    return tuple(sorted(_PROBES, key=lambda name: (_PROBES[name][0], name)))


@one_thread
def judge(name: str, evidence: Evidence, calibration: Calibration) -> Verdict:
    """Run one probe.

    Raises:
        BadInput: there is no such probe; lists those there are.
    """
    if name not in _PROBES:
        raise BadInput(f"unknown probe {name!r}; choose from {', '.join(probe_names())}")
    found = _PROBES[name][1](evidence, calibration)
    return Verdict(probe=name, passed=found.passed, marks=found.marks, reason=found.reason, numbers=found.numbers)


class Acceptance(VersionedRecord):
    """``acceptance.json``: every verdict with its numbers, and what follows from them.

    Attributes:
        passed: whether every probe passed.
        flags: what the probes marked, in their order.
        reason: ``probe: reason`` of the first that failed; empty if none did.
    """

    verdicts: tuple[Verdict, ...]
    passed: bool
    flags: tuple[TaskFlag, ...] = ()
    reason: str = ""


def accept(evidence: Evidence, calibration: Calibration | None = None) -> Acceptance:
    """Run every probe on one candidate task, the later ones also where an earlier one fails.

    Args:
        evidence: the task and all that was run on it.
        calibration: its calibration where it is at hand; made anew otherwise.

    Raises:
        MetricUndefined: the metric has no value on the Private rows.
    """
    known = calibration or calibrate(evidence)
    verdicts = tuple(judge(name, evidence, known) for name in probe_names())
    failed = [verdict for verdict in verdicts if not verdict.passed]
    return Acceptance(
        verdicts=verdicts,
        passed=not failed,
        flags=tuple(dict.fromkeys(verdict.marks for verdict in verdicts if verdict.marks)),
        reason=f"{failed[0].probe}: {failed[0].reason}" if failed else "",
    )
