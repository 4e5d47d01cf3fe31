"""The Python API: inside and outside an event loop, stopped early, and given what it can't use."""

from __future__ import annotations

import asyncio
import inspect
import json
import signal
import subprocess
import sys
import threading
import typing
from pathlib import Path

import pytest

import sandmle
from sandmle import api
from sandmle.background import iterate
from sandmle.cli.evaluate import eval_command
from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.eval.runner import EpisodeFinished, RunEvent
from sandmle.eval.runs import read_run
from sandmle.rl.trainer import SftSettings, TrainSettings
from sandmle.seeds import get_seed, materialize
from sandmle.trajectory import Protocol


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tasks")
    materialize(get_seed("iris"), folder)
    return folder


@pytest.fixture(autouse=True)
def no_thread_stays() -> typing.Iterator[None]:
    yield
    assert not [thread for thread in threading.enumerate() if thread.name == "sandmle"]


def evaluate(folder: Path, out: Path, **changes: typing.Any):
    options = {"suite": f"synthetic:{folder}", "models": ["scripted:dummy"], "out": out, **changes}
    return sandmle.evaluate(**options)


async def test_evaluate_works_inside_a_running_loop_and_goes_on_outside(suite, tmp_path):
    events: list[RunEvent] = []
    inside = evaluate(suite, tmp_path / "run", on_event=events.append, turns=7)
    assert [row.policy for row in inside.rows] == ["scripted:dummy"]
    assert inside.runs[0].budget.turns == 7
    assert [type(event) for event in events[1:]] == [EpisodeFinished]
    again = await asyncio.to_thread(evaluate, suite, tmp_path / "run", on_event=events.append, turns=7)
    assert again == inside
    assert len(events) == 3


async def test_an_error_inside_a_running_loop_reaches_the_caller(suite, tmp_path):
    with pytest.raises(BadInput, match="unknown policy"):
        evaluate(suite, tmp_path / "run", models=["scripted:nobody"])


def test_ctrl_c_inside_a_running_loop_cancels_the_run_and_waits_for_it(suite, tmp_path):
    """As in Jupyter, whose loop leaves SIGINT to Python: a loop of ``asyncio.run`` takes it for itself."""
    main = threading.main_thread().ident
    assert main is not None

    def interrupt(event: RunEvent) -> None:
        if isinstance(event, EpisodeFinished):
            signal.pthread_kill(main, signal.SIGINT)

    async def cell() -> None:
        evaluate(suite, tmp_path / "run", repeats=4, jobs=1, on_event=interrupt)

    loop = asyncio.new_event_loop()
    with pytest.raises(KeyboardInterrupt):
        loop.run_until_complete(cell())
    loop.close()
    finished = len(read_run(tmp_path / "run").episodes)
    assert 1 <= finished < 4
    assert evaluate(suite, tmp_path / "run", repeats=4).episodes == 4


async def _numbers(log: list[str], fail_at: int | None = None):
    try:
        for number in range(5):
            if number == fail_at:
                raise BadInput("no more")
            log.append(f"made {number}")
            yield number
    finally:
        await asyncio.sleep(0)
        log.append("closed")


def test_an_iterator_makes_an_item_when_asked_and_is_closed_when_left():
    log: list[str] = []
    numbers = iterate(_numbers(log))
    assert [next(numbers), next(numbers)] == [0, 1]
    assert log == ["made 0", "made 1"]
    numbers.close()
    assert log[-1] == "closed"
    assert list(iterate(_numbers([]))) == [0, 1, 2, 3, 4]


async def test_an_iterator_hands_on_an_error_after_the_items_before_it():
    numbers, log = [], []
    with pytest.raises(BadInput, match="no more"):
        numbers.extend(number for number in iterate(_numbers(log, fail_at=2)) if numbers.append(number))
    assert numbers == [0, 1]
    assert log[-1] == "closed"


@pytest.mark.flow
@pytest.mark.slow
def test_a_batch_that_is_left_early_stops_and_goes_on(tmp_path):
    def batch(n: int, n_train: int = 50) -> typing.Iterator[sandmle.Task]:
        return sandmle.generate_tasks(["iris"], n, out=tmp_path, jobs=1, n_train=n_train, n_test=500)

    (first,) = batch(1)
    before = {path: path.stat().st_mtime_ns for path in first.root.rglob("*")}
    more = batch(3)
    assert next(more).id == first.id
    more.close()
    assert [task.id for task in sandmle.load_tasks(tmp_path)] == [first.id]
    assert [task.id for task in batch(1)] == [first.id]
    assert {path: path.stat().st_mtime_ns for path in first.root.rglob("*")} == before
    with pytest.raises(BadInput, match="n_train = 50, not 60"):
        next(batch(1, n_train=60))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"n": 0}, "n must be at least 1"),
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"n_train": 3}, "n_train"),
        ({"seed": -1}, "batch_seed"),
        ({"seeds": ["nonsense"]}, "nonsense"),
    ],
)
def test_bad_input_of_a_batch_is_refused_at_the_call(tmp_path, changes, said):
    options = {"seeds": ["iris"], "n": 1, "out": tmp_path / "tasks", **changes}
    for function in (sandmle.generate_tasks, sandmle.agenerate_tasks):
        with pytest.raises(BadInput, match=said):
            function(**options)
    assert not (tmp_path / "tasks").exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"repeats": 0}, "repeats"),
        ({"turns": 0}, "turns"),
        ({"protocol": "loud"}, "protocol: Input should be 'clean'"),
        ({"models": []}, "models"),
        ({"run_tokens": 0}, "limit of tokens must be positive"),
        ({"run_seconds": -1}, "limit of seconds must be positive"),
        ({"episode_tokens": 0}, "tokens"),
        ({"requests_per_minute": 0}, "requests per minute must be positive"),
        ({"tokens_per_minute": -5}, "tokens per minute must be positive"),
        ({"prices": {"openai:x": (1, 2)}}, "a price of 'openai:x', but the run's models are scripted:dummy"),
        ({"prices": {"scripted:dummy": (-1, 2)}}, "greater than or equal to 0"),
        ({"suite": "synthetic:/nowhere"}, "no such folder"),
    ],
)
def test_bad_input_of_an_evaluation_is_refused(suite, tmp_path, changes, said):
    with pytest.raises(BadInput, match=said):
        evaluate(suite, tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()


def test_grade_takes_paths_and_never_raises_over_a_submission(suite, tmp_path):
    root = next(suite.iterdir())
    sample = root / "prepared" / "public" / "sample_submission.csv"
    report = sandmle.grade(str(root), str(sample))
    assert report.valid
    assert report == sandmle.grade(sandmle.Task.load(root), sample)
    assert sandmle.grade(root, tmp_path / "nothing.csv").error == "missing"
    with pytest.raises(BadInput, match="no such"):
        sandmle.grade(tmp_path / "no-task", sample)


CONFIG = """
[model]
vocabulary = 400
tiny = { hidden = 32, layers = 1, heads = 2, kv_heads = 1, feed_forward = 64, context = 8192 }
[sft]
runs = ["run"]
epochs = 1
batch = 2
max_tokens = 8192
[grpo]
updates = 9
batch = 1
groups = { flat = "keep", refills = 0 }
[grpo.rollouts]
group = 2
turns = 1
sampling = { max_new_tokens = 8, max_tokens = 8192 }
"""


async def test_train_takes_a_config_changes_it_and_goes_on_inside_a_running_loop(suite, tmp_path, monkeypatch):
    pytest.importorskip("torch", reason="needs the extra train")
    pytest.importorskip("transformers", reason="needs the extra train")
    monkeypatch.chdir(tmp_path)
    await sandmle.aevaluate(suite=f"synthetic:{suite}", models=["scripted:dummy"], out="run")
    Path("config.toml").write_text(CONFIG)
    steps: list[typing.Any] = []
    options = {"out": "out", "tasks": suite, "seed": 3, "allow_unisolated": True, "on_step": steps.append}
    policy = sandmle.train("config.toml", updates=1, **options)
    assert policy == Path("out/policy")
    assert list(policy.glob("*.safetensors"))
    record = json.loads(Path("out/train.json").read_text())
    assert (record["settings"]["seed"], record["settings"]["grpo"]["updates"]) == (3, 1)
    assert [(step.phase, step.number, step.total) for step in steps] == [("sft", 1, 1), ("grpo", 1, 1)]
    assert await sandmle.atrain(TrainSettings.load("config.toml"), updates=2, **options) == policy
    assert [(step.phase, step.number, step.total) for step in steps[2:]] == [("grpo", 2, 2)]


@pytest.mark.parametrize(
    ("config", "changes", "said"),
    [
        ("nowhere", {}, "nowhere: neither a file nor one that comes with sandmle"),
        ("demo-cpu", {}, "an experiment, which has .*, not a config of our trainer"),
        ("tiny-cpu", {"seed": -1}, "seed: Input should be greater than or equal to 0"),
        ("tiny-cpu", {"updates": 0}, "updates: Input should be greater than or equal to 1"),
        (TrainSettings(sft=SftSettings(runs=("run",))), {"updates": 2}, r"updates: the config has no \[grpo\]"),
    ],
)
def test_bad_input_of_a_training_is_refused(tmp_path, config, changes, said):
    with pytest.raises(BadInput, match=said):
        sandmle.train(config, out=tmp_path / "out", **changes)
    assert not (tmp_path / "out").exists()


def test_without_the_extra_a_training_says_what_to_install(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("sandmle.rl._torch", "sandmle.rl.trainer.training"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(EnvironmentProblem, match=r"PyTorch is not installed: pip install 'sandmle\[train\]'"):
        sandmle.train("tiny-cpu", out=tmp_path / "out")


def test_the_api_loads_without_torch():
    names = "sandmle.train, sandmle.atrain, sandmle.load_tasks, sandmle.evaluate, sandmle.generate_tasks, sandmle.grade"
    code = f"import sys, sandmle; {names}; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert all(hasattr(sandmle, name) for name in sandmle.__all__)


@pytest.mark.parametrize(
    ("plain", "other"),
    [(api.evaluate, api.aevaluate), (api.generate_tasks, api.agenerate_tasks), (api.train, api.atrain)],
)
def test_both_forms_take_the_same_arguments(plain, other):
    assert inspect.signature(plain).parameters == inspect.signature(other).parameters


def test_the_command_line_names_every_protocol():
    hint = typing.get_type_hints(eval_command, include_extras=True)["protocol"]
    assert [name for name in typing.get_args(Protocol) if name not in hint.__metadata__[0].help] == []
