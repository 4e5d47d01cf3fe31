"""Whole evaluations: resume, any number of jobs, and what is refused before anything is written."""

import json
import shutil

import pytest

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.eval.acceptance.calibration import Calibration, Rung, Step
from sandmle.eval.report import summarize
from sandmle.eval.runner import Endpoint, EpisodeFinished, EvalSettings, RunLimits, RunStarted, RunStopped, aevaluate
from sandmle.eval.runner._prepare import may_run_unisolated, prepare, run_record
from sandmle.eval.runs import Scale
from sandmle.settings import get_settings
from sandmle.task import load_tasks
from sandmle.trajectory import Price


@pytest.fixture
def settings(suite):
    return EvalSettings(suite=f"synthetic:{suite}", models=("scripted:dummy",), repeats=2)


def without_timing(folder):
    report = json.loads(summarize([folder]).to_text())
    del report["timing"]
    return report


async def test_any_number_of_jobs_and_a_resumption_give_the_same_report(settings, tmp_path):
    await aevaluate(settings, tmp_path / "one", jobs=1)
    await aevaluate(settings, tmp_path / "two", jobs=2)
    assert without_timing(tmp_path / "one") == without_timing(tmp_path / "two")

    lines = tmp_path / "one" / "episodes.jsonl"
    whole = lines.read_bytes()
    lines.write_bytes(whole[: len(whole) // 2 + 20])
    events = []
    run = await aevaluate(settings, tmp_path / "one", on_event=events.append)
    started, *finished = events
    assert isinstance(started, RunStarted)
    assert (started.total, len(started.done)) == (2, 1)
    assert [type(event) for event in finished] == [EpisodeFinished]
    assert len(run.episodes) == 2
    assert without_timing(tmp_path / "one") == without_timing(tmp_path / "two")


async def test_more_repeats_run_only_what_is_new(settings, tmp_path):
    await aevaluate(settings.model_copy(update={"repeats": 1}), tmp_path / "run")
    events = []
    run = await aevaluate(settings, tmp_path / "run", on_event=events.append)
    assert [event.episode.repeat for event in events[1:]] == [1]
    assert [episode.repeat for episode in run.episodes] == [0, 1]
    submission = tmp_path / "run" / "submissions" / f"{run.episodes[0].id}.csv"
    assert submission.read_text().startswith("id,")


@pytest.mark.slow
async def test_a_run_stops_at_its_tokens_and_goes_on_with_more(settings, tmp_path, endpoint, completion):
    endpoint.answers = [completion("<answer>submission</answer>")]  # 107 tokens an episode
    asked = settings.model_copy(update={"models": ("openai:m",), "repeats": 4})
    there, prices = Endpoint(endpoint.url), {"openai:m": Price(input=1.0, output=10.0)}

    async def play(**limits):
        events = []
        run = await aevaluate(
            asked,
            tmp_path / "run",
            jobs=1,
            endpoint=there,
            limits=RunLimits(**limits),
            prices=prices,
            on_event=events.append,
            allow_unisolated=True,
        )
        return run, events

    run, events = await play(tokens=200)
    assert len(run.episodes) == 2
    assert events[-1] == RunStopped("the run has used 214 of 200 tokens", left=2)
    assert events[0].prices == prices
    (cost,) = summarize([run]).timing
    assert cost.money == pytest.approx((100 * 1.0 + 7 * 10.0) / 1e6)
    run, events = await play(tokens=214, seconds=1e-9)
    assert [type(event) for event in events[1:]] == [RunStopped]
    run, events = await play(seconds=1e-9)
    assert events[1] == RunStopped("the run has used its 1e-09 s", left=2)
    run, events = await play(tokens=1_000)
    assert len(run.episodes) == len(endpoint.requests) == 4
    assert not [event for event in events if isinstance(event, RunStopped)]


def test_a_run_knows_the_scales_of_synthetic_tasks_only(settings, suite, tmp_path):
    def scales(asked):
        return run_record(prepare(asked, Endpoint()), "A", Endpoint()).scales

    assert scales(settings) == {}
    (task,) = load_tasks(suite)
    shutil.copytree(task.root, tmp_path / "tasks" / task.id)
    calibration = tmp_path / "tasks" / task.id / "provenance" / "calibration.json"
    calibration.parent.mkdir(exist_ok=True)
    calibration.write_text(ladder(dummy=-5.0, bayes=-1.0).to_text())
    moved = settings.model_copy(update={"suite": f"synthetic:{tmp_path / 'tasks'}"})
    assert scales(moved) == {task.id: Scale(dummy=5.0, bayes=1.0)}
    calibration.write_text(ladder(dummy=-1.0, bayes=-1.0).to_text())
    assert scales(moved) == {}


def test_a_protocol_that_a_task_cannot_be_held_on_is_refused_before_anything_runs(settings):
    with pytest.raises(BadInput, match=r"neither calibration\.json nor baselines\.json|boards or thresholds"):
        prepare(settings.model_copy(update={"protocol": "dojo"}), Endpoint())


def test_two_folders_of_one_task_are_refused(settings, suite, tmp_path):
    (task,) = load_tasks(suite)
    for name in ("task", "backup"):
        shutil.copytree(task.root, tmp_path / "tasks" / name)
    with pytest.raises(BadInput, match=r"backup and .*/task are both the task"):
        prepare(settings.model_copy(update={"suite": f"synthetic:{tmp_path / 'tasks'}"}), Endpoint())


def ladder(dummy, bayes):
    """A calibration of a metric where lower is better; better is larger in its fields."""
    rung = Rung(private=(1.0,), mean=1.0, public=(1.0,), headroom=None)
    step = Step(lower="dummy", upper="linear", difference=1.0, sd=0.1, p=1.0, z=10.0, resamples=250)
    return Calibration(
        metric="log_loss",
        lower_is_better=True,
        sign=-1.0,
        rungs={"dummy": rung},
        best_generic="linear",
        dummy=dummy,
        generic=dummy,
        informed=dummy,
        bayes=bayes,
        steps=(step, step),
        thresholds=None,
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"models": ("scripted:nobody",)}, "unknown policy"),
        ({"models": ("scripted:informed",)}, "synthetic tasks only"),
        ({"scaffolds": ("nothing",)}, "unknown scaffold"),
        ({"reward": "much"}, "unknown reward preset"),
        ({"suite": "kaggle:titanic"}, "unknown suite.*synthetic"),
        ({"suite": "synthetic:"}, "names no folder"),
        ({"suite": "synthetic:/nowhere"}, "no such folder"),
    ],
)
async def test_bad_input_leaves_nothing_behind(settings, tmp_path, change, said):
    with pytest.raises(BadInput, match=said):
        await aevaluate(settings.model_copy(update=change), tmp_path / "run")
    assert not (tmp_path / "run").exists()


async def test_a_task_whose_data_were_changed_is_refused(settings, suite, tmp_path):
    shutil.copytree(suite, tmp_path / "tasks")
    answers = next((tmp_path / "tasks").glob("*/prepared/private/answers.csv"))
    answers.write_text(answers.read_text().replace("Private", "Public", 1))
    changed = settings.model_copy(update={"suite": f"synthetic:{tmp_path / 'tasks'}"})
    with pytest.raises(BadInput, match=r"answers\.csv is not what task\.json says"):
        await aevaluate(changed, tmp_path / "run")


def test_no_key_reaches_the_run_record(settings):
    endpoint = Endpoint("https://user:hunter2@host.example:8000/v1?key=hunter2", "sk-hunter2")
    asked = settings.model_copy(update={"models": ("openai:some-model",)})
    text = run_record(prepare(asked, endpoint), "A", endpoint).to_text()
    assert "hunter2" not in text + repr(endpoint)
    assert '"https://host.example:8000/v1"' in text


async def test_a_run_of_another_endpoint_is_refused(settings, tmp_path):
    asked = settings.model_copy(update={"models": ("openai:some-model",)})
    one, two = Endpoint("http://user:pw@127.0.0.1:9/v1", "sk-a"), Endpoint("http://user:other@127.0.0.1:9/v1", "sk-b")
    (tmp_path / "run.json").write_text(run_record(prepare(asked, one), "A", one).to_text())
    assert run_record(prepare(asked, two), "A", two).to_text() == (tmp_path / "run.json").read_text()
    moved = Endpoint("http://127.0.0.1:8/v1", "sk-a")
    with pytest.raises(BadInput, match=r"the endpoint was http://127\.0\.0\.1:9/v1, now http://127\.0\.0\.1:8/v1"):
        await aevaluate(asked, tmp_path, endpoint=moved, allow_unisolated=True)


def test_only_code_that_is_ours_may_run_unisolated_unasked(settings, monkeypatch):
    endpoint = Endpoint("http://127.0.0.1:9/v1")
    asked = settings.model_copy(update={"models": ("scripted:dummy", "openai:some-model")})
    assert may_run_unisolated(prepare(settings, endpoint), allow_unisolated=False)
    assert not may_run_unisolated(prepare(asked, endpoint), allow_unisolated=False)
    assert may_run_unisolated(prepare(asked, endpoint), allow_unisolated=True)


async def test_the_interpreter_of_the_code_is_a_setting(settings, tmp_path, monkeypatch):
    monkeypatch.setenv("SANDMLE_PYTHON", str(tmp_path / "python"))
    get_settings.cache_clear()
    try:
        with pytest.raises(EnvironmentProblem, match="can't be run as a Python interpreter"):
            await aevaluate(settings, tmp_path / "run")
    finally:
        monkeypatch.undo()
        get_settings.cache_clear()
    assert not (tmp_path / "run").exists()
