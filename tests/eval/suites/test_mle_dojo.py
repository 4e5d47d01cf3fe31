"""MLE-Dojo's tasks: prepared from a miniature checkout of the same shape, and from a real one where there is one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sandmle.errors import BadInput
from sandmle.eval.grading import grade_bytes
from sandmle.eval.grading.boards import BOARDS, Boards, read_boards
from sandmle.eval.suites import Sources, load_suite, prepare_suite
from sandmle.eval.suites.mle_dojo import members
from sandmle.grades import GradeError
from sandmle.settings import get_settings
from sandmle.task import Task

CHECKOUT = os.environ.get("SANDMLE_MLEDOJO_CHECKOUT")
BASE = """
class CompetitionMetrics:
    def __init__(self, higher_is_better=True):
        self.higher_is_better = higher_is_better
"""
METRIC = """
import numpy as np
from mledojo.metrics.base import CompetitionMetrics


class Scores(CompetitionMetrics):
    def evaluate(self, y_true, y_pred):
        joined = y_true.merge(y_pred, on="Id")
        if joined["target_y"].nunique() == 1:
            return float("nan")
        return {score}

    def validate_submission(self, submission, ground_truth):
        if list(submission.columns) != list(ground_truth.columns):
            raise ValueError("other columns")
        if sorted(submission["Id"]) != sorted(ground_truth["Id"]):
            raise ValueError("other ids")
"""
AGREEMENT = 'np.corrcoef(joined["target_x"], joined["target_y"])[0, 1]'
DISTANCE = 'np.sqrt(np.mean((joined["target_x"] - joined["target_y"]) ** 2))'
COMPETITIONS = {"GiveMeSomeCredit": AGREEMENT, "facial-keypoints-detection": DISTANCE}
TEAMS = 250


def build(root: Path) -> tuple[Path, Path]:
    """A checkout with two competitions and their data: a number that depends on two columns."""
    checkout, data = root / "checkout", root / "data"
    files = {"mledojo/__init__.py": "", "mledojo/metrics/__init__.py": "", "mledojo/metrics/base.py": BASE}
    for name, score in COMPETITIONS.items():
        files[f"mledojo/competitions/{name}/utils/metric.py"] = METRIC.replace("{score}", score)
        build_data(data / name / "data", higher=score == AGREEMENT)
    for path, text in files.items():
        (checkout / path).parent.mkdir(parents=True, exist_ok=True)
        (checkout / path).write_text(text)
    return checkout, data


def build_data(folder: Path, *, higher: bool) -> None:
    draw = np.random.default_rng(0)
    rows = pd.DataFrame({"Id": range(300), "a": draw.normal(size=300), "b": draw.normal(size=300)}).round(4)
    rows["target"] = (2 * rows["a"] - rows["b"] + draw.normal(size=300) / 2).round(4)
    train, test = rows[:200], rows[200:]
    for name in ("public/pictures", "private"):
        (folder / name).mkdir(parents=True)
    (folder / "public/description.txt").write_text("Predict `target` from `a` and `b`; scored by RMSE.\n")
    (folder / "public/pictures/one.bin").write_bytes(bytes(range(256)))
    train.to_csv(folder / "public/train.csv", index=False)
    test.drop(columns="target").to_csv(folder / "public/test.csv", index=False)
    test[["Id"]].assign(target=0.5).to_csv(folder / "public/sample_submission.csv", index=False)
    test[["Id", "target"]].to_csv(folder / "private/test_answer.csv", index=False)
    for seed, name in enumerate(("public", "private")):
        scores = sorted(np.random.default_rng(seed).uniform(0, 1, TEAMS).round(5), reverse=higher)
        board = pd.DataFrame({"rank": range(1, TEAMS + 1), "score": scores})
        board.to_csv(folder / f"private/{name}_leaderboard.csv", index=False)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("dojo"))


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SANDMLE_DATA_DIR", str(tmp_path / "home"))
    monkeypatch.setenv("SANDMLE_MLEDOJO_PYTHON", sys.executable)
    get_settings.cache_clear()
    yield tmp_path / "home"
    get_settings.cache_clear()


@pytest.fixture(scope="module")
def made(sources, tmp_path_factory: pytest.TempPathFactory):
    """The tasks of the miniature, ready to be graded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SANDMLE_DATA_DIR", str(tmp_path_factory.mktemp("home")))
        patch.setenv("SANDMLE_MLEDOJO_PYTHON", sys.executable)
        get_settings.cache_clear()
        yield {name: task for name, task in prepare(*sources).items() if isinstance(task, Task)}
    get_settings.cache_clear()


def prepare(checkout: Path, data: Path) -> dict[str, Task | str]:
    found: dict[str, Task | str] = {}
    prepare_suite("mle-dojo", Sources(data, checkout), lambda done: found.update({done.name: done.task or done.reason}))
    return found


def test_there_are_62_members_with_ids_of_their_own() -> None:
    assert len({member.task_id for member in members()}) == 62


def test_tasks_hold_the_benchmarks_files_in_their_places(sources, settings) -> None:
    checkout, data = sources
    found = prepare(checkout, data)
    made = {name: task for name, task in found.items() if isinstance(task, Task)}
    assert set(made) == set(COMPETITIONS)
    assert len(found) == 62
    assert f"--competitions unimelb --data-dir {data}" in found["unimelb"]
    task = made["GiveMeSomeCredit"]
    source = data / "GiveMeSomeCredit/data"
    assert not task.manifest.lower_is_better
    assert made["facial-keypoints-detection"].manifest.lower_is_better
    assert (task.public / "pictures/one.bin").samefile(source / "public/pictures/one.bin")
    assert not any(path.name in ("test_answer.csv", "private_leaderboard.csv") for path in task.public.rglob("*"))
    assert (task.public / "description.md").read_text() == (source / "public/description.txt").read_text()
    board = pd.read_csv(source / "private/private_leaderboard.csv")["score"]
    thresholds = task.manifest.thresholds
    assert (thresholds.gold, thresholds.silver, thresholds.bronze) == (board[9], board[49], board[99])
    assert thresholds.median == board.median()
    assert [each.id for each in load_suite("mle-dojo").tasks] == sorted(task.id for task in made.values())
    before = (task.root / "task.json").stat().st_mtime_ns
    assert isinstance(prepare(checkout, data)["GiveMeSomeCredit"], Task)
    assert (task.root / "task.json").stat().st_mtime_ns == before


def test_its_own_metric_grades_and_both_boards_rank(sources, made) -> None:
    draw = np.random.default_rng(5)
    for name, noise in (("GiveMeSomeCredit", 1.0), ("facial-keypoints-detection", 0.2)):
        task, folder = made[name], sources[1] / name / "data/private"
        truth = pd.read_csv(folder / "test_answer.csv")
        guess = truth.assign(target=truth["target"] + draw.normal(scale=noise, size=len(truth)))
        report = grade_bytes(task, guess.sample(frac=1, random_state=0).to_csv(index=False).encode())
        gap = truth["target"] - guess["target"]
        wanted = np.corrcoef(truth["target"], guess["target"])[0, 1] if noise == 1.0 else np.sqrt(np.mean(gap**2))
        assert report.score == pytest.approx(wanted, abs=1e-12)
        boards = [pd.read_csv(folder / f"{board}_leaderboard.csv")["score"] for board in ("public", "private")]
        beaten = [(board <= wanted).mean() if noise == 1.0 else (board >= wanted).mean() for board in boards]
        assert report.human_rank == pytest.approx(np.mean(beaten))
        assert report.medal is not None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", GradeError.EMPTY),
        ("Id,target\n", GradeError.HEADER_ONLY),
        ("Id\n1\n", GradeError.MISSING_COLUMN),
        ("Id,target\n200,1\n", GradeError.MISSING_ROWS),
        ("Id,target\n" + "1,1\n" * 300, GradeError.EXTRA_ROWS),
        ("Id,target\n" + "1,1\n" * 100, GradeError.OUT_OF_DOMAIN),
        ("Id,target\n" + "".join(f"{row},x{row}\n" for row in range(200, 300)), GradeError.METRIC_UNDEFINED),
        ("Id,target\n" + "".join(f"{row},1\n" for row in range(200, 300)), GradeError.NON_FINITE),
        ('Id,target\n1,"', GradeError.UNPARSABLE),
        ("Id,target\n1,\udcff\n", GradeError.UNDECODABLE),
    ],
)
def test_what_it_refuses_is_invalid(made, text: str, code: GradeError) -> None:
    report = grade_bytes(made["GiveMeSomeCredit"], text.encode("utf-8", "surrogateescape"))
    assert (report.error, report.human_rank) == (code, None)


def test_a_broken_member_is_told_and_leaves_nothing(sources, settings, tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.copytree(sources[1], data)
    folder = data / "GiveMeSomeCredit/data"
    shutil.copyfile(folder / "private/test_answer.csv", folder / "public/pictures/labels.csv")
    (data / "facial-keypoints-detection/data/private/private_leaderboard.csv").write_text("rank,score\n")
    (data / "unimelb/data").mkdir(parents=True)
    (data / "unimelb/data/public").symlink_to(folder / "public")
    (settings / "suites/mle-dojo/.scratch-of-a-killed-one/x").mkdir(parents=True)
    found = prepare(sources[0], data)
    assert "public/pictures/labels.csv is a hidden file" in found["GiveMeSomeCredit"]
    assert "no scores" in found["facial-keypoints-detection"]
    assert "test_answer.csv is missing" in found["unimelb"]
    assert [path.name for path in (settings / "suites/mle-dojo").iterdir()] == [".sandmle"]


def test_what_is_missing_is_told_with_the_command_that_gets_it(sources, settings, tmp_path: Path) -> None:
    checkout, data = sources
    for given, says in (
        (Sources(), "git clone https://github.com/MLE-Dojo/MLE-Dojo.git"),
        (Sources(data, data), "no checkout of MLE-Dojo"),
        (Sources(None, checkout), "PYTHONPATH=. python prepare/mle.py --competitions"),
        (Sources(tmp_path / "none", checkout), "no such folder; MLE-Dojo itself fetches it"),
    ):
        with pytest.raises(BadInput, match=says):
            prepare_suite("mle-dojo", given, print)
    with pytest.raises(BadInput, match="run `sandmle suites prepare mle-dojo --data DIR --checkout DIR`"):
        load_suite("mle-dojo")


@pytest.mark.flow
def test_the_command_line_prepares_plays_under_dojo_and_checks(sources, tmp_path: Path) -> None:
    checkout, data = map(str, sources)

    def sandmle(*arguments: str) -> str:
        environment = {"SANDMLE_DATA_DIR": str(tmp_path / "home"), "SANDMLE_MLEDOJO_PYTHON": sys.executable}
        command = [sys.executable, "-c", "from sandmle.cli import run; run()", *arguments]
        done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert "2 tasks, 60 missing" in sandmle("suites", "prepare", "mle-dojo", "--data", data, "--checkout", checkout)
    play = ("--scaffold", "mle-agent", "--model", "scripted:linear", "--protocol", "dojo", "--turns", "3")
    sandmle("eval", "--suite", "mle-dojo", *play, "--out", str(tmp_path / "run"))
    episodes = [json.loads(line) for line in (tmp_path / "run/episodes.jsonl").read_text().splitlines()]
    ranks = {episode["task_id"]: episode["grade"]["human_rank"] for episode in episodes}
    assert len(ranks) == 2
    assert all(ranks.values()), episodes
    assert sorted(json.loads((tmp_path / "run/run.json").read_text())["ranked"]) == sorted(ranks)
    told = "\n".join(path.read_text() for path in (tmp_path / "run/transcripts").iterdir())
    assert f"of {TEAMS} on the public board, position" in told
    assert "all 2 tasks are what they say" in sandmle("check", str(tmp_path / "home/suites/mle-dojo"))


ORACLE = """
import io, json, sys
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, sys.argv[1])
from mledojo.competitions import get_metric
from mledojo.gym.competition import Competition
from mledojo.gym.interface import CodeExecutionInterface

found = {}
with redirect_stdout(io.StringIO()):
    for name, data, submission in json.loads(sys.stdin.read()):
        played = Competition(name, data, metric_class=get_metric(name))
        result = CodeExecutionInterface()._process_submission(played, Path(submission), Path("."))
        higher = get_metric(name)().higher_is_better
        rank = result.get("position_score", {}).get("avg_score")
        found[submission] = [higher, result.get("raw_score"), rank, result["status"]]
print(json.dumps(found))
"""
BINARY = {
    "GiveMeSomeCredit": ("Id", "Probability"),
    "bioresponse": ("MoleculeId", "PredictedProbability"),
    "quora-question-pairs": ("test_id", "is_duplicate"),
    "stumbleupon": ("urlid", "label"),
    "poker-rule-induction": ("id", "hand"),
    "allstate-claims-severity": ("id", "loss"),
    "rossmann-store-sales": ("Id", "Sales"),
    "nyc-taxi-trip-duration": ("id", "trip_duration"),
}
"""Identifier and prediction columns of competitions whose answers may be drawn at random."""
REAL = "set SANDMLE_MLEDOJO_CHECKOUT to a checkout of MLE-Dojo"


@pytest.mark.skipif(CHECKOUT is None, reason=REAL)
def test_the_real_code_gives_the_same_scores_and_ranks(settings, tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    submissions, wanted = {}, []
    for name, (row_id, column) in BINARY.items():
        folder, info = tmp_path / "data" / name / "data", Path(CHECKOUT) / "mledojo/competitions" / name / "info"
        shutil.copytree(info, folder / "private")
        (folder / "public").mkdir()
        (folder / "private/description.txt").rename(folder / "public/description.txt")
        truth = pd.DataFrame({row_id: range(400), column: draw.integers(0, 2, 400)})
        truth.to_csv(folder / "private/test_answer.csv", index=False)
        truth.assign(**{column: 0.5}).to_csv(folder / "public/sample_submission.csv", index=False)
        for number in range(6):
            guess = truth.assign(**{column: (truth[column] * 0.3 + draw.uniform(0.05, 0.6, 400)).round(number)})
            guess = guess.drop(columns=column) if number == 5 else guess
            path = tmp_path / f"{name}-{number}.csv"
            guess.sample(frac=1, random_state=number).to_csv(path, index=False)
            submissions[str(path)] = name
            wanted.append((name, str(folder), str(path)))
    oracle = [sys.executable, "-c", ORACLE, CHECKOUT]
    done = subprocess.run(oracle, input=json.dumps(wanted), capture_output=True, text=True, check=True)
    made = prepare(Path(CHECKOUT), tmp_path / "data")
    for path, (higher, score, rank, status) in json.loads(done.stdout).items():
        task = made[submissions[path]]
        report = grade_bytes(task, Path(path).read_bytes())
        assert task.manifest.lower_is_better is not higher
        assert report.valid is (status == "SUCCESS"), (path, report.detail)
        if report.valid:
            assert report.score == pytest.approx(score, rel=1e-12)
            assert report.human_rank == pytest.approx(rank, rel=1e-12)


@pytest.mark.skipif(CHECKOUT is None, reason=REAL)
def test_every_member_of_the_real_checkout_can_be_prepared(settings, tmp_path: Path) -> None:
    for member in members():
        folder = tmp_path / "data" / member.id / "data"
        shutil.copytree(Path(CHECKOUT) / "mledojo/competitions" / member.id / "info", folder / "private")
        (folder / "public").mkdir()
        (folder / "private/description.txt").rename(folder / "public/description.txt")
        (folder / "public/sample_submission.csv").write_text("id,target\n1,0\n")
        (folder / "private/test_answer.csv").write_text("id,target\n1,1\n")
    made = prepare(Path(CHECKOUT), tmp_path / "data")
    assert [name for name, task in made.items() if not isinstance(task, Task)] == []
    oracle = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from mledojo.competitions import get_metric;"
        "print(json.dumps({name: get_metric(name)().higher_is_better for name in json.load(sys.stdin)}))"
    )
    command = [sys.executable, "-c", oracle, CHECKOUT]
    done = subprocess.run(command, input=json.dumps(list(made)), capture_output=True, text=True, check=True)
    lower = {name: not higher for name, higher in json.loads(done.stdout).items()}
    assert {name: task.manifest.lower_is_better for name, task in made.items()} == lower
    assert all(len(read_boards(task).known) == 2 for task in made.values())


def test_a_board_without_rounding_compares_as_it_is() -> None:
    assert Boards(private=(0.933208,), rounded=False).comparable(0.933207) == 0.933207
    assert Boards(private=(0.93321,)).comparable(0.933207) == 0.93321
    assert BOARDS == "boards.json"
