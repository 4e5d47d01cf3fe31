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
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pydantic import Field, field_validator

from sandmle.eval.metrics import Metric, Values
from sandmle.record import Record
from sandmle.task import PredictionKind, SubmissionFormat, TaskFlag, TaskLimits

__all__ = ["DUMMY", "INFORMED", "Evidence", "Verdict"]

DUMMY = "dummy"
INFORMED = "informed"


@dataclass(frozen=True)
class Evidence:
    """One candidate task with everything that was run on it.

    Truth and predictions are aligned to the rows of ``test`` and have the form that ``metric.score`` takes: (n_test,)
    class indices, numbers, probabilities or texts; (n_test, K) per class or label; (n_test, top) ranked labels;
    (n_test, height * width) pixels; and, for the truth of ``relevance`` alone, (n_test, 2) relevance and group number.

    Attributes:
        metric: how predictions are scored.
        submission: what a submission looks like.
        train: public training rows, target included, as agents see them (redraw 0).
        test: public test rows, in file order.
        sample: the public sample submission.
        truth: the hidden labels.
        private: which test rows are Private, shape (n_test,).
        predictions: rung name to one prediction per training redraw.
        bayes: the Bayes-optimal prediction for the metric.
        search: predictions of the discoverability search on the first redraws; empty where it was not run.
        target: name of the column to predict.
        seed: non-negative seed of the probes' own generators.
        features: numeric features of the items of train and of test, worked out in a sandbox where a table does not
            show them (pictures, sounds, texts, series, graphs); rows as in ``train`` and ``test``.
        files: one row per public file that belongs to an item, as ``describe_files`` makes it; None without files.
        declared_shift: columns and features of which the brief says that they differ between train and test.
        cpu_seconds: rung name to the CPU seconds of its slowest run; empty where they were not measured.
        limits: what a step of an agent may use.
        expectation: what the rule expects of each hidden label given everything but its noise: class probabilities or
            label shares of shape (n_test, K), a mean relevance, number or count of pixels of shape (n_test,). It lets
            the audit see label noise where ``bayes`` is a bare label; None where it is not known.
        searches: number of ideas to the search's predictions with that many, on the first redraws.
    """

    metric: Metric
    submission: SubmissionFormat
    train: pd.DataFrame
    test: pd.DataFrame
    sample: pd.DataFrame
    truth: Values
    private: NDArray[np.bool_]
    predictions: Mapping[str, tuple[Values, ...]]
    bayes: Values
    search: tuple[Values, ...]
    target: str
    seed: int
    features: tuple[pd.DataFrame, pd.DataFrame] | None = None
    files: pd.DataFrame | None = None
    declared_shift: tuple[str, ...] = ()
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)
    limits: TaskLimits = field(default_factory=TaskLimits)
    expectation: Values | None = None
    searches: Mapping[int, tuple[Values, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if missing := {DUMMY, INFORMED} - self.predictions.keys():
            raise ValueError(f"no predictions of the rung(s) {', '.join(sorted(missing))}")
        if not self.generic_rungs:
            raise ValueError("no predictions of a generic rung")
        if idle := [name for name, runs in self.predictions.items() if not runs]:
            raise ValueError(f"no redraw of the rung(s) {', '.join(idle)}")
        lengths = {f"rung {name}": {len(run) for run in runs} for name, runs in self.predictions.items()}
        lengths |= {"bayes": {len(self.bayes)}, "search": {len(run) for run in self.search}}
        lengths |= {f"search with {ideas} ideas": {len(run) for run in runs} for ideas, runs in self.searches.items()}
        lengths |= {"expectation": {len(self.expectation)}} if self.expectation is not None else {}
        lengths |= {"private": {len(self.private)}, "test": {len(self.test)}, "sample": {len(self.sample)}}
        for name, found in lengths.items():
            if found - {len(self.truth)}:
                raise ValueError(f"{name}: not aligned to the {len(self.truth)} hidden labels")
        if self.features and [len(table) for table in self.features] != [len(self.train), len(self.test)]:
            raise ValueError("features: not aligned to the rows of train and test")

    @property
    def kind(self) -> PredictionKind:
        """What a submission holds."""
        return self.submission.kind

    @property
    def sign(self) -> float:
        """Factor that makes larger better: -1 for a metric where lower is better."""
        return -1.0 if self.metric.lower_is_better else 1.0

    @property
    def generic_rungs(self) -> tuple[str, ...]:
        """Names of the rungs that know nothing of the rule and are not the dummy, in the order given."""
        return tuple(name for name in self.predictions if name not in (DUMMY, INFORMED))

    def score(self, prediction: Values, rows: NDArray[np.bool_] | None = None) -> float:
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
