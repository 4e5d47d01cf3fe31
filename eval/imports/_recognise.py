"""Which metric of ours is a foreign evaluator's: the one that scores every probe as the evaluator does.

The sample submission leaves few readings; for each form that is left, the evaluator scores the truth and a few random
submissions. A reading is recognised if it agrees on all of them (within ``TOLERANCE``, relative above 1; evaluators may
round) and the evaluator took at least half. Classes written in words have no order of their own, so metrics of ordered
classes are tried in every order.
"""

from __future__ import annotations

import tempfile
import zlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd

from sandmle.errors import BadInput
from sandmle.eval.acceptance import random_columns
from sandmle.eval.grading import AnswerKey, InvalidSubmission, decode_submission, read_answers
from sandmle.eval.imports._evaluator import Printed
from sandmle.eval.imports._forms import Candidate, candidates
from sandmle.eval.imports._record import Refused
from sandmle.eval.imports._tables import USAGE, Tables
from sandmle.eval.metrics import Metric, MetricUndefined, get_metric, metric_names

__all__ = ["Reading", "Recognised", "probes_of", "recognise"]

TOLERANCE = 1e-5
PROBES = 8
ORDERED = ("ordinal_mae", "quadratic_kappa")
MAX_ORDERED = 5
Run = Callable[[Sequence[bytes]], Awaitable[list[Printed]]]
"""Runs the evaluator on submissions."""


@dataclass(frozen=True)
class Reading:
    """A form and a metric; ``key`` is the truth as the form reads it."""

    candidate: Candidate
    metric: Metric
    key: AnswerKey

    def score(self, submission: bytes) -> float | None:
        """Our score on the Private rows; None where there is none."""
        form, private = self.candidate.form, self.key.private
        try:
            found = decode_submission(submission, form, self.key, domain=self.metric.domain)
            with np.errstate(all="ignore"):
                score = self.metric.score(self.key.truth[private], found[private])
        except (InvalidSubmission, MetricUndefined):
            return None
        return score if np.isfinite(score) else None

    def gap(self, submission: bytes, printed: Printed) -> float:
        """How far our score is from the evaluator's, relative above 1; infinite where only one of us has one."""
        ours = self.score(submission)
        if ours is None or printed.score is None:
            return np.inf
        return abs(ours - printed.score) / max(1.0, abs(printed.score))


@dataclass(frozen=True)
class Recognised:
    """The reading that agrees, on how many probes and how closely, and the names of others that agree too."""

    reading: Reading
    tables: Tables
    probes: int
    worst: float
    alike: tuple[str, ...]
    perfect: Printed


async def recognise(tables: Tables, sample: bytes, shown: Printed, run: Run, task_id: str) -> Recognised:
    """Find the form and the metric.

    Args:
        tables: sample submission and answers.
        sample: the bytes of the sample submission.
        shown: what the evaluator printed for it.
        run: runs the evaluator.
        task_id: of the task that is to be made.

    Raises:
        Refused: none of ours agrees.
        InfraError: the sandbox failed.
    """
    for given in [tables, *([_all_private(tables)] if USAGE in tables.answers else [])]:
        for candidate in candidates(given):
            close = [each for each in _readings(candidate, given, task_id) if each.gap(sample, shown) <= TOLERANCE]
            if close:
                probes = probes_of(candidate, given)
                printed = await run(probes)
                found = _agreeing(close, probes, printed)
                if found:
                    best, worst, count = found[0]
                    alike = sorted({each.metric.name for each, _, _ in found} - {best.metric.name})
                    return Recognised(best, given, count + 1, worst, tuple(alike), printed[0])
    raise Refused("its evaluator scores by none of our metrics, so our grader can't grade it")


def _all_private(tables: Tables) -> Tables:
    """The same without ``Usage``: an evaluator may score all rows."""
    return replace(tables, answers=tables.answers.drop(columns=USAGE))


def _readings(candidate: Candidate, tables: Tables, task_id: str) -> Iterator[Reading]:
    """The candidate with every metric that takes its kind, and with every order of classes that have none."""
    for name in metric_names():
        metric = get_metric(name)
        if metric.prediction == candidate.form.kind:
            for each in _orders(candidate) if name in ORDERED else [candidate]:
                key = _key(each, tables, task_id)
                if key is not None:
                    yield Reading(each, metric, key)


def _orders(candidate: Candidate) -> Iterator[Candidate]:
    classes = candidate.form.classes
    spelled = any(not label.lstrip("-").replace(".", "", 1).isdigit() for label in classes)
    for order in permutations(classes) if spelled and len(classes) <= MAX_ORDERED else [classes]:
        yield replace(candidate, form=candidate.form.model_copy(update={"classes": order}))


def _key(candidate: Candidate, tables: Tables, task_id: str) -> AnswerKey | None:
    with tempfile.TemporaryDirectory(prefix="sandmle-import-") as scratch:
        path = Path(scratch) / "answers.csv"
        candidate.answers(tables, task_id).to_csv(path, index=False, lineterminator="\n")
        try:
            return read_answers(path, candidate.form)
        except BadInput:
            return None


def probes_of(candidate: Candidate, tables: Tables, n: int = PROBES) -> list[bytes]:
    """The truth as a submission, then ``n`` random submissions; the same for the same answers."""
    form, shown, low = candidate.form, tables.sample, -np.inf
    draw = np.random.default_rng(zlib.crc32(shown.to_csv().encode()))
    if form.kind == "number":
        shown = shown.assign(**{name: pd.to_numeric(shown[name]) for name in form.prediction_columns})
        low = 0.0 if pd.to_numeric(pd.Series(candidate.truth)).min() >= 0 else low
    frames = [candidate.perfect(tables)]
    for _ in range(n):
        values = random_columns(draw, shown, form, (low, np.inf))
        columns = dict(zip(form.prediction_columns, values, strict=True))
        frames.append(pd.DataFrame({form.id_column: shown[form.id_column], **columns}))
    return [frame.to_csv(index=False, lineterminator="\n").encode() for frame in frames]


def _agreeing(
    readings: Sequence[Reading], probes: Sequence[bytes], printed: Sequence[Printed]
) -> list[tuple[Reading, float, int]]:
    """Readings that agree on all probes which the evaluator scored, the closest first; how closely, on how many."""
    scored = [index for index, each in enumerate(printed) if each.score is not None]
    if 0 not in scored or len(scored) <= len(probes) // 2:
        return []
    found = [(each, max(each.gap(probes[index], printed[index]) for index in scored), len(scored)) for each in readings]
    return sorted((each for each in found if each[1] <= TOLERANCE), key=lambda each: each[1])
