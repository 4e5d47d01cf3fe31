"""What a user sees of a training, on a terminal and elsewhere."""

from dataclasses import dataclass, field
from io import StringIO
from itertools import count

import pytest
from rich.console import Console

from sandmle.cli import _train_progress
from sandmle.cli._train_progress import train_progress


@dataclass
class Step:
    """As ``sandmle.rl.trainer.training.StepDone``, which needs PyTorch."""

    phase: str
    number: int
    total: int
    metrics: dict[str, float] = field(default_factory=dict)


STEPS = (
    Step("sft", 1, 2, {"nll": 1.5, "tokens": 30, "update_s": 2.0}),
    Step("sft", 2, 2, {"nll": 1.25, "tokens": 30, "update_s": 2.0}),
    Step("grpo", 5, 9, {"reward": 0.5, "tokens": 60, "rollout_s": 2.0, "update_s": 1.0, "secret": 7}),
    Step("grpo", 6, 9, {"reward": float("nan"), "tokens": 0, "rollout_s": 2.0, "update_s": 1.0}),
)


def show(monkeypatch, terminal):
    console = Console(force_terminal=terminal, width=120, file=StringIO())
    monkeypatch.setattr(_train_progress, "Console", lambda stderr: console)
    seconds = count(0, 10)
    with train_progress(now=lambda: next(seconds)) as receive:
        for step in STEPS:
            receive(step)
    return console.file.getvalue()


def test_elsewhere_each_step_is_a_line(monkeypatch):
    lines = show(monkeypatch, terminal=False).splitlines()
    assert len(lines) == len(STEPS)
    assert lines[0].startswith("[sft 1/2] nll 1.5 · tokens 30 · 15 tokens/s")
    assert lines[2].startswith("[grpo 5/9] reward 0.5 · tokens 60 · 20 tokens/s")
    assert "secret" not in lines[2]
    assert all(line.endswith("left") for line in lines)


@pytest.mark.parametrize("word", ["grpo", "6/9", "reward", "tokens/s", "nan", "left"])
def test_a_terminal_shows_the_phase_and_its_last_steps(monkeypatch, word):
    shown = show(monkeypatch, terminal=True)
    assert word in shown
    assert "nll" not in shown.rsplit("grpo", 1)[1]
