"""What a bundle may not hold, found before anything of it is run or copied."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sandmle.errors import BadInput
from sandmle.eval.imports import find_bundles
from sandmle.eval.imports._bundle import Bundle, open_bundle
from sandmle.eval.imports._forms import candidates
from sandmle.eval.imports._leaks import _telling, find_leak
from sandmle.eval.imports._recognise import Reading, Recognised
from sandmle.eval.imports._record import Refused
from sandmle.eval.imports._tables import MAX_COLUMNS, MAX_TABLE, read_table, read_tables
from sandmle.eval.metrics import get_metric

ROWS = 40
FILES = ("description.md", "sample_submission.csv", "test.csv", "evaluator.py", "answer.csv")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A task with every file that there must be."""
    public = tmp_path / "bundle" / "shop" / "prepared" / "public"
    public.mkdir(parents=True)
    for name in FILES:
        (public / name).write_text(f"id,sold\n1,{name}\n")
    return tmp_path / "bundle" / "shop"


def link_to_a_file(root: Path) -> None:
    (root / "prepared/public/passwords.txt").symlink_to("/etc/passwd")


def link_to_a_folder(root: Path) -> None:
    (root / "prepared/public/images").symlink_to("/etc")


def link_instead_of_the_task(root: Path) -> None:
    root.rename(root.with_name("elsewhere"))
    root.symlink_to("elsewhere")


def link_instead_of_the_evaluator(root: Path) -> None:
    (root / "prepared/public/evaluator.py").unlink()
    (root / "prepared/public/evaluator.py").symlink_to("test.csv")


def pipe(root: Path) -> None:
    os.mkfifo(root / "prepared/public/train.csv")


def name_with_terminal_codes(root: Path) -> None:
    (root / "prepared/public/\x1b[2Jtrain.csv").touch()


def name_of_odd_bytes(root: Path) -> None:
    (root / os.fsdecode(b"prepared/public/\xff.csv")).touch()


def two_evaluators(root: Path) -> None:
    (root / "evaluator").mkdir()
    (root / "evaluator/evaluator.py").touch()


def no_answers(root: Path) -> None:
    (root / "prepared/public/answer.csv").unlink()


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (link_to_a_file, "passwords.txt is a link"),
        (link_to_a_folder, "images is a link"),
        (link_instead_of_the_task, "shop is a link"),
        (link_instead_of_the_evaluator, "evaluator.py is a link"),
        (pipe, "neither a file nor a folder"),
        (name_with_terminal_codes, "holds control characters"),
        (name_of_odd_bytes, "is not UTF-8"),
        (two_evaluators, "both of evaluator/evaluator.py and"),
        (no_answers, "neither of prepared/private/answers.csv and"),
    ],
)
def test_odd_layouts_are_refused(root: Path, spoil, says: str) -> None:
    spoil(root)
    with pytest.raises(Refused, match=says):
        open_bundle(next(path for path in find_bundles(root.parent) if path.name == "shop"))


def test_only_listed_tasks_are_brought_in(root: Path) -> None:
    bundle = root.parent
    (bundle / "other/prepared/public").mkdir(parents=True)
    assert [path.name for path in find_bundles(bundle)] == ["other", "shop"]
    listed = bundle / "ok_competitions_sanity.json"
    listed.write_text('["shop", "../../etc"]')
    assert [path.name for path in find_bundles(bundle)] == ["shop"]
    assert find_bundles(root) == [root]
    for text, says in (('["none"]', "lists none"), ("[" * 100_000, "not a JSON list"), ("3", "not a JSON list")):
        listed.write_text(text)
        with pytest.raises(BadInput, match=says):
            find_bundles(bundle)


def test_two_tasks_never_become_one(root: Path) -> None:
    (root.parent / "Shop" / "prepared" / "public").mkdir(parents=True)
    with pytest.raises(BadInput, match="would both be the task shop"):
        find_bundles(root.parent)


def test_tables_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "answer.csv"
    with path.open("wb") as stream:
        stream.truncate(MAX_TABLE + 1)
    with pytest.raises(Refused, match="more than 256 MiB"):
        read_table(path)
    path.write_text("," * MAX_COLUMNS)
    with pytest.raises(Refused, match="more than 10000 columns"):
        read_table(path)
    for data in (b"", b"a,b\n1,2,3\n1,2,3,4\n", b"\xff\xfe\x00", b'a,b\n"1'):
        path.write_bytes(data)
        with pytest.raises(Refused, match="no CSV file"):
            read_table(path)


@pytest.fixture
def recognised(root: Path) -> tuple[Bundle, Recognised]:
    """A task of forty test rows whose metric is known; one of its tables says nothing of the answers."""
    public = root / "prepared/public"
    draw = np.random.default_rng(0)
    rows = pd.DataFrame({"id": range(ROWS), "size": draw.normal(size=ROWS).round(3)})
    rows.to_csv(public / "test.csv", index=False)
    rows[["id"]].assign(sold=0.5).to_csv(public / "sample_submission.csv", index=False)
    truth = rows[["id"]].assign(sold=draw.integers(2, size=ROWS))
    truth.sample(frac=1, random_state=0).to_csv(public / "answer.csv", index=False)
    tables = read_tables(public, public / "answer.csv")
    candidate = next(each for each in candidates(tables) if each.form.kind == "probability")
    reading = Reading(candidate, get_metric("roc_auc"), key=None)
    return open_bundle(root), Recognised(reading, tables, 9, 0.0, (), perfect=None)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("extra.csv", lambda truth: truth.rename(columns={"sold": "note"}).to_csv(index=False)),
        ("EXTRA.CSV", lambda truth: truth.rename(columns={"sold": "note"}).to_csv(index=False)),
        ("extra.tsv", lambda truth: truth.rename(columns={"sold": "note"}).to_csv(index=False, sep="\t")),
        ("float.csv", lambda truth: truth.assign(note=truth["sold"] * 1.0)[["id", "note"]].to_csv(index=False)),
        (
            "in-order.csv",
            lambda truth: truth.sort_values("id")[["sold"]].set_axis(["note"], axis=1).to_csv(index=False),
        ),
        (
            "real-ids.csv",
            lambda truth: truth.set_axis(["id", "note"], axis=1).astype({"id": float}).to_csv(index=False),
        ),
        (
            "renumbered.csv",
            lambda truth: (
                truth.sort_values("id").assign(id=range(900, 940)).set_axis(["id", "note"], axis=1).to_csv(index=False)
            ),
        ),
        (
            "trailing-comma.csv",
            lambda truth: "id,note\n" + truth.to_csv(index=False, header=False, lineterminator=",\n"),
        ),
        (
            "without-a-name.csv",
            lambda truth: "id,size\n" + truth.assign(size=3)[["id", "size", "sold"]].to_csv(index=False, header=False),
        ),
    ],
)
def test_a_column_that_holds_the_answers_is_found(recognised, name, write) -> None:
    bundle, found = recognised
    assert find_leak(bundle, found) == ""
    (bundle.public / name).write_text(write(pd.read_csv(bundle.public / "answer.csv")))
    column = "column 3 without a name" if "without" in name else "note"
    assert find_leak(bundle, found) == f"column {column!r} of prepared/public/{name} holds the answers"


def test_a_column_of_the_most_common_value_is_no_leak_however_rare_the_others_are() -> None:
    truth = pd.Series(["0"] * 199 + ["1"], index=[str(n) for n in range(200)])
    table = pd.DataFrame({"id": truth.index, "prior": "0"})
    assert _telling(table, "id", truth) == ""
    assert _telling(table.assign(note=list(truth)), "id", truth) == "note"


def test_leading_zeros_tell_rows_apart() -> None:
    ids = [f"{n}" for n in range(20)] + [f"0{n}" for n in range(20)]
    truth = pd.Series(["0", "1"] * 20, index=ids)
    table = pd.DataFrame({"id": ids[::-1], "note": list(truth)[::-1]})
    assert _telling(table, "id", truth) == "note"


def test_a_copy_of_a_secret_is_found(recognised) -> None:
    bundle, found = recognised
    (bundle.public / "old").mkdir()
    (bundle.public / "old/notes.txt").write_bytes((bundle.public / "evaluator.py").read_bytes())
    assert find_leak(bundle, found) == "prepared/public/old/notes.txt is a copy of prepared/public/evaluator.py"
