"""The command: read the public files and the brief, search, write one submission per budget.

``python search.py FACTS K1,K2,..`` runs where ``input/`` lies. FACTS is a JSON object with what the brief tells:
id_column, target, kind, metric, and where they apply classes, problem_type, prediction_columns, group_column, top,
mask_shape, quantile; ``style`` may ask for a policy without ideas. It writes submission.csv (largest K),
submission-<K>.csv, and, where there is more than a table, features-train.csv and features-test.csv: the id column and
what the front-ends computed.
"""

from __future__ import annotations

import csv
import io
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from sandmle.eval.acceptance.search.facts import Facts
from sandmle.eval.acceptance.search.finals import Finals
from sandmle.eval.acceptance.search.forms import submission
from sandmle.eval.acceptance.search.greedy import Search, folds_of
from sandmle.eval.acceptance.search.layout import Sheet, read_sheet
from sandmle.eval.acceptance.search.masks import mask_submissions
from sandmle.eval.acceptance.search.rewriting import text_submissions
from sandmle.eval.acceptance.search.tables import read_table
from sandmle.eval.acceptance.search.targets import read_target

__all__ = ["main"]

MEAN_METRICS = ("rmse", "r2", "mse")


def main(arguments: list[str]) -> None:
    """Run the search; ``arguments`` are FACTS and the budgets."""
    warnings.filterwarnings("ignore")
    facts, budgets = Facts.read(arguments[0]), sorted({int(k) for k in arguments[1].split(",")})
    cheap = sklearn.config_context(assume_finite=True, skip_parameter_validation=True)
    with cheap, threadpool_limits(1):  # bits move with the number of threads
        found = submissions_of(facts, budgets)
    for budget in budgets:
        found[budget].to_csv(f"submission-{budget}.csv", index=False)
    found[budgets[-1]].to_csv("submission.csv", index=False)
    print(f"submission.csv: {len(found[budgets[-1]])} rows written")


def submissions_of(facts: Facts, budgets: list[int]) -> dict[int, pd.DataFrame]:
    """Whatever the task asks for, by budget."""
    if facts.kind == "text":
        return text_submissions(facts, budgets)
    if facts.kind == "mask":
        return mask_submissions(facts, budgets)
    sheet = read_sheet(facts)
    write_features(facts, sheet)
    return table_submissions(facts, sheet, budgets)


def table_submissions(facts: Facts, sheet: Sheet, budgets: list[int]) -> dict[int, pd.DataFrame]:
    """Search the table and the features for each budget."""
    seen = np.arange(len(sheet.table)) < len(sheet.train)
    both = read_table(sheet.table, seen, sheet.features)
    table, unseen = both.take(seen), both.take(~seen)
    target = read_target(facts, sheet.train)
    search = Search(table, target.y, facts.mode, folds_of(target.y, facts.mode, target.groups))
    finals = Finals(search, unseen)
    submissions = {}
    for budget in budgets:
        answer = finals.answer(search.run(budget)) if facts.style == "search" else finals.style(facts.style)
        bias = float(search.losses(answer.inside).mean()) if facts.metric in MEAN_METRICS else 0.0
        found, inside = target.back(answer.found, bias), target.back(answer.inside, bias)
        submissions[budget] = submission(facts, sheet.test[facts.id_column], found, inside, target.raw)
    return submissions


def write_features(facts: Facts, sheet: Sheet) -> None:
    """Write what the front-ends computed, if there are any."""
    if sheet.features.shape[1] == 0:
        return
    start = 0
    for name, frame in (("train", sheet.train), ("test", sheet.test)):
        part = sheet.features.iloc[start : start + len(frame)].to_numpy(np.float64)
        start += len(frame)
        row = ",".join(["%s", *["%.6g"] * part.shape[1]])
        names = io.StringIO()
        csv.writer(names, lineterminator="\n").writerow([facts.id_column, *sheet.features.columns])
        keys = [quoted(key) for key in frame[facts.id_column]]
        lines = [row % (key, *values) for key, values in zip(keys, part.tolist(), strict=True)]
        Path(f"features-{name}.csv").write_text(names.getvalue() + "\n".join(lines) + "\n", encoding="utf-8")


def quoted(key: str) -> str:
    """An id as a cell."""
    return '"' + key.replace('"', '""') + '"' if set(key) & set(',"\n') else key
