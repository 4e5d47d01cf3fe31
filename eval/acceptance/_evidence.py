"""What a probe may look at, and what it answers.

Vocabulary:
    rung         one baseline of the ladder: ``dummy``, ``informed``, and the generic ones (every other name)
    redraw       one draw of the training rows; each rung is run on three, always against the same test rows
    private      the test rows that decide (70 %); the others are Public
    better       ``sign * score``, so that larger is better for every metric
    verdict      one probe's answer, with the numbers it rests on
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, field_validator

from sandmle.eval.metrics import Array, Metric
from sandmle.record import Record
from sandmle.task import SubmissionFormat, TaskFlag

__all__ = ["DUMMY", "INFORMED", "Evidence", "Verdict"]

DUMMY = "dummy"
INFORMED = "informed"


@dataclass(frozen=True)
class Evidence:
    """One candidate task with everything that was run on it.

    Every prediction is aligned to the rows of ``test`` and has the form that ``metric.score`` takes: class indices or
    numbers of shape (n_test,), or probabilities of shape (n_test,) or (n_test, K).

    Attributes:
        metric: how predictions are scored.
        submission: what a submission looks like.
        train: public training rows, target included, as agents see them (redraw 0).
        test: public test rows, in file order.
        sample: the public sample submission.
        truth: hidden class indices or numbers, shape (n_test,).
        private: which test rows are Private, shape (n_test,).
        predictions: rung name to one prediction per training redraw.
        bayes: the Bayes-optimal prediction for the metric.
        search: predictions of the discoverability search on the first redraws; empty where it was not run.
        target: name of the column to predict.
        seed: non-negative seed of the probes' own generators.
    """

    metric: Metric
    submission: SubmissionFormat
    train: pd.DataFrame
    test: pd.DataFrame
    sample: pd.DataFrame
    truth: Array
    private: NDArray[np.bool_]
    predictions: Mapping[str, tuple[Array, ...]]
    bayes: Array
    search: tuple[Array, ...]
    target: str
    seed: int

    def __post_init__(self) -> None:
        if missing := {DUMMY, INFORMED} - self.predictions.keys():
            raise ValueError(f"no predictions of the rung(s) {', '.join(sorted(missing))}")
        if not self.generic_rungs:
            raise ValueError("no predictions of a generic rung")
        if idle := [name for name, runs in self.predictions.items() if not runs]:
            raise ValueError(f"no redraw of the rung(s) {', '.join(idle)}")
        lengths = {f"rung {name}": {len(run) for run in runs} for name, runs in self.predictions.items()}
        lengths |= {"bayes": {len(self.bayes)}, "search": {len(run) for run in self.search}}
        lengths |= {"private": {len(self.private)}, "test": {len(self.test)}, "sample": {len(self.sample)}}
        for name, found in lengths.items():
            if found - {len(self.truth)}:
                raise ValueError(f"{name}: not aligned to the {len(self.truth)} hidden labels")

    @property
    def sign(self) -> float:
        """Factor that makes larger better: -1 for a metric where lower is better."""
        return -1.0 if self.metric.lower_is_better else 1.0

    @property
    def generic_rungs(self) -> tuple[str, ...]:
        """Names of the rungs that know nothing of the rule and are not the dummy, in the order given."""
        return tuple(name for name in self.predictions if name not in (DUMMY, INFORMED))

    def score(self, prediction: Array, rows: NDArray[np.bool_] | None = None) -> float:
        """Score of ``prediction`` in the metric's own units, on the Private rows unless ``rows`` says otherwise.

        Raises:
            MetricUndefined: the metric has no value on these rows.
        """
        chosen = self.private if rows is None else rows
        return float(self.metric.score(self.truth[chosen], prediction[chosen]))

    def generator(self, stream: str) -> np.random.Generator:
        """The random generator of one probe: depends on ``seed`` and the probe's name alone."""
        return np.random.default_rng([self.seed, zlib.crc32(stream.encode())])


class Verdict(Record):
    """What one probe found.

    Attributes:
        probe: its name.
        passed: whether the task may be kept; a probe that only marks always passes.
        marks: the flag that the task earns, if any.
        reason: one sentence for a person, empty where there is nothing to say.
        numbers: what the verdict rests on; values that are not finite are left out.
    """

    probe: str
    passed: bool
    marks: TaskFlag | None = None
    reason: str = ""
    numbers: dict[str, float] = Field(default_factory=dict)

    @field_validator("numbers")
    @classmethod
    def _finite_only(cls, value: dict[str, float]) -> dict[str, float]:
        return {name: number for name, number in value.items() if math.isfinite(number)}
