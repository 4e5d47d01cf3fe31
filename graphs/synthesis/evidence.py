"""What the probes look at, read from the folder of a trial."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

from sandmle.agents.roles import TaskPlan
from sandmle.eval.acceptance import MAX_IDEAS, Evidence, describe_files
from sandmle.eval.grading import AnswerKey, InvalidSubmission, read_answers, read_submission
from sandmle.eval.metrics import Values, get_metric
from sandmle.grades import GradeError
from sandmle.graphs.synthesis.trial import IDEAS
from sandmle.submission import SubmissionFormat

__all__ = ["expectation_of", "features_of", "load_evidence"]


def load_evidence(plan: TaskPlan, trial: Path) -> Evidence:
    """All that the probes look at, read from the folder of a trial; without the search where it was not run.

    Raises:
        InvalidSubmission: a baseline wrote something that the grader refuses; names the file.
    """
    metric, form = get_metric(plan.metric), plan.submission
    key = read_answers(trial / "private" / "answers.csv", form)

    def read(path: Path) -> Values:
        try:
            return read_submission(path, form, key, domain=metric.domain)
        except InvalidSubmission as fault:
            raise InvalidSubmission(fault.code, f"{path.stem}: {fault.detail}") from fault

    predictions, public = trial / "predictions", trial / "redraw-0"
    train, test = pd.read_csv(public / "train.csv"), pd.read_csv(public / "test.csv")
    searches = {k: (read(path),) for k in IDEAS if (path := predictions / f"search-{k}.csv").exists()}
    return Evidence(
        metric=metric,
        submission=form,
        train=train,
        test=test,
        sample=pd.read_csv(public / "sample_submission.csv", keep_default_na=False),
        truth=key.truth,
        private=key.private,
        predictions={
            rung: tuple(read(predictions / f"{rung}-{index}.csv") for index in range(len(plan.train_seeds)))
            for rung in plan.rungs
        },
        bayes=read(trial / "private" / "bayes.csv"),
        search=searches.get(MAX_IDEAS, ()),
        searches=searches,
        features=features_of(trial, train, test, form.id_column),
        files=describe_files(public, train, test),
        cpu_seconds=json.loads((trial / "cpu_seconds.json").read_bytes()),
        target=plan.target,
        seed=plan.test_seed,
        declared_shift=plan.declared_shift,
        expectation=expectation_of(trial, key, form),
    )


def expectation_of(trial: Path, key: AnswerKey, form: SubmissionFormat) -> Values | None:
    """What the rule expects of the hidden labels in the order of ``key``; None if it is not told.

    Returns:
        Shape (n, K) with a column per class or label, or (n,).

    Raises:
        InvalidSubmission: rows, columns or numbers are not those of the task.
    """
    path = trial / "private" / "expectation.csv"
    if not path.exists():
        return None
    try:
        table = pd.read_csv(path, dtype={form.id_column: str}).set_index(form.id_column)
        chosen = table.loc[list(key.ids), list(form.classes or table.columns[:1])].to_numpy(np.float64)
    except (ValueError, LookupError) as error:
        raise InvalidSubmission(GradeError.UNPARSABLE, f"expectation: {error}") from error
    if chosen.shape != (len(key.ids), chosen.shape[1]) or not np.isfinite(chosen).all():
        raise InvalidSubmission(GradeError.NON_FINITE, "expectation: not one finite number a label")
    return chosen if form.classes else chosen[:, 0]


def features_of(
    trial: Path, train: pd.DataFrame, test: pd.DataFrame, id_column: str
) -> tuple[pd.DataFrame, pd.DataFrame] | None:
    """The search's features in the order of the tables; None for tables, which show all that they have."""
    folder = trial / "features"
    if not folder.exists():
        return None
    found = [pd.read_csv(folder / f"{split}.csv", index_col=id_column) for split in ("train", "test")]
    one, other = (
        part.loc[table[id_column]].reset_index(drop=True) for part, table in zip(found, (train, test), strict=True)
    )
    return one, other
