"""Suites: named sets of tasks that an evaluation runs on.

A suite is written as its kind, with a colon and a place where the kind asks for one: ``synthetic:DIR``, ``bundled``.
One file a kind; each registers itself, so that adding a kind is adding a file (and its name to ``_registry``).

Vocabulary:
    kind       what a suite's tasks are and where they come from
    sources    where a kind's parts lie on this machine: data, code, grader
    prepared   turned into task folders in ``DATA_DIR/suites/<kind>``, which is all that an evaluation reads
"""

from sandmle.eval.suites._kind import Preparation, Sources, Suite, SuiteKind
from sandmle.eval.suites._registry import get_kind, load_suite, prepare_suite, suite_kinds

__all__ = [
    "Preparation",
    "Sources",
    "Suite",
    "SuiteKind",
    "get_kind",
    "load_suite",
    "prepare_suite",
    "suite_kinds",
]
