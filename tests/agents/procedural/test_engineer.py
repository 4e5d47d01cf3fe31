"""The evaluator that the team writes, against the grader: same score, or the code of the same fault."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandmle.agents.procedural.engineer import ProceduralEngineer
from sandmle.agents.roles import TaskPlan
from sandmle.eval.acceptance.evaluator_probe import bad_submissions, judge_evaluator, random_submissions
from sandmle.eval.grading import grade_submission
from sandmle.eval.metrics import get_metric, metric_names
from sandmle.grades import GradeReport
from sandmle.submission import COLUMN_PER_CLASS
from sandmle.task import (
    Lineage,
    MadeBy,
    StructuralDNA,
    SubmissionFormat,
    Task,
    TaskManifest,
    Thresholds,
)

ROWS = 24
THRESHOLDS = Thresholds(median=0.5, bronze=0.6, silver=0.7, gold=0.8)
FALLING = Thresholds(median=0.8, bronze=0.7, silver=0.6, gold=0.5)
DIGITS = ("0", "1", "2")
FEW = ("a", "b", "3")
METRICS = {
    "roc_auc": {"kind": "probability", "classes": ("no", "yes")},
    "accuracy": {"kind": "label", "classes": ("calm", "mild", "wild")},
    "quadratic_kappa": {"kind": "label", "classes": DIGITS},
    "multiclass_log_loss": {"kind": "class_probabilities", "classes": DIGITS},
    "rmse": {"kind": "number"},
    "rmsle": {"kind": "number"},
    "r2": {"kind": "number"},
    "mean_column_auc": {"kind": "label_probabilities", "classes": FEW},
    "jaccard": {"kind": "label_set", "classes": FEW},
    "map_at_3": {"kind": "ranked_labels", "classes": ("a", "b", "3", "d"), "top": 3},
    "ndcg_at_5": {"kind": "relevance", "group_column": "query"},
    "edit_distance": {"kind": "text"},
    "dice": {"kind": "mask", "mask_shape": (3, 4)},
}
DNA = StructuralDNA(
    modality="tabular", problem_type="binary", metric="roc_auc", n_rows=99, n_numeric=3, n_categorical=1
)
CELLS = (
    "",
    " ",
    "1",
    "0",
    "1.0",
    "+1.",
    "-0.0",
    ".5",
    "5e-1",
    "1e999",
    "nan",
    "-Infinity",
    "1_0",
    "0x1",
    "\u0661",
    "0" * 600,
    "1e200",
    "-1",
    "yes",
    "calm",
    '"1"',
    '"1',
    "1,1",
    "\r",
    "\u2028",
    "row 3",
    "none",
    "None",
    "a",
    "a b",
    "b a 3.0 d",
    "a a",
    "none a",
    "1 2",
    "1 2 3",
    "1 2 2 1",
    "5 1 1 1",
    "12 1",
    "12 2",
    "1 0",
    "0 1",
    "1 99999999999999999999",
    "1 0000000000001",
    "x" * 1001,
    " \u00e9\u00e8 ",
)


class Judge:
    """A task with an evaluator, and both graders' answers to a file."""

    def __init__(self, plan: TaskPlan, root: Path) -> None:
        self.form = plan.submission
        lower = get_metric(plan.metric).lower_is_better
        thresholds = FALLING if lower else THRESHOLDS
        asyncio.run(ProceduralEngineer().write_evaluator(plan, thresholds, root, None))
        self.sample = _lay_out(self.form, plan.target, root)
        self.task = Task(root, _manifest(plan, thresholds))
        self.evaluator = runpy.run_path(str(root / "provenance" / "evaluator.py"))
        self.file = root / "submission.csv"

    def __call__(self, data: bytes, capsys: pytest.CaptureFixture[str]) -> tuple[GradeReport, dict[str, Any]]:
        self.file.write_bytes(data)
        return grade_submission(self.task, self.file), json.loads(self.print(self.file, capsys))

    def print(self, path: Path, capsys: pytest.CaptureFixture[str]) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.argv", ["evaluator.py", "--submission_path", str(path)])
            self.evaluator["main"]()
        return capsys.readouterr().out


def _lay_out(form: SubmissionFormat, target: str, root: Path) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    ids = [f"row {k}" for k in range(ROWS)] if len(form.classes) == 2 else list(range(100, 100 + ROWS))
    usage = ["Public" if k % 3 == 0 else "Private" for k in range(ROWS)]
    columns = {form.id_column: ids, target: [_true_cell(form, k, rng) for k in range(ROWS)]}
    if form.group_column:
        columns[form.group_column] = [f"{k % 3}.0" if k % 2 else k % 3 for k in range(ROWS)]
    answers = pd.DataFrame({**columns, "Usage": usage, "canary": "c"})
    (root / "prepared" / "private").mkdir(parents=True)
    answers.to_csv(root / "prepared" / "private" / "answers.csv", index=False)
    shown = {"label": 0, "label_set": "none", "ranked_labels": "b a", "text": "a", "mask": "none"}
    value = form.classes[0] if form.kind == "label" else shown.get(form.kind, 0.5)
    return answers[[form.id_column]].assign(**dict.fromkeys(form.prediction_columns, value))


def _true_cell(form: SubmissionFormat, k: int, rng: np.random.Generator) -> object:
    match form.kind:
        case "relevance":
            return k % 4
        case "number":
            return rng.gamma(2.0)
        case "text":
            return ("a b", "", "\u00e9t\u00e9", "none")[k % 4]
        case "mask":
            return ("none", "1 2 5 1", "", "12 1")[k % 4]
        case "label_set" | "label_probabilities":
            return ("a b", "none", "3", "", "3 b")[k % 5]
    return form.classes[k % len(form.classes)]


def _manifest(plan: TaskPlan, thresholds: Thresholds) -> TaskManifest:
    return TaskManifest(
        id=plan.task_id,
        title=plan.title,
        modality=plan.modality,
        problem_type=plan.problem_type,
        metric=plan.metric,
        lower_is_better=get_metric(plan.metric).lower_is_better,
        submission=plan.submission,
        thresholds=thresholds,
        lineage=Lineage(seed_id="draft", seed_family="draft", seed_source="bundled"),
        dna=plan.dna,
        made_by=MadeBy(team="procedural", versions={}),
        files={},
    )


@pytest.fixture(scope="module", params=METRICS)
def judge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """An evaluator of each kind of prediction, whatever kinds the drawn plans have."""
    return Judge(_plan(request.param), tmp_path_factory.mktemp(request.param))


def _plan(name: str) -> TaskPlan:
    facts = METRICS[name]
    columns = tuple(f"p_{label}" for label in facts["classes"]) if facts["kind"] in COLUMN_PER_CLASS else ("y",)
    return TaskPlan(
        task_id="engine-0123abcd",
        candidate=0,
        title="A task",
        modality="tabular",
        problem_type=sorted(get_metric(name).problem_types)[0],
        metric=name,
        target="y",
        submission=SubmissionFormat(id_column="row", prediction_columns=columns, **facts),
        dna=DNA,
        train_seeds=(1,),
        test_seed=2,
        n_train=20,
        n_test=100,
        rule_terms=(),
        details={},
    )


def edge_files(judge: Judge) -> dict[str, bytes]:
    """Files whose header, bytes or cells are odd; some are valid."""
    whole = judge.sample.to_csv(index=False, lineterminator="\n").encode()
    header, _, rows = whole.partition(b"\n")
    lines = whole.splitlines()
    huge = judge.sample.assign(**dict.fromkeys(judge.form.prediction_columns, "1e200"))
    longer = [*lines, *(b"surplus %d" % k + b",1" * len(judge.form.prediction_columns) for k in range(3))]
    return {
        "as is": whole,
        "no line end at the end": whole.rstrip(),
        "carriage returns": whole.replace(b"\n", b"\r"),
        "mark alone": b"\xef\xbb\xbf",
        "mark twice": b"\xef\xbb\xbf" * 2 + whole,
        "UTF-16": whole.decode().encode("utf-16"),
        "zip": b"PK\x03\x04" + whole,
        "shadow of the id column": b"\n".join(
            [lines[0] + b"," + lines[0].split(b",")[0] + b" ", *(line + b",1" for line in lines[1:])]
        ),
        "unnamed columns": b"\n".join([b",," + lines[0], *(b"1,2," + line for line in lines[1:])]),
        "quoted header": b'"' + header.replace(b",", b'","') + b'"\n' + rows,
        "tab header": header.replace(b",", b"\t") + b"\n" + rows,
        "every number overflows": huge.to_csv(index=False).encode(),
        "surplus rows": b"\n".join(longer),
        "ragged past the surplus": b"\n".join([*longer, b"x"]),
        "surplus and missing rows": b"\n".join([lines[0], *longer[3:]]),
        "ragged after a duplicate": b"\n".join([lines[0], lines[1], *lines[1:], b"x"]),
        "no rows, ragged": header + b"\nx",
        "long line": whole + b"x" * (1 << 20) + b"y\n",
        "long cell": whole + b"x" * (1 << 18) + b"\n",
        "header alone": header,
        "comma": b",",
    }


def test_same_verdict_on_sound_broken_and_odd_files(judge: Judge, capsys: pytest.CaptureFixture[str]) -> None:
    domain = get_metric(judge.task.manifest.metric).domain
    drawn = random_submissions(judge.sample, judge.form, 8, seed=1, domain=domain)
    files = [*drawn, *bad_submissions(judge.sample, judge.form).values(), *edge_files(judge).values()]
    expected, printed = [], []
    for data in files:
        judge.file.write_bytes(data)
        expected.append(grade_submission(judge.task, judge.file))
        printed.append(judge.print(judge.file, capsys))
    verdict = judge_evaluator(expected, printed)
    assert verdict.passed, verdict.reason
    assert sum(report.valid for report in expected) > 8
    assert len({report.error for report in expected}) > 10


def test_a_number_whose_score_overflows_is_non_finite(judge: Judge, capsys: pytest.CaptureFixture[str]) -> None:
    report, printed = judge(edge_files(judge)["every number overflows"], capsys)
    assert printed.get("error") == report.error
    if judge.task.manifest.metric in ("rmse", "r2"):
        assert printed["score"] is None
        assert printed["error"] == "non_finite"


def test_links_folders_and_nothing_are_refused(
    judge: Judge, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    judge.file.write_bytes(edge_files(judge)["as is"])
    (tmp_path / "link.csv").symlink_to(judge.file)
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    for name in ("link.csv", "folder.csv", "pipe.csv", "nothing.csv", "nothing/at.all"):
        printed = json.loads(judge.print(tmp_path / name, capsys))
        assert printed["error"] == grade_submission(judge.task, tmp_path / name).error


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_same_verdict_on_mutated_files(judge: Judge, capsys: pytest.CaptureFixture[str], data: st.DataObject) -> None:
    rows = [list(judge.sample), *judge.sample.astype(str).to_numpy().tolist()]
    for mutate in data.draw(st.lists(st.sampled_from(MUTATIONS), max_size=3)):
        rows = mutate(rows, partial(pick, data))
    text = data.draw(st.sampled_from(("\n", "\r\n", "\n\n"))).join(",".join(row) for row in rows)
    report, printed = judge(text.encode(), capsys)
    assert printed.get("error") == report.error
    if report.score is None:
        assert printed["score"] is None
    else:
        assert abs(printed["score"] - report.score) <= 1e-12 * max(1.0, abs(report.score))


Rows = list[list[str]]
Pick = Callable[[Sequence[Any]], Any]


def pick(data: st.DataObject, options: Sequence[Any]) -> Any:
    return data.draw(st.sampled_from(options))


def other_cell(rows: Rows, pick: Pick) -> Rows:
    row, place = pick(range(len(rows))), pick(range(len(rows[0])))
    return [
        [pick(CELLS) if (r, c) == (row, place) else cell for c, cell in enumerate(line)] for r, line in enumerate(rows)
    ]


def other_column(rows: Rows, pick: Pick) -> Rows:
    place, cell = pick(range(len(rows[0]))), pick(CELLS)
    return [rows[0], *([cell if c == place else old for c, old in enumerate(line)] for line in rows[1:])]


def dropped_row(rows: Rows, pick: Pick) -> Rows:
    gone = pick(range(len(rows)))
    return [line for number, line in enumerate(rows) if number != gone or len(rows) == 1]


def repeated_row(rows: Rows, pick: Pick) -> Rows:
    return [*rows, pick(rows)]


def other_order(rows: Rows, pick: Pick) -> Rows:
    turn = pick(range(len(rows)))
    return [rows[0], *rows[1:][turn:], *rows[1:][:turn]]


def more_columns(rows: Rows, pick: Pick) -> Rows:
    name, first = pick(("", " ", "other", *rows[0], rows[0][0] + " ", rows[0][-1].upper())), pick((True, False))
    extra = [name, *("1" for _ in rows[1:])]
    return [[new, *line] if first else [*line, new] for new, line in zip(extra, rows, strict=True)]


def shorter_row(rows: Rows, pick: Pick) -> Rows:
    short = pick(range(len(rows)))
    return [line[:-1] or line if number == short else line for number, line in enumerate(rows)]


def spaced_cells(rows: Rows, pick: Pick) -> Rows:
    space, header = pick((" ", "\t", "\u00a0", "\u2003")), pick((True, False))
    return [
        line if number == 0 and not header else [space + cell + space for cell in line]
        for number, line in enumerate(rows)
    ]


MUTATIONS = (
    other_cell,
    other_column,
    dropped_row,
    repeated_row,
    other_order,
    more_columns,
    shorter_row,
    spaced_cells,
)


@pytest.mark.parametrize("name", metric_names())
def test_an_evaluator_of_every_metric_defines_each_name_once(name: str, tmp_path: Path) -> None:
    like = next(key for key in METRICS if get_metric(key).prediction == get_metric(name).prediction)
    plan = _plan(like).model_copy(update={"metric": name})
    asyncio.run(ProceduralEngineer().write_evaluator(plan, THRESHOLDS, tmp_path, None))
    tree = ast.parse((tmp_path / "provenance" / "evaluator.py").read_text())
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    constants = [
        leaf.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for leaf in ast.walk(node.targets[0])
        if isinstance(leaf, ast.Name)
    ]
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    assert len({*functions, *constants}) == len(functions) + len(constants)
    assert {*functions, *constants} <= used


@pytest.mark.parametrize("name", ["edit_distance", "ndcg_at_5", "dice"])
def test_it_runs_as_a_script_of_its_own(name: str, tmp_path: Path) -> None:
    judge = Judge(_plan(name), tmp_path)
    judge.file.write_bytes(random_submissions(judge.sample, judge.form, 1, seed=4)[0])
    command = [sys.executable, "-I", "provenance/evaluator.py", "--submission_path", "submission.csv"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    verdict = judge_evaluator([grade_submission(judge.task, judge.file)], [ran.stdout])
    assert verdict.passed, verdict.reason
