"""``sandmle train`` as a user runs it: refused in one line, killed with -9 and run again, served and evaluated."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")

from sandmle.files import hash_tree

pytestmark = pytest.mark.flow

CONFIG = """
tasks = "tasks"
[model]
vocabulary = 400
tiny = { hidden = 32, layers = 1, heads = 2, kv_heads = 1, feed_forward = 64, context = 8192 }
[sft]
runs = ["run"]
epochs = 1
batch = 2
max_tokens = 8192
[grpo]
updates = 4
batch = 2
batching = "lockstep"
checkpoint_every = 1
groups = { flat = "keep", refills = 0 }
[grpo.rollouts]
group = 2
turns = 2
sampling = { max_new_tokens = 12, max_tokens = 8192 }
"""
COMMAND = [sys.executable, "-c", "from sandmle.cli import run; run()"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "SANDMLE_ALLOW_UNISOLATED": "true"}


def sandmle(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)


def test_a_config_that_is_not_there_is_exit_2_and_one_line(tmp_path: Path) -> None:
    done = sandmle(tmp_path, "train", "nowhere", "--out", "out")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "nowhere: neither a file nor one that comes with sandmle" in done.stderr
    assert not (tmp_path / "out").exists()


def killed_after(folder: Path, out: str, line: str) -> None:
    """Run the training and kill it with -9 when ``line`` begins a line of its progress."""
    command = [*COMMAND, "train", "config.toml", "--out", out]
    with subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any(printed.startswith(line) for printed in process.stderr)
        process.kill()


@pytest.mark.slow
def test_killed_twice_it_ends_in_the_very_weights_of_an_unbroken_training(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(CONFIG)
    made = "from pathlib import Path; from sandmle.seeds import get_seed, materialize;"
    made += "materialize(get_seed('iris'), Path('tasks'))"
    subprocess.run([sys.executable, "-c", made], cwd=tmp_path, check=True)
    assert (
        sandmle(tmp_path, "eval", "--suite", "synthetic:tasks", "--model", "scripted:dummy", "--out", "run").returncode
        == 0
    )
    for line in ("[grpo 1/4]", "[grpo 3/4]"):
        killed_after(tmp_path, "killed", line)
    for out in ("killed", "unbroken"):
        done = sandmle(tmp_path, "train", "config.toml", "--out", out)
        assert done.returncode == 0, done.stderr
    assert hash_tree(tmp_path / "killed" / "policy") == hash_tree(tmp_path / "unbroken" / "policy")
    assert hash_tree(tmp_path / "killed" / "tokens") == hash_tree(tmp_path / "unbroken" / "tokens")
    updates = [json.loads(line)["update"] for line in (tmp_path / "killed" / "metrics-grpo.jsonl").open()]
    assert updates == [1, 2, 3, 4]
