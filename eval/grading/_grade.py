"""The grader proper: (task, submission) to ``GradeReport``."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from sandmle.errors import BadInput
from sandmle.eval.grading._answers import AnswerKey, load_answers
from sandmle.eval.grading._fault import InvalidSubmission
from sandmle.eval.grading._submission import decode_submission, read_bytes, size_limit
from sandmle.eval.grading.boards import read_boards, with_boards
from sandmle.eval.grading.medals import medal_of
from sandmle.eval.grading.original import read_original, score_by_original
from sandmle.eval.metrics import Metric, MetricUndefined, Values, get_metric
from sandmle.grades import GradeError, GradeReport
from sandmle.task import SubmissionFormat, Task, TaskManifest

__all__ = ["grade_bytes", "grade_predictions", "grade_submission", "invalid_report"]


def grade_submission(
    task: Task, submission: Path, *, key: AnswerKey | None = None, max_bytes: int | None = None
) -> GradeReport:
    """Grade the submission file of a task.

    Args:
        task: the task.
        submission: the file; it need not exist, and nothing about it is trusted.
        key: the task's answers where they are at hand; read anew if None.
        max_bytes: largest file that is read; None for ``size_limit(task)``.

    Returns:
        The score on the Private rows with medal and tiers, or the code of the first fault.

    Raises:
        BadInput: the *task* is broken (its answers, or a metric that does not fit its submission).
        InfraError: the machine could not read the file, or a benchmark's own grader failed.
        EnvironmentProblem: a benchmark's own grader is not installed.
    """
    limit = max_bytes or size_limit(task)
    try:
        data = read_bytes(submission, limit)
    except InvalidSubmission as fault:
        return invalid_report(task.manifest, fault.code, fault.detail)
    return _grade(task, data, key, limit)


def grade_bytes(task: Task, data: bytes, *, max_bytes: int | None = None) -> GradeReport:
    """Grade a submission that was already read, such as out of a sandbox; see ``grade_submission``.

    Raises:
        BadInput: the *task* is broken.
        InfraError: a benchmark's own grader failed.
        EnvironmentProblem: a benchmark's own grader is not installed.
    """
    return _grade(task, data, None, max_bytes or size_limit(task))


def grade_predictions(manifest: TaskManifest, key: AnswerKey, prediction: Values) -> GradeReport:
    """Grade predictions that are already decoded.

    Args:
        manifest: the task.
        key: its n hidden labels.
        prediction: aligned with ``key``, as ``Metric.score`` takes it.

    Raises:
        BadInput: the task's metric does not fit its submission.
    """
    metric, _ = _metric(manifest)
    try:
        score = _score(metric, key.truth[key.private], prediction[key.private])
    except InvalidSubmission as fault:
        return invalid_report(manifest, fault.code, fault.detail)
    return _report(manifest, score, _public_score(metric, key, prediction))


def invalid_report(manifest: TaskManifest, code: GradeError, detail: str) -> GradeReport:
    """The report of a submission that has no score."""
    return GradeReport(
        task_id=manifest.id,
        metric=manifest.metric,
        lower_is_better=manifest.lower_is_better,
        error=code,
        detail=detail,
        thresholds=manifest.thresholds,
    )


def _grade(task: Task, data: bytes, key: AnswerKey | None, max_bytes: int) -> GradeReport:
    original = read_original(task)
    try:
        if original is not None:
            report = _report(task.manifest, score_by_original(task, original, data), None)
        else:
            report = _grade_decoded(task, data, key or load_answers(task), max_bytes)
    except InvalidSubmission as fault:
        return invalid_report(task.manifest, fault.code, fault.detail)
    boards = read_boards(task)
    return report if boards is None else with_boards(report, boards)


def _grade_decoded(task: Task, data: bytes, key: AnswerKey, max_bytes: int) -> GradeReport:
    metric, form = _metric(task.manifest)
    prediction = decode_submission(data, form, key, domain=metric.domain, max_bytes=max_bytes)
    return grade_predictions(task.manifest, key, prediction)


def _report(manifest: TaskManifest, score: float, public_score: float | None) -> GradeReport:
    thresholds, lower = manifest.thresholds, manifest.lower_is_better
    return GradeReport(
        task_id=manifest.id,
        metric=manifest.metric,
        lower_is_better=lower,
        score=score,
        public_score=public_score,
        thresholds=thresholds,
        medal=medal_of(score, thresholds, lower_is_better=lower) if thresholds else None,
        above_median=thresholds is not None and (score < thresholds.median if lower else score > thresholds.median),
        reached=thresholds.reached(score, lower_is_better=lower) if thresholds else (),
    )


def _metric(manifest: TaskManifest) -> tuple[Metric, SubmissionFormat]:
    """The task's metric, and the format that it scores."""
    metric, form = get_metric(manifest.metric), manifest.submission
    if form is None or metric.prediction != form.kind:
        holds = "in a format of its benchmark" if form is None else f"holds a {form.kind}"
        raise BadInput(
            f"task {manifest.id}: {metric.name} scores a {metric.prediction}, but a submission {holds}; mend task.json"
        )
    if metric.lower_is_better != manifest.lower_is_better:
        raise BadInput(f"task {manifest.id}: lower_is_better is not that of {metric.name}; mend task.json")
    return metric, form


def _score(metric: Metric, truth: Values, prediction: Values) -> float:
    try:
        with np.errstate(all="ignore"):
            score = metric.score(truth, prediction)
    except MetricUndefined as error:
        raise InvalidSubmission(GradeError.METRIC_UNDEFINED, str(error)) from error
    if not math.isfinite(score):
        raise InvalidSubmission(GradeError.NON_FINITE, f"{metric.name} of these predictions is not finite")
    return score


def _public_score(metric: Metric, key: AnswerKey, prediction: Values) -> float | None:
    public = key.public
    if not public.any():
        return None
    try:
        return _score(metric, key.truth[public], prediction[public])
    except InvalidSubmission:
        return None
