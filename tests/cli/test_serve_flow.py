"""``sandmle eval --serve``: a checkpoint is served, evaluated and let go in one command; ``sandmle serve`` refuses."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")

from sandmle.cli import app
from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.eval.runs import read_run
from sandmle.files import hash_tree
from sandmle.rl.checkpoints import TinyModel, TrainerState, new_policy, save
from sandmle.rl.tokenizers import train_tokenizer
from sandmle.seeds import get_seed, materialize

pytestmark = pytest.mark.flow

COMMAND = [sys.executable, "-c", "from sandmle.cli import run; run()"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "SANDMLE_ALLOW_UNISOLATED": "true"}
EVAL = ["eval", "--suite", "synthetic:tasks", "--out", "run", "--turns", "1"]
KILLED = [*EVAL, "--serve", "policy", "--jobs", "1", "--repeats", "3"]


def sandmle(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)


def make_policy(folder: Path, seed: int) -> None:
    shape = TinyModel(hidden=32, layers=1, heads=2, kv_heads=1, feed_forward=64, context=16_384)
    save(new_policy(shape, train_tokenizer(["some words"] * 3, 300), seed), folder, TrainerState(), None)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    materialize(get_seed("iris"), tmp_path / "tasks")
    make_policy(tmp_path / "policy", seed=0)
    return tmp_path


def servers_of(folder: Path) -> list[int]:
    """Processes whose command line names the policy's folder."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            words = (each / "cmdline").read_bytes().split(b"\0")
            if b"serve" in words and (each / "cwd").resolve() == folder.resolve():
                found.append(int(each.name))
        except OSError:
            continue
    return found


@pytest.mark.slow
def test_one_command_serves_evaluates_and_lets_go(place: Path) -> None:
    done = sandmle(place, *EVAL, "--model", "scripted:dummy", "--serve", "policy")
    assert done.returncode == 0, done.stderr
    assert servers_of(place) == []
    run = read_run(place / "run")
    dummy, policy = run.record.settings.models
    assert dummy == "scripted:dummy"
    assert policy.startswith("openai:policy-")
    assert run.record.endpoint == "sandmle serve, embedded"
    assert [episode.masked for episode in run.episodes] == [False, False]


def kill_the_server(place: Path, *command: str) -> list[str]:
    """Run a command, kill its server after the first of three episodes, and give the lines of its error."""
    with subprocess.Popen(
        [*COMMAND, *command], cwd=place, env=ENVIRONMENT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stderr is not None
        assert any(line.startswith("[1/3]") for line in process.stderr)
        for pid in servers_of(place):
            if "_keeper" not in (Path(f"/proc/{pid}/cmdline").read_text()):
                os.kill(pid, signal.SIGKILL)
        errors = [line for line in process.stderr if not line.startswith("[")]
    assert process.returncode == 3
    return errors


def test_a_server_that_is_killed_ends_the_run_with_one_line(place: Path) -> None:
    first, *log = kill_the_server(place, *KILLED)
    assert first.startswith("error: the server of policy was killed by SIGKILL; every finished episode is kept")
    assert all(line.startswith("    ") for line in log)
    assert servers_of(place) == []
    assert len(hash_tree(place / "run" / "transcripts")) == len(read_run(place / "run").episodes) > 0


@pytest.mark.slow
def test_after_a_server_was_killed_the_same_command_goes_on(place: Path) -> None:
    kill_the_server(place, *KILLED)
    kept = hash_tree(place / "run" / "transcripts")
    assert kept
    done = sandmle(place, *KILLED)
    assert done.returncode == 0, done.stderr
    after = hash_tree(place / "run" / "transcripts")
    assert len(after) == 3
    assert kept.items() <= after.items()
    make_policy(place / "policy", seed=1)
    other = sandmle(place, *KILLED)
    assert other.returncode == 2
    assert "models was openai:policy-" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["serve", "policy", "--tensor-parallel-size", "8"], "--tensor-parallel-size: the embedded engine has no such"),
        (["serve", "nowhere"], "nowhere: no policy there: tokenizer.json is missing"),
        (["serve", "policy", "--engine", "tgi"], "--engine tgi: it is embedded or vllm"),
        (EVAL, "no policy: give --model NAME, or --serve"),
        ([*EVAL, "--serve", "nowhere"], "nowhere: no policy there"),
        ([*EVAL, "--serve", "p", "--base-url", "http://x"], "one run has one endpoint"),
        ([*EVAL, "--serve", "p", "--serve-options", '"'], '--serve-options ": No closing quotation'),
        ([*EVAL, "--serve", "p", "--serve-options", "--port 9000"], "--serve-options: leave out --port, since"),
        ([*EVAL, "--serve", "p", "--serve-options=--served_model_name=x"], "leave out --served_model_name=x, since"),
        ([*EVAL, "--serve", "p", "--serve-options", "--engine vllm"], "--engine; give it to `sandmle eval` itself"),
    ],
)
def test_what_can_not_be_served_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = CliRunner().invoke(app, arguments).exception
    assert isinstance(refused, BadInput)
    assert says in str(refused)


def test_a_taken_port_is_told_before_vllm_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandmle.rl.serving.require_vllm", lambda: None)
    monkeypatch.setattr("sandmle.rl.serving.serving", pytest.fail)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = CliRunner().invoke(app, ["serve", "policy", "--engine", "vllm", "--port", str(port)]).exception
    assert isinstance(refused, EnvironmentProblem)
    assert str(refused).startswith(f"127.0.0.1:{port}: Address already in use")
    assert str(refused).endswith("; choose another --port")
