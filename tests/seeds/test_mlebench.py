import csv
import shutil
from collections import Counter
from pathlib import Path

import pytest
import yaml

from sandmle.errors import BadInput
from sandmle.seeds import MleBenchSplit, add_mlebench, list_seeds, load_table, materialize
from sandmle.seeds._metrics import METRICS
from sandmle.seeds._mlebench import read_mlebench
from sandmle.seeds._mlebench_text import METRIC_NAMES, guess_modality, guess_problem, is_loss

TABLE = Path(__file__).with_name("mlebench_competitions.tsv")
ROWS = list(csv.DictReader(TABLE.open(), delimiter="\t"))
IDS = {row["id"]: row["split"] for row in ROWS}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder laid out as MLE-bench is, with its real ids, splits and graders and descriptions of our own."""
    root = tmp_path / "mle-bench"
    for row in ROWS:
        entry = root / "mlebench" / "competitions" / row["id"]
        entry.mkdir(parents=True)
        config = {
            "id": row["id"],
            "name": f"Competition {row['id']}",
            "competition_type": row["type"],
            "grader": {"name": row["grader_name"], "grade_fn": "os:abort"},
            "preparer": "os:abort",
        }
        (entry / "config.yaml").write_text(yaml.safe_dump(config))
        (entry / "description.md").write_text(f"# {row['id']}\n\nPredict something.\n")
        (entry / "grade.py").write_text("raise SystemExit('imported')\n")
    splits = root / "experiments" / "splits"
    splits.mkdir(parents=True)
    for name in ("low", "medium", "high", "dev"):
        (splits / f"{name}.txt").write_text("".join(f"{id}\n" for id, split in IDS.items() if split == name))
    return root


def test_the_papers_seeds_are_the_82_entries_less_the_22_of_lite(checkout: Path):
    seeds = read_mlebench(checkout)
    assert len(seeds) == 60
    assert {seed.id for seed in seeds} == {id for id, split in IDS.items() if split != "low"}
    assert Counter(seed.split for seed in seeds) == {"medium": 38, "high": 15, "dev": 7}
    assert [seed.id for seed in seeds] == sorted(seed.id for seed in seeds)


@pytest.mark.parametrize(
    ("split", "count"), [("all", 82), ("lite", 22), ("low", 22), ("medium", 38), ("high", 15), ("dev", 7)]
)
def test_each_split_has_its_entries(split: str, count: int, checkout: Path):
    seeds = add_mlebench(checkout, split)
    assert len(seeds) == count
    if split != "all":
        assert {seed.split for seed in seeds} == {"low" if split == "lite" else split}


def test_an_entry_becomes_a_seed(checkout: Path):
    seed = {found.id: found for found in read_mlebench(checkout, MleBenchSplit.ALL)}["aerial-cactus-identification"]
    assert (seed.title, seed.metric) == ("Competition aerial-cactus-identification", "roc_auc")
    assert (seed.family, seed.source, seed.split, seed.prediction) == (seed.id, "mlebench", "low", "probability")
    assert (seed.modality, seed.problem_type, seed.target, seed.has_data) == (None, None, None, False)
    assert seed.path == checkout / "mlebench" / "competitions" / seed.id
    assert "Predict something." in seed.description


def test_known_graders_get_our_metric_and_others_keep_their_name(checkout: Path):
    metric = {seed.id: seed.metric for seed in read_mlebench(checkout, MleBenchSplit.ALL)}
    for row in ROWS:
        assert metric[row["id"]] == METRIC_NAMES.get(row["grader_name"], row["grader_name"])
    assert metric["new-york-city-taxi-fare-prediction"] == metric["denoising-dirty-documents"] == "rmse"
    assert metric["AI4Code"] == "kendall-tau"


def test_names_of_losses_agree_with_our_metrics():
    assert all(is_loss(grader) == METRICS[ours].lower_is_better for grader, ours in METRIC_NAMES.items())
    assert is_loss("levenshtein-distance")
    assert is_loss("KL-divergence")
    assert is_loss("mean-column-wise-rmsle")
    assert not is_loss("modified-laplace-log-likelihood")


def test_the_leaderboard_decides_the_direction(checkout: Path):
    entry = checkout / "mlebench" / "competitions" / "ventilator-pressure-prediction"

    def lower() -> bool:
        return {seed.id: seed for seed in read_mlebench(checkout)}[entry.name].lower_is_better

    assert not lower()  # its grader bears the name of another metric
    (entry / "leaderboard.csv").write_text("scoreNullable,teamName,score\n,a,0.08\n,b,0.9\n")
    assert lower()
    (entry / "leaderboard.csv").write_text("score\n0.9\n0.9\n")
    assert not lower()
    (entry / "leaderboard.csv").write_text("version https://git-lfs.github.com/spec/v1\nsize 12\n")
    assert not lower()


def test_descriptions_without_data_have_no_rows_and_make_no_task(checkout: Path, tmp_path: Path):
    seed = read_mlebench(checkout)[0]
    with pytest.raises(BadInput, match="without data"):
        load_table(seed)
    with pytest.raises(BadInput, match="without data"):
        materialize(seed, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_adding_remembers_and_adding_again_replaces(checkout: Path):
    add_mlebench(checkout, "medium")
    (checkout / "mlebench" / "competitions" / "AI4Code" / "description.md").write_text("Changed.")
    add_mlebench(checkout)
    added = [seed for seed in list_seeds() if seed.source == "mlebench"]
    assert len(added) == 60
    assert {seed.id: seed.description for seed in added}["AI4Code"] == "Changed."


def edit_config(root: Path, text: str) -> None:
    (root / "mlebench" / "competitions" / "AI4Code" / "config.yaml").write_text(text)


BREAK = {
    "no checkout": (lambda root: shutil.rmtree(root / "mlebench"), "no checkout of MLE-bench"),
    "no entries": (
        lambda root: (shutil.rmtree(root / "mlebench"), (root / "mlebench" / "competitions").mkdir(parents=True)),
        "no entry with a config.yaml",
    ),
    "no list": (lambda root: (root / "experiments/splits/low.txt").unlink(), "low.txt: missing or empty"),
    "unknown entry": (
        lambda root: (root / "experiments/splits/low.txt").write_text("nope"),
        "low.txt: nope has no entry",
    ),
    "no description": (
        lambda root: (root / "mlebench/competitions/AI4Code/description.md").unlink(),
        "description.md: No such file",
    ),
    "huge description": (
        lambda root: (root / "mlebench/competitions/AI4Code/description.md").write_text("x" * 300_000),
        "description.md: longer than 262144 bytes",
    ),
    "no yaml": (lambda root: edit_config(root, "a: [1"), "config.yaml: not readable as YAML"),
    "a list": (lambda root: edit_config(root, "- 1"), "config.yaml: `id` must be 'AI4Code'"),
    "wrong id": (lambda root: edit_config(root, "id: x"), "config.yaml: `id` must be 'AI4Code'"),
    "no grader": (lambda root: edit_config(root, "id: AI4Code\nname: A"), "config.yaml: `name` and `grader.name`"),
    "code in yaml": (
        lambda root: edit_config(root, "id: !!python/object/apply:os.abort []"),
        "config.yaml: not readable as YAML",
    ),
}


@pytest.mark.parametrize("case", BREAK)
def test_a_broken_checkout_is_one_line_and_nothing_is_added(case: str, checkout: Path, data_dir: Path):
    change, message = BREAK[case]
    change(checkout)
    with pytest.raises(BadInput) as caught:
        add_mlebench(checkout)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not data_dir.exists()


def test_an_unknown_split_is_refused(checkout: Path):
    with pytest.raises(BadInput, match="unknown split 'tiny'; choose from all-but-lite, all, lite"):
        add_mlebench(checkout, "tiny")


@pytest.mark.parametrize(
    ("text", "modality"),
    [
        ("Each image is a JPG. Images of cats; an image of a dog; photos, png.", "image"),
        ("Audio clips as wav: the audio of birds, mp3 and flac sounds.", "audio"),
        ("Tweets: each sentence of a tweet has words; label the text and its phrases.", "text"),
        ("Five images with text: image, text, image, words, image, sentences, photo.", None),
        ("A table of numbers.", None),
        ("![image image image image image](image.png) https://image/image", None),
    ],
)
def test_a_modality_is_guessed_only_where_its_words_prevail(text: str, modality: str | None):
    assert guess_modality(text) == modality


@pytest.mark.parametrize(
    ("metric", "text", "problem"),
    [
        ("roc_auc", "Scored by area under the ROC curve.", "binary"),
        ("roc_auc", "The area under the ROC curve, averaged over columns.", None),
        ("roc_auc", "Scored somehow.", None),
        ("multiclass_log_loss", "We use the logarithmic loss.", "multiclass"),
        ("multiclass_log_loss", "Mean columnwise root mean squared error.", None),
        ("rmse", "Root Mean Squared Error", "regression"),
        ("quadratic_kappa", "the kappa statistic", "multiclass"),
        ("accuracy", "accuracy", None),
        ("kendall-tau", "Kendall tau", None),
    ],
)
def test_a_problem_type_needs_the_description_to_name_the_metric(metric: str, text: str, problem: str | None):
    assert guess_problem(metric, text) == problem
