"""The script for one GPU, in the smallest shape that goes through all of it."""

import importlib
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")
pytest.importorskip("pyarrow", reason="needs the extra train")

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def h200(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("h200")


@pytest.fixture
def plan(h200):
    once = dict.fromkeys(("demonstrations", "epochs", "probe", "batch", "updates"), 1)
    return replace(h200.SMALL, seeds=("iris",), group=2, reply=8, learning_s=0, **once)


@pytest.mark.flow
def test_the_script_for_one_gpu_makes_an_update(h200, plan, tmp_path: Path):
    h200.measure(plan, tmp_path / "found.json")
    found = json.loads((tmp_path / "found.json").read_text())
    assert [update["update"] for update in found["updates"]] == [1]
    assert set(found["phases"]) == {"demonstrations", "imitation", "probe", "GRPO"}
    assert found["log-probs"]["mean"] < 0.01


def test_what_was_measured_outlives_an_interrupt(h200, plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def stop(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(h200.Run, "demonstrate", stop)
    with pytest.raises(KeyboardInterrupt):
        h200.measure(plan, tmp_path / "found.json")
    assert set(json.loads((tmp_path / "found.json").read_text())["phases"]) == {"demonstrations"}


def test_the_full_shape_has_about_600_million_weights(h200):
    shape = h200.FULL.shape
    attention = 2 * shape.hidden * shape.head_dim * (shape.heads + shape.kv_heads)
    layer = attention + 3 * shape.hidden * shape.feed_forward
    assert 0.58e9 < shape.layers * layer + h200.FULL.vocabulary * shape.hidden < 0.62e9


def test_without_wheels_the_script_says_how_to_get_them(tmp_path: Path):
    (tmp_path / "benchmarks").mkdir()
    script = shutil.copy(BENCHMARKS / "h200.sh", tmp_path / "benchmarks")
    done = subprocess.run([script, "run"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "run 'benchmarks/h200.sh wheels' where there is a network" in done.stderr
    assert not (tmp_path / "h200-out").exists()
