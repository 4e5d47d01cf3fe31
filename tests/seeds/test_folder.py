from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandmle.errors import BadInput
from sandmle.files import hash_tree
from sandmle.seeds import load_table, materialize
from sandmle.seeds._folder import read_folder


def test_a_plain_folder_is_inferred_and_says_how(folder_seed: Path):
    seed = read_folder(folder_seed)
    assert (seed.id, seed.title, seed.source) == ("my-churn", "Who leaves", "folder")
    assert (seed.id_column, seed.target, seed.problem_type, seed.metric) == ("row", "outcome", "binary", "log_loss")
    assert seed.classes == ("leave", "stay")
    assert (seed.n_rows, seed.prediction, seed.lower_is_better) == (40, "probability", True)
    assert seed.path == folder_seed
    assert [note.split()[0] for note in seed.notes] == ["id", "target", "problem", "metric"]


def test_seed_toml_decides(folder_seed: Path):
    (folder_seed / "seed.toml").write_text('id = "churn"\ntitle = "Churn"\nmetric = "mcc"\ntarget = "outcome"\n')
    seed = read_folder(folder_seed)
    assert (seed.id, seed.title, seed.metric, seed.prediction) == ("churn", "Churn", "mcc", "label")
    assert [note.split()[0] for note in seed.notes] == ["id", "problem"]


def test_rows_are_at_hand_and_answers_are_not(folder_seed: Path):
    table = load_table(read_folder(folder_seed))
    assert list(table.train.columns) == ["row", "visits", "plan", "outcome"]
    assert list(table.test.columns) == ["row", "visits", "plan"]
    assert table.answers is None


def test_it_becomes_a_task_by_splitting_its_train_rows(folder_seed: Path, tmp_path: Path):
    seed = read_folder(folder_seed)
    first, second = materialize(seed, tmp_path / "a"), materialize(seed, tmp_path / "b")
    assert hash_tree(first.root) == hash_tree(second.root)
    train, test = (pd.read_csv(first.public / f"{name}.csv") for name in ("train", "test"))
    answers = pd.read_csv(first.answers)
    assert (len(train), len(test), len(answers)) == (28, 12, 12)
    assert sorted([*train["row"], *test["row"]]) == list(range(40))
    assert first.manifest.submission.classes == ("leave", "stay")
    assert first.manifest.lineage.seed_source == "folder"
    assert (first.public / "description.md").read_text().count("# Who leaves") == 1
    assert str(folder_seed) not in "".join(path.read_text() for path in first.root.rglob("*") if path.is_file())


def test_columns_of_train_that_test_lacks_are_no_features(folder_seed: Path):
    train = pd.read_csv(folder_seed / "train.csv").assign(reason="moved")
    train.to_csv(folder_seed / "train.csv", index=False)
    seed = read_folder(folder_seed)
    assert seed.target == "outcome"
    assert "reason" not in load_table(seed).train.columns


def test_train_needs_no_ids_and_description_may_be_text(folder_seed: Path, tmp_path: Path):
    pd.read_csv(folder_seed / "train.csv").drop(columns="row").to_csv(folder_seed / "train.csv", index=False)
    (folder_seed / "description.md").rename(folder_seed / "description.txt")
    task = materialize(read_folder(folder_seed), tmp_path / "out")
    assert list(pd.read_csv(task.public / "train.csv").columns) == ["row", "visits", "plan", "outcome"]


def test_a_byte_order_mark_is_read(folder_seed: Path):
    for name in ("train", "test", "sample_submission"):
        path = folder_seed / f"{name}.csv"
        path.write_text("\ufeff" + path.read_text())
    assert read_folder(folder_seed).id_column == "row"


def test_a_changed_folder_must_be_added_again(folder_seed: Path):
    seed = read_folder(folder_seed)
    with (folder_seed / "train.csv").open("a") as stream:
        stream.write("40,1,a,stay\n")
    with pytest.raises(BadInput, match="changed since it was added"):
        load_table(seed)


def write_train(folder: Path, targets: list[str]) -> None:
    lines = [f"{index},1,a,{target}" for index, target in enumerate(targets)]
    (folder / "train.csv").write_text("\n".join(["row,visits,plan,outcome", *lines]) + "\n")


BREAK = {
    "no folder": (lambda f: f.rename(f.with_name("gone")), "My Churn: no such folder"),
    "empty folder": (lambda f: [path.unlink() for path in f.iterdir()], "description.md: no such file"),
    "no description": (lambda f: (f / "description.md").unlink(), "description.md: no such file"),
    "blank description": (lambda f: (f / "description.md").write_text(" \n"), "description.md: empty"),
    "no train": (lambda f: (f / "train.csv").unlink(), "train.csv: no such file"),
    "no test": (lambda f: (f / "test.csv").unlink(), "test.csv: no such file"),
    "no sample": (lambda f: (f / "sample_submission.csv").unlink(), "sample_submission.csv: no such file"),
    "empty train": (lambda f: (f / "train.csv").write_text(""), "train.csv: empty"),
    "header only": (lambda f: (f / "train.csv").write_text("row,visits,plan,outcome\n"), "train.csv: no rows"),
    "empty test": (lambda f: (f / "test.csv").write_text("row,visits,plan\n"), "test.csv: no rows"),
    "few rows": (lambda f: write_train(f, ["a", "b"] * 4), "train.csv: 8 rows"),
    "ragged": (
        lambda f: (f / "train.csv").write_text("row,visits,plan,outcome\n1,2\n1,2,3,4,5,6\n"),
        "train.csv: not a re",
    ),
    "long rows": (
        lambda f: (f / "train.csv").write_text("row,visits,plan,outcome\n1,2,3,4,5\n"),
        "train.csv: not a re",
    ),
    "utf-16": (lambda f: (f / "train.csv").write_bytes("row,y\n1,2\n".encode("utf-16")), "train.csv: not a readable"),
    "binary": (lambda f: (f / "train.csv").write_bytes(b"\x00\xff\xfe\x80" * 9), "train.csv: "),
    "a directory": (lambda f: ((f / "test.csv").unlink(), (f / "test.csv").mkdir()), "test.csv: no such file"),
    "no target": (lambda f: (f / "train.csv").write_text("row,visits,plan\n1,2,a\n"), "train.csv: every column is in"),
    "one class": (
        lambda f: write_train(f, ["stay"] * 20),
        "train.csv: the target 'outcome' has one value only, 'stay'",
    ),
    "missing labels": (
        lambda f: write_train(f, ["a", "b", "", "a"] * 5),
        "train.csv: the target 'outcome' is empty in 5",
    ),
    "free text": (lambda f: write_train(f, [f"t{i}" for i in range(20)]), "train.csv: 20 different targets"),
    "unknown feature": (
        lambda f: (f / "test.csv").write_text("row,visits,mood\n1,2,a\n"),
        "test.csv: columns that train",
    ),
    "no features": (
        lambda f: (f / "test.csv").write_text("row\n1\n"),
        "test.csv: no feature columns",
    ),
    "two targets": (
        lambda f: [
            (f / "test.csv").write_text("row,visits\n1,2\n"),
            (f / "sample_submission.csv").write_text("row\n1\n"),
        ],
        "train.csv: test.csv lacks plan, outcome; which is the target?",
    ),
    "no id": (lambda f: (f / "test.csv").write_text("visits,plan\n1,a\n"), "test.csv: no id column 'row'"),
    "broken toml": (lambda f: (f / "seed.toml").write_text("id ="), "seed.toml: "),
    "unknown option": (lambda f: (f / "seed.toml").write_text('colour = "red"'), "seed.toml: colour"),
    "unknown metric": (lambda f: (f / "seed.toml").write_text('metric = "fame"'), "seed.toml: unknown metric 'fame'"),
    "unfit metric": (
        lambda f: (f / "seed.toml").write_text('metric = "rmse"'),
        "seed.toml: rmse does not suit a binary",
    ),
    "unknown target": (lambda f: (f / "seed.toml").write_text('target = "x"'), "train.csv: no target column 'x'"),
    "target in test": (lambda f: (f / "seed.toml").write_text('target = "plan"'), "test.csv: holds the target 'plan'"),
    "unknown id": (
        lambda f: (f / "seed.toml").write_text('id_column = "x"'),
        "sample_submission.csv: no id column 'x'",
    ),
    "bad id": (lambda f: (f / "seed.toml").write_text('id = "My.Seed"'), "'My.Seed' is no seed id"),
    "not binary": (
        lambda f: (write_train(f, list("abc") * 9), (f / "seed.toml").write_text('problem_type = "binary"')),
        "train.csv: the target of a binary problem has 3 values",
    ),
    "no numbers": (
        lambda f: (f / "seed.toml").write_text('problem_type = "regression"'),
        "train.csv: the target of a regression must be finite numbers",
    ),
    "negative": (
        lambda f: (write_train(f, [f"{i}.5" for i in range(-3, 20)]), (f / "seed.toml").write_text('metric = "rmsle"')),
        "train.csv: rmsle needs a target without negative",
    ),
}


@pytest.mark.parametrize("case", BREAK)
def test_bad_input_is_one_line_that_names_the_file(case: str, folder_seed: Path):
    change, message = BREAK[case]
    change(folder_seed)
    with pytest.raises(BadInput) as caught:
        read_folder(folder_seed)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "My Churn" in str(caught.value)


TARGETS = {
    "binary": st.sampled_from(["0", "1"]),
    "multiclass": st.sampled_from(["red", "green", "blue"]),
    "regression": st.floats(-1e9, 1e9).map(str),
}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), problem=st.sampled_from(sorted(TARGETS)))
def test_any_target_is_inferred_and_split_whole(data, problem, folder_seed: Path, tmp_path: Path):
    cells = data.draw(st.lists(TARGETS[problem], min_size=20, max_size=40).filter(lambda found: len(set(found)) > 1))
    if problem == "multiclass":
        cells = [*cells, "red", "green", "blue"]
    write_train(folder_seed, cells)
    seed = read_folder(folder_seed)
    assert seed.problem_type == problem
    assert set(seed.classes) == (set() if problem == "regression" else set(cells))
    task = materialize(seed, tmp_path / "out")
    train, answers = (pd.read_csv(path, dtype={"outcome": str}) for path in (task.public / "train.csv", task.answers))
    assert len(train) + len(answers) == len(cells)
    assert len(answers) >= 1
    if problem != "regression":
        assert set(train["outcome"]) == set(cells)
        assert sorted([*train["outcome"], *answers["outcome"]]) == sorted(cells)
    else:
        assert sorted(map(float, [*train["outcome"], *answers["outcome"]])) == sorted(map(float, cells))
