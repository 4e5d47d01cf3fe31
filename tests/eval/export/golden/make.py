"""Makes ``mlebench.tar.xz``: ten exported tasks, 50 submissions each, and what MLE-bench's own code says of them.

    python make.py TASKS CHECKOUT MLE_BENCH_PYTHON

TASKS is a folder that ``sandmle synthesize --mix paper`` filled, CHECKOUT a copy of MLE-bench that gets our entries,
MLE_BENCH_PYTHON an interpreter that imports it and has its libraries (docs/mle-bench.md). The hidden test of each task
is cut to its first ``ROWS`` rows, so that the archive stays small; thresholds stay as they are.

    tasks/<id>/              task.json and the hidden answers
    submissions/<id>/*.csv   of which ``good-*`` hold the truth in more and more rows
    verdicts.json            {"<id>/<name>": report of MLE-bench, or {"crash": what it died of}}
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from sandmle.eval.acceptance.evaluator_probe import bad_submissions, random_submissions
from sandmle.eval.export import export_mlebench
from sandmle.eval.grading import grade_submission
from sandmle.eval.metrics import get_metric
from sandmle.submission import COLUMN_PER_CLASS, EMPTY, SubmissionFormat
from sandmle.task import Task, load_tasks

TASKS, SUBMISSIONS, ROWS, SEED = 10, 50, 60, 7
GOOD = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)
GRADE = """
import json, sys
from pathlib import Path
from mlebench.grade import grade_csv
from mlebench.registry import registry
data, submissions = map(Path, sys.argv[1:])
verdicts = {}
for folder in sorted(submissions.iterdir()):
    competition = registry.set_data_dir(data).get_competition(folder.name)
    for path in sorted(folder.iterdir()):
        try:
            found = grade_csv(path, competition).to_dict()
            del found["created_at"], found["submission_path"]
        except Exception as error:
            found = {"crash": f"{type(error).__name__}: {error}"[:100]}
        verdicts[f"{folder.name}/{path.name}"] = found
print(json.dumps(verdicts))
"""


def main(tasks: Path, checkout: Path, python: str) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        for task in _chosen(tasks, root / "tasks"):
            folder = root / "submissions" / task.id
            folder.mkdir(parents=True)
            for name, data in _submissions(task).items():
                (folder / f"{name}.csv").write_bytes(data)
        export_mlebench(load_tasks(root / "tasks"), root / "exported")
        shutil.copytree(root / "exported/competitions", checkout / "mlebench/competitions", dirs_exist_ok=True)
        command = [python, "-c", GRADE, str(root / "exported/data"), str(root / "submissions")]
        printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout
        _pack(root, json.loads(printed.splitlines()[-1]))


def _chosen(folder: Path, out: Path) -> list[Task]:
    """Ten tasks, cut: a new kind of prediction or modality each, as far as there are, then new metrics."""
    found: list[Task] = []
    seen: set[str] = set()
    for wanted in (2, 1, 0):
        for task in load_tasks(folder):
            facts = {task.manifest.modality, task.manifest.submission.kind}
            new = task.manifest.metric not in seen and len(facts - seen) >= wanted
            if len(found) < TASKS and new and (cut := _cut(task, out)):
                found.append(cut)
                seen |= facts | {task.manifest.metric}
    return found


def _cut(task: Task, out: Path) -> Task | None:
    """A copy of ``task`` with the first rows of its hidden test alone; None where its metric has no value on them."""
    root = out / task.id
    shutil.copytree(task.root, root)
    answers = pd.read_csv(task.answers, dtype=str, keep_default_na=False).head(ROWS)
    sample = pd.read_csv(task.public / "sample_submission.csv", dtype=str, keep_default_na=False)
    ids = task.manifest.submission.id_column
    answers.to_csv(root / "prepared/private/answers.csv", index=False)
    sample[sample[ids].isin(answers[ids])].to_csv(root / "prepared/public/sample_submission.csv", index=False)
    (root / "task.json").write_text(task.manifest.model_copy(update={"files": {}}).to_text())
    cut = Task.load(root)
    perfect = root / "perfect.csv"
    perfect.write_bytes(_good(cut, 1.0))
    if not grade_submission(cut, perfect).valid:
        shutil.rmtree(root)
        return None
    perfect.unlink()
    return cut


def _submissions(task: Task) -> dict[str, bytes]:
    form, sample = task.manifest.submission, pd.read_csv(task.public / "sample_submission.csv")
    found = {f"bad-{name}": data for name, data in bad_submissions(sample, form).items()}
    found |= {f"good-{share:g}": _good(task, share) for share in GOOD}
    domain = get_metric(task.manifest.metric).domain
    more = random_submissions(sample, form, SUBMISSIONS - len(found), SEED, domain)
    return found | {f"random-{number:02}": _rounded(data) for number, data in enumerate(more)}


def _rounded(data: bytes) -> bytes:
    """Four places are as good as sixteen, and smaller."""
    return re.sub(rb"(\d\.\d{4})\d+(?![\de])", rb"\1", data)


def _good(task: Task, share: float) -> bytes:
    """A submission that holds the truth in a ``share`` of its rows and another row's truth in the others."""
    form = task.manifest.submission
    answers = pd.read_csv(task.answers, dtype=str, keep_default_na=False)
    rng = np.random.default_rng([SEED, round(100 * share)])
    target = form.prediction_columns[0]
    if form.kind in COLUMN_PER_CLASS:
        (target,) = set(answers) - {form.id_column, "Usage", "canary"}
    truth = answers[target].to_numpy(object)
    kept = rng.random(len(truth)) < share
    given = np.where(kept, truth, rng.permutation(truth))
    table = pd.DataFrame([_cells(cell, form) for cell in given], columns=form.prediction_columns)
    table.insert(0, form.id_column, answers[form.id_column])
    return table.to_csv(index=False, lineterminator="\n").encode()


def _cells(truth: str, form: SubmissionFormat) -> list[str]:
    """The prediction columns that say ``truth``."""
    if form.kind in COLUMN_PER_CLASS:
        labels = [truth] if form.kind == "class_probabilities" else truth.split()
        return ["0.97" if name in labels else "0.01" for name in form.classes]
    if form.kind == "probability":
        return ["0.97" if truth == form.classes[1] else "0.01"]
    return [truth or EMPTY]


def _pack(root: Path, verdicts: dict[str, object]) -> None:
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(found)}" for name, found in verdicts.items())
    (root / "verdicts.json").write_text(f"{{\n{lines}\n}}\n")
    kept = [root / "verdicts.json", *sorted(root.glob("submissions/*/*.csv"))]
    kept += [*sorted(root.glob("tasks/*/task.json")), *sorted(root.glob("tasks/*/prepared/private/answers.csv"))]
    with tarfile.open(Path(__file__).with_name("mlebench.tar.xz"), "w:xz", preset=9) as archive:
        for path in kept:
            entry = tarfile.TarInfo(path.relative_to(root).as_posix())
            entry.size = path.stat().st_size
            with path.open("rb") as stream:
                archive.addfile(entry, stream)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
