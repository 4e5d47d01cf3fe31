"""``sandmle suites prepare mle-bench-lite`` and its siblings, on a miniature of MLE-bench."""

import csv
import errno
import json
from pathlib import Path

import miniature
import pytest

from sandmle.errors import BadInput
from sandmle.eval.grading import grade_bytes, load_answers
from sandmle.eval.grading.original import read_original
from sandmle.eval.suites import load_suite
from sandmle.files import hash_tree
from sandmle.task import Task

pytestmark = pytest.mark.flow
GOLDEN = Path(__file__).parents[2] / "grading" / "golden"
CACTUS, JIGSAW, NOMAD = (
    "aerial-cactus-identification",
    "jigsaw-toxic-comment-classification-challenge",
    "nomad2018-predict-transparent-conductors",
)
INSULTS, TEXTS = "detecting-insults-in-social-commentary", "text-normalization-challenge-english-language"
LITE = tuple(name for name, made in miniature.MINIATURES.items() if made.split == "low")


def prepared(home, name, kind="mle-bench-lite"):
    return Task.load(home / "suites" / kind / name)


def test_every_competition_becomes_a_task_or_a_reason(cli, sources, home):
    options = sources(*LITE)
    done = cli("suites", "prepare", "mle-bench-lite", *options)
    assert done.exit_code == 0
    reasons = dict(line.split(": ", 1) for line in done.stderr.splitlines())
    assert reasons.pop(NOMAD).startswith("needs --grader original: two numbers a row")
    assert set(reasons.values()) == {"ready"}
    assert done.stdout == f"{home / 'suites/mle-bench-lite'}: {len(LITE) - 1} tasks, 1 missing\n"
    tasks = load_suite("mle-bench-lite").tasks
    assert [task.id for task in tasks] == sorted(set(LITE) - {NOMAD})
    for task in tasks:
        found = hash_tree(task.root)
        del found["task.json"]
        assert found == task.manifest.files
        assert {"prepared/public/description.md", "prepared/public/sample_submission.csv"} <= found.keys()
        assert task.manifest.thresholds.model_dump() == pytest.approx(
            {"median": 0.725, "bronze": 0.6, "silver": 0.5, "gold": 0.4}
            if task.manifest.lower_is_better
            else {"median": 0.725, "bronze": 0.8, "silver": 0.9, "gold": 0.95}
        )
    assert f"mle-bench-lite  {len(tasks)}" in cli("suites", "list").stdout
    assert "0.725" in cli("suites", "show", "mle-bench-lite").stdout


def test_the_three_suites_take_their_splits(cli, sources, home):
    options = sources(CACTUS, "spaceship-titanic")
    for kind, name in (("mle-bench-lite", CACTUS), ("mle-bench-dev", "spaceship-titanic")):
        assert f"{name}: ready\n" == cli("suites", "prepare", kind, *options).stderr
    checkout = options[3]
    (checkout / "experiments/splits/medium.txt").write_text(f"{CACTUS}\n")
    (checkout / "experiments/splits/high.txt").write_text(f"{CACTUS}\n")
    (checkout / "experiments/splits/low.txt").write_text("spaceship-titanic\n")
    assert cli("suites", "prepare", "mle-bench", *options).stderr.count("spaceship-titanic: ready") == 1


def test_preparing_again_adds_what_is_new(cli, sources, home):
    options = sources(CACTUS, NOMAD)
    cli("suites", "prepare", "mle-bench-lite", *options)
    before = (home / "suites/mle-bench-lite" / CACTUS / "task.json").stat().st_mtime_ns
    again = cli("suites", "prepare", "mle-bench-lite", *options, "--grader", "original")
    assert again.stderr.splitlines() == [f"{CACTUS}: there already", f"{NOMAD}: ready"]
    assert (home / "suites/mle-bench-lite" / CACTUS / "task.json").stat().st_mtime_ns == before
    assert read_original(prepared(home, CACTUS)) is None
    assert read_original(prepared(home, NOMAD)).competition == NOMAD


def test_the_data_are_linked_where_possible_else_copied(cli, sources, home, monkeypatch):
    options = sources(CACTUS)
    cli("suites", "prepare", "mle-bench-lite", *options)
    source = options[1] / CACTUS / "prepared/public/images/1.png"
    assert prepared(home, CACTUS).public.joinpath("images/1.png").samefile(source)
    cli("suites", "prepare", "mle-bench-lite", *options)

    def other_device(self, target):
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(Path, "hardlink_to", other_device)
    prepared(home, CACTUS).root.rename(home / "linked")
    cli("suites", "prepare", "mle-bench-lite", *options)
    copied = prepared(home, CACTUS)
    assert not copied.public.joinpath("images/1.png").samefile(source)
    assert copied.manifest == Task.load(home / "linked").manifest
    assert hash_tree(copied.public) == hash_tree(home / "linked/prepared/public")


@pytest.mark.parametrize(
    "name",
    [
        "denoising-dirty-documents",
        "tabular-playground-series-dec-2021",
        "the-icml-2013-whale-challenge-right-whale-redux",
    ],
)
def test_thresholds_are_those_of_the_original(name, cli, sources, home):
    with (GOLDEN / f"{name}.private.csv").open() as stream:
        board = [float(row["score"]) for row in csv.DictReader(stream)]
    cli("suites", "prepare", "mle-bench-lite", *sources(name, board=board))
    expected = json.loads((GOLDEN / "lite_thresholds.json").read_text())[name]
    manifest = prepared(home, name).manifest
    assert manifest.lower_is_better is expected["lower"]
    assert {f"{tier}_threshold": value for tier, value in manifest.thresholds.model_dump().items()} == {
        key: value for key, value in expected.items() if key.endswith("_threshold")
    }


def test_rows_that_the_competition_left_out_count_nowhere(cli, sources, home):
    cli("suites", "prepare", "mle-bench-lite", *sources(JIGSAW))
    task, rows = prepared(home, JIGSAW), miniature.answers(JIGSAW)
    key = load_answers(task)
    counted = [row["toxic"] >= 0 for row in rows]
    assert key.private.tolist() == counted
    assert not all(counted)
    assert not key.public.any()
    without = [row for row, counts in zip(miniature.sample(JIGSAW), counted, strict=True) if counts]
    assert grade_bytes(task, miniature.as_csv(without).encode()).error == "missing_rows"


def test_the_sample_submission_lies_where_agents_look(cli, sources, home):
    names = (INSULTS, TEXTS, "random-acts-of-pizza")
    cli("suites", "prepare", "mle-bench-lite", *sources(*names))
    for name in names:
        sample = prepared(home, name).public / "sample_submission.csv"
        assert sample.read_bytes().decode() == miniature.as_csv(miniature.sample(name))


def test_a_description_comes_from_the_data_else_from_the_checkout(cli, sources, home):
    options = sources(CACTUS, JIGSAW)
    (options[1] / CACTUS / "prepared/public/description.md").unlink()
    cli("suites", "prepare", "mle-bench-lite", *options)
    assert "Predict `id`" in (prepared(home, CACTUS).public / "description.md").read_text()
    assert "From the data." in (prepared(home, JIGSAW).public / "description.md").read_text()


def test_agents_play_the_suite_and_the_report_ranks_them(cli, sources, home, tmp_path):
    cli("suites", "prepare", "mle-bench-dev", *sources("spaceship-titanic", "playground-series-s3e18"))
    run = tmp_path / "run"
    done = cli("eval", "--suite", "mle-bench-dev", "--model", "scripted:dummy", "--out", run, "--jobs", 1)
    assert done.exit_code == 0, done.output
    (row,) = json.loads(cli("report", run, "--json").stdout)["rows"]
    assert (row["episodes"], row["valid"]) == (2, 1.0)
    for line in (run / "episodes.jsonl").read_text().splitlines():
        assert 0 <= json.loads(line)["grade"]["human_rank"] <= 1


def test_a_check_finds_thresholds_that_are_not_the_boards(cli, sources, home):
    cli("suites", "prepare", "mle-bench-lite", *sources(CACTUS))
    manifest = prepared(home, CACTUS).root / "task.json"
    assert cli("check", manifest.parent).exit_code == 0
    manifest.write_text(manifest.read_text().replace('"gold": 0.95', '"gold": 0.94'))
    done = cli("check", manifest.parent)
    assert done.exit_code == 1
    assert "not those of its board" in done.output


def test_the_original_grader_gets_the_hidden_files_as_they_are(cli, sources, home):
    cli("suites", "prepare", "mle-bench-lite", *sources(NOMAD), "--grader", "original")
    task = prepared(home, NOMAD)
    assert (task.private / "original/test.csv").read_text().startswith("id,formation_energy")
    assert not task.answers.exists()
    assert task.manifest.submission is None
    assert task.manifest.metric == "some-error"
    assert "as its own benchmark has it" in cli("show", task.root).stdout
    assert cli("check", task.root).exit_code == 0


def spoil_pointer(options):
    path = options[3] / "mlebench/competitions" / CACTUS / "leaderboard.csv"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:cd\nsize 63555\n")


def spoil_board(text):
    def spoil(options):
        (options[3] / "mlebench/competitions" / CACTUS / "leaderboard.csv").write_text(text)

    return spoil


def remove(path):
    return lambda options: (options[1] / CACTUS / "prepared" / path).unlink()


def empty_private(options):
    (options[1] / CACTUS / "prepared/private/test.csv").unlink()


def write(path, text):
    return lambda options: (options[1] / CACTUS / "prepared" / path).write_text(text)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (spoil_pointer, "a Git LFS pointer in place of the board; run `git -C {checkout} lfs pull`"),
        (spoil_board("score\n0.2\n0.9\n"), "not sorted, best first, as roc_auc has it"),
        (spoil_board("score\n0.9\n0.2\n0.5\n0.95\n0.1\n"), "not sorted, best first"),
        (spoil_board("score\n0.9\nnan\n"), "finite scores"),
        (spoil_board("name\na\n"), "a column `score` of numbers"),
        (empty_private, "private: no data; run `mlebench prepare -c aerial-cactus-identification --data-dir {data}`"),
        (remove("public/sample_submission.csv"), "sample_submission.csv: no such file; run `mlebench prepare -c"),
        (write("private/test.csv", "id,x\n1,0\n"), "there is no column 'has_cactus'"),
        (write("private/test.csv", "id,has_cactus\n1\n"), "row 1 has no truth"),
        (write("private/test.csv", "id,has_cactus\n1,0\n1,1\n"), "needs --grader original: column 'id' holds the same"),
        (write("private/test.csv", "id,has_cactus\n1,maybe\n"), "needs --grader original: column 'has_cactus', row 1"),
    ],
)
def test_what_is_wrong_with_one_competition_is_told_and_the_others_go_on(spoil, says, cli, sources, home):
    options = sources(CACTUS, INSULTS)
    spoil(options)
    (home / "suites/mle-bench-lite/.scratch-of-a-killed-one/x").mkdir(parents=True)
    done = cli("suites", "prepare", "mle-bench-lite", *options)
    said, ready = done.stderr.splitlines()
    assert says.format(data=options[1], checkout=options[3]) in said
    assert ready == f"{INSULTS}: ready"
    assert {path.name for path in (home / "suites/mle-bench-lite").iterdir()} == {".sandmle", INSULTS}


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        ("mle-bench", "mlebench prepare --all --data-dir"),
        ("mle-bench-lite", "mlebench prepare --lite --data-dir"),
        ("mle-bench-dev", "experiments/splits/dev.txt --data-dir"),
    ],
)
def test_missing_data_give_the_command_that_gets_them(kind, command, cli, sources, tmp_path):
    options = sources(CACTUS, "spaceship-titanic")
    for split in ("medium", "high"):
        (options[3] / f"experiments/splits/{split}.txt").write_text(f"{CACTUS}\n")
    empty = tmp_path / "empty"
    for words in (("--data", empty, *options[2:]), options[2:]):
        error = cli("suites", "prepare", kind, *words).exception
        assert isinstance(error, BadInput)
        assert command in str(error)
    assert "git lfs pull" in str(cli("suites", "prepare", kind, *options[:2]).exception)
    assert f"prepare {kind} --data" in str(cli("suites", "show", kind).exception)


def test_a_checkout_without_lists_is_refused(cli, sources):
    options = sources(CACTUS)
    (options[3] / "experiments/splits/low.txt").unlink()
    assert "low.txt: missing or empty" in str(cli("suites", "prepare", "mle-bench-lite", *options).exception)


def test_an_unknown_grader_is_refused(cli):
    assert "--grader nonsense" in str(cli("suites", "prepare", "mle-bench", "--grader", "nonsense").exception)
