"""``sandmle train RECIPE`` for rLLM, through the real command line: what it prints, what it refuses, how it exits."""

import json
from pathlib import Path

import pytest

from sandmle.cli import run


def sandmle(*arguments: object) -> int:
    """Run the command line in this process; returns its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["sandmle", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            run()
    return int(stop.value.code or 0)


@pytest.mark.parametrize("name", ["qwen3-8b", "qwen3-14b", "qwen3-30b-a3b"])
def test_a_dry_run_prints_arguments_and_memory(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sandmle("train", name, "--dry-run", "--recipe", "sft+rl", "--out", "there", "--updates", 5) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {
        "rllm.rollout.n=4",
        "rllm.trainer.total_batches=5",
        "trainer.default_local_dir=there/grpo",
        "data.max_length=40960",
    } <= set(lines)
    assert all(line.startswith("#") or line.count("=") >= 1 for line in lines)
    assert sum(line.startswith("#   update") for line in lines) == 2


def test_a_dry_run_as_json_holds_the_whole_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    assert sandmle("train", "qwen3-8b", "--dry-run", "--json") == 0
    (stage,) = json.loads(capsys.readouterr().out)["stages"]
    assert stage["effective"]["actor_rollout_ref.actor.loss_agg_mode"] == "seq-mean-token-mean"
    assert stage["faults"] == []


def test_faults_are_exit_2_and_a_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(
        'trainer = "rllm"\nmodel = "qwen3-14b"\n[hardware]\nshard = 3\ntokens_per_gpu = 40960\n'
        "[overrides.grpo]\nrllm.rollout.m = 4\n"
    )
    assert sandmle("train", path, "--dry-run") == 2
    told = capsys.readouterr()
    assert "rllm.rollout.n=4" in told.out
    assert told.err.splitlines() == [
        "error: grpo: rllm.rollout.m: no such key; did you mean rllm.rollout.n?",
        "grpo: actor_rollout_ref.actor.fsdp_config.fsdp_size = 3: it must divide the 8 GPUs",
    ]


def test_a_recipe_is_not_started_and_an_embedded_config_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert sandmle("train", "qwen3-8b") == 3
    assert "--dry-run" in capsys.readouterr().err
    assert sandmle("train", "tiny-cpu", "--dry-run") == 0
    assert json.loads(capsys.readouterr().out)["grpo"]["updates"] == 10
    assert sandmle("train", "tiny-cpu", "--recipe", "sandmle") == 2
    assert "--recipe: tiny-cpu is no recipe" in capsys.readouterr().err
    assert sandmle("train", "tiny-cpu") == 2
    assert "--out DIR is missing: the folder of the training" in capsys.readouterr().err
