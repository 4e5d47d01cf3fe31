"""What counts as an episode's time."""

from pathlib import Path

import pytest

from sandmle.agents.session import ToolResult
from sandmle.graphs.clock import Clock
from sandmle.graphs.episode import Live, acted
from sandmle.graphs.scaffold import Budget
from sandmle.seeds import get_seed, materialize
from sandmle.task import Task
from sandmle.trajectory import StepResult


class Hand:
    """A clock that is moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(("ran", "counted"), [(20.0, 20.0), (None, 0.0), (51.0, 50.0)])
async def test_of_an_action_only_the_run_of_its_code_counts(ran: float | None, counted: float) -> None:
    hand = Hand()
    bound = Live(None, None, Budget(), clock=Clock(hand))  # type: ignore[arg-type] - neither is reached for
    step = None if ran is None else StepResult(status="ok", exit_code=0, wall_s=ran, cpu_s=1.0, tier="A")

    async def waits_for_a_core_and_runs() -> ToolResult:
        hand.now += 50
        return ToolResult("", step=step)

    await acted(bound, waits_for_a_core_and_runs())
    assert bound.clock.seconds == counted


def test_every_turn_may_use_its_whole_step_and_an_hour_is_the_least(tmp_path: Path) -> None:
    task = materialize(get_seed("iris"), tmp_path)
    assert Budget.for_task(task).wall_seconds == 3600
    limits = task.manifest.limits.model_copy(update={"turns": 10, "step_seconds": 10_000.0})
    slow = Task(task.root, task.manifest.model_copy(update={"limits": limits}))
    assert Budget.for_task(slow).wall_seconds == 100_000
