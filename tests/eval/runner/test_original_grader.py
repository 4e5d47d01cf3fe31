"""Episodes on tasks that a benchmark's own code grades, here a script of ours that runs for real in its process."""

import shutil
import sys

import pytest

from sandmle.agents.chat import make_policy
from sandmle.errors import EnvironmentProblem
from sandmle.eval.grading import original
from sandmle.eval.grading.original import ORIGINAL, OriginalGrader
from sandmle.eval.report import summarize
from sandmle.eval.runner import EpisodePlan, EvalSettings, aevaluate, run_episode
from sandmle.graphs.scaffold import Budget, get_scaffold, scaffold_names
from sandmle.rl.rewards import get_preset
from sandmle.settings import get_settings
from sandmle.task import TaskManifest, load_tasks
from sandmle.trajectory import EpisodeStatus

GRADES = 'import sys, json; print(json.dumps({"score": len(open(json.load(sys.stdin)["submission"]).readlines())}))'
BABBLES = 'print("no verdict")'
KILLED = "import os; os.kill(os.getpid(), 9)"
PROBLEM = 'print(\'{"problem": "No module named PIL"}\')'


@pytest.fixture
def folder(suite, tmp_path):
    """A suite of one task with a metric and a format that only its benchmark knows."""
    (task,) = load_tasks(suite)
    shutil.copytree(task.root, tmp_path / "tasks" / task.id)
    facts = task.manifest.model_dump(mode="json") | {"metric": "weighted-something", "submission": None}
    root = tmp_path / "tasks" / task.id
    (root / "task.json").write_text(TaskManifest.model_validate(facts).to_text())
    (root / "provenance").mkdir()
    (root / "provenance" / ORIGINAL).write_text(OriginalGrader(package="mle-bench", competition="toy").to_text())
    return tmp_path / "tasks"


@pytest.fixture
def grader(monkeypatch):
    """``grader(script)`` makes ``script`` the benchmark's own code."""

    def install(script):
        monkeypatch.setitem(original.SCRIPTS, "mle-bench", script)
        monkeypatch.setenv("SANDMLE_MLEBENCH_PYTHON", sys.executable)
        get_settings.cache_clear()

    get_settings.cache_clear()
    yield install
    get_settings.cache_clear()


async def play(folder, backend):
    (task,) = load_tasks(folder)
    plan = EpisodePlan("0" * 16, task, get_scaffold("react"), 0, "clean", get_preset("paper"), Budget.for_task(task))
    return (await run_episode(plan, make_policy("scripted:dummy", task=task), backend)).episode


@pytest.mark.flow
async def test_every_scaffold_copes_with_a_metric_and_a_format_that_we_do_not_know(folder, grader, tmp_path):
    grader(GRADES)
    settings = EvalSettings(
        suite=f"synthetic:{folder}", scaffolds=scaffold_names(), models=("scripted:dummy",), budget={"turns": 4}
    )
    run = await aevaluate(settings, tmp_path / "run", jobs=1, allow_unisolated=True)
    assert {episode.scaffold for episode in run.episodes} == {"react", "mle-agent", "aide"}
    for episode in run.episodes:
        assert episode.grade.score > 10
        assert episode.grade.metric == "weighted-something"
    assert all(row.valid == 1.0 for row in summarize([run]).rows)


@pytest.mark.parametrize(("script", "says"), [(BABBLES, "printed no verdict"), (KILLED, "signal 9")])
async def test_a_grader_that_fails_is_an_infrastructure_error_and_no_score(script, says, folder, grader, backend):
    grader(script)
    episode = await play(folder, backend)
    assert episode.status is EpisodeStatus.INFRA_ERROR
    assert says in episode.reason
    assert (episode.grade, episode.reward, episode.masked) == (None, None, True)


async def test_a_grader_that_lacks_a_library_stops_the_run(folder, grader, tmp_path):
    grader(PROBLEM)
    settings = EvalSettings(suite=f"synthetic:{folder}", scaffolds=("react",), models=("scripted:dummy",))
    with pytest.raises(EnvironmentProblem, match=r"can't grade toy with .*No module named PIL"):
        await aevaluate(settings, tmp_path / "run", jobs=1, allow_unisolated=True)
    assert not list((tmp_path / "run").glob("submissions/*"))


async def test_a_missing_grader_stops_the_run_before_the_first_episode(folder, grader, tmp_path, monkeypatch):
    grader(GRADES)
    monkeypatch.delenv("SANDMLE_MLEBENCH_PYTHON")
    get_settings.cache_clear()
    settings = EvalSettings(suite=f"synthetic:{folder}", scaffolds=("react",), models=("scripted:dummy",))
    with pytest.raises(EnvironmentProblem, match="SANDMLE_MLEBENCH_PYTHON"):
        await aevaluate(settings, tmp_path / "run", jobs=1, allow_unisolated=True)
    assert not (tmp_path / "run").exists()
