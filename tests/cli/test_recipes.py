"""``sandmle train RECIPE`` for rLLM, through the real command line: what it prints, what it refuses, how it exits."""

import importlib.util
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
    assert all(line.startswith(("#", "~")) or line.count("=") >= 1 for line in lines)
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


@pytest.mark.parametrize(
    "arguments",
    [("qwen3-8b",), ("qwen3-8b", "--trainer", "rllm", "--backend", "verl"), ("tiny-cpu", "--trainer", "rllm")],
)
def test_without_rllm_it_is_told_in_one_line_what_to_install(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = importlib.util.find_spec

    def without_rllm(name: str) -> object:
        return None if "llm" in name else there(name)

    monkeypatch.setattr("sandmle.rl.rllm.installed.find_spec", without_rllm)
    assert sandmle("train", *arguments, "--out", tmp_path / "out") == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "needs rllm, rllm_model_gateway" in line
    assert "pip install --group rllm" in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("qwen3-8b", "--backend", "local"), "--backend local takes a config of ours"),
        (("qwen3-8b", "--trainer", "sandmle"), "a recipe for rLLM's trainer on verl"),
        (("tiny-cpu", "--backend", "verl"), "--backend verl takes a recipe"),
        (("tiny-cpu", "--backend", "local"), "--trainer rllm"),
        (("demo-cpu", "--trainer", "rllm"), "an experiment, which our own trainer makes"),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sandmle("train", *arguments) == 2
    assert says in capsys.readouterr().err


def test_imitation_alone_asks_for_no_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    monkeypatch.setattr("sandmle.rl.rllm.installed.need_verl", lambda: None)
    monkeypatch.setattr("sandmle.rl.rllm.on_verl.start", lambda *given, **_: started.append(given))
    path = tmp_path / "recipe.toml"
    path.write_text(
        f'trainer = "rllm"\nmodel = "qwen3-8b"\nsplit = "paper"\ntasks = "{tmp_path}/none"\n'
        "[hardware]\ntokens_per_gpu = 40960\n"
    )
    assert sandmle("train", path, "--recipe", "seed-sft", "--dry-run") == 0
    assert sandmle("train", path, "--recipe", "seed-sft") == 0
    assert [given[0].stages for given in started] == [("sft",)]
    assert sandmle("train", path) == 2


def test_an_embedded_config_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert sandmle("train", "tiny-cpu", "--dry-run") == 0
    assert json.loads(capsys.readouterr().out)["grpo"]["updates"] == 10
    assert sandmle("train", "tiny-cpu", "--recipe", "sandmle") == 2
    assert "--recipe: tiny-cpu is not a recipe" in capsys.readouterr().err
    assert sandmle("train", "tiny-cpu") == 2
    assert "--out DIR is missing: the folder of the training" in capsys.readouterr().err
