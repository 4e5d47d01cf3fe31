"""``aexperiment``: from a file of arms to a table; the same call goes on from where it was stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandmle.api import aevaluate
from sandmle.errors import BadInput
from sandmle.eval.runner import EpisodeFinished, RunEvent, RunStarted
from sandmle.files import disk_errors, folder_lock, write_text
from sandmle.record import VersionedRecord
from sandmle.rl.experiments._arms import Arms
from sandmle.rl.experiments._constants import ConstantScore, score_constants
from sandmle.rl.experiments._costs import Cost
from sandmle.rl.experiments._curves import draw_curves, rewards_of
from sandmle.rl.experiments._report import ExperimentReport, Results, arm_rows
from sandmle.rl.experiments._settings import ArmSettings, ExperimentSettings
from sandmle.rl.experiments._spent import Spent
from sandmle.rl.experiments._tasks import HELD_OUT, Sets, divide, make_tasks, publish_sets, sizes, suitable
from sandmle.rl.rewards import get_preset
from sandmle.rl.rollouts import RolloutSettings
from sandmle.rl.splits import read_traits
from sandmle.rl.trainer.sandboxes import local_backend
from sandmle.sandboxes import SandboxBackend
from sandmle.task import Task, load_tasks

__all__ = ["Tell", "aexperiment"]

Tell = Callable[[str], None]
_TOLD = 50
"""Demonstrations between two lines of progress."""


class _Record(VersionedRecord):
    """``experiment.json``: what was asked, and how the tasks were divided."""

    settings: ExperimentSettings
    sets: dict[str, tuple[str, ...]]


@dataclass
class _Experiment:
    settings: ExperimentSettings
    out: Path
    tell: Tell
    backend: SandboxBackend
    sets: dict[str, list[Task]] = field(default_factory=dict)
    scores: list[ConstantScore] = field(default_factory=list)

    async def divide(self, given: Path | None) -> None:
        """Make tasks, try the constant scripts on them, and divide those that are left."""
        settings, rollouts = self.settings, _rollouts(self.settings)
        tasks = suitable(load_tasks(given)) if given else await make_tasks(settings.tasks, self.out, self.tell)
        await self.try_constants(tasks, rollouts)
        seeds = {task.id: task.manifest.lineage.seed_id for task in tasks}
        sets = divide(settings.tasks, read_traits(tasks), seeds, self.solved)
        _settle(self.out, settings, sets)
        self.sets = publish_sets(sets, tasks, self.out / "sets")
        self.tell(f"[tasks] {sizes(self.sets, settings.tasks)}")

    async def try_constants(self, tasks: Sequence[Task], rollouts: RolloutSettings) -> None:
        """Score the constant scripts."""
        self.scores = await score_constants(
            tasks,
            self.settings.tasks.constants,
            self.backend,
            get_preset(rollouts.reward),
            rollouts.protocol,
            self.out / "constants.jsonl",
            self.tell,
        )

    async def demonstrate(self) -> None:
        """Let ``scripted:mix`` play the training tasks."""
        rollouts = _rollouts(self.settings)
        finished, total = 0, 0

        def count(event: RunEvent) -> None:
            nonlocal finished, total
            match event:
                case RunStarted():
                    finished, total = len(event.done), event.total
                case EpisodeFinished():
                    finished += 1
                    if finished % _TOLD == 0 or finished == total:
                        self.tell(f"[demonstrations] {finished}/{total}")

        await aevaluate(
            suite=f"synthetic:{self.out / 'sets' / 'train'}",
            models=["scripted:mix"],
            out=self.out / "demonstrations",
            repeats=self.settings.demonstrations,
            protocol=rollouts.protocol,
            turns=rollouts.turns,
            step_seconds=rollouts.step_seconds,
            on_event=count,
        )

    @property
    def solved(self) -> set[str]:
        """Tasks on which a constant script reaches gold."""
        return {score.task_id for score in self.scores if score.gold}

    async def report(self, arms: Sequence[ArmSettings]) -> ExperimentReport:
        """Train and measure the arms, and compare them."""
        settings = self.settings
        runner = Arms(settings, self.out, self.sets, self.scores, self.backend, self.tell)
        results: dict[str, Results] = {}
        for seed in settings.seeds:
            for arm in arms:
                of_seed = await runner.results(arm, seed)
                results[arm.name] = _joined(results.get(arm.name, {}), of_seed)
        unmatched = {arm.name: runner.unmatched(arm) for arm in arms}
        return ExperimentReport(
            baseline=settings.baseline,
            seeds=settings.seeds,
            samples=settings.samples,
            tasks={name: len(found) for name, found in self.sets.items()},
            excluded=len(self.solved),
            rows=arm_rows(results, runner.notes, self._costs(arms), settings.baseline, unmatched),
        )

    def trainings(self, arms: Sequence[ArmSettings]) -> dict[str, Path]:
        """The folders of the arms' own trainings."""
        seeds = self.settings.seeds
        return {
            arm.name if len(seeds) == 1 else f"{arm.name}, seed {seed}": self.out / f"seed-{seed}" / arm.name
            for arm in arms
            if arm.trains
            for seed in seeds
        }

    def _costs(self, arms: Sequence[ArmSettings]) -> dict[str, Cost]:
        seeds = self.settings.seeds
        return {arm.name: Cost.of(self.out / f"seed-{seed}" / arm.name for seed in seeds) for arm in arms}


async def aexperiment(
    settings: ExperimentSettings,
    out: Path,
    *,
    controls: bool = True,
    tasks: Path | None = None,
    tell: Tell = lambda _: None,
    allow_unisolated: bool = False,
) -> ExperimentReport:
    """Run an experiment, or what is missing of it, into the folder ``out``.

    Args:
        settings: the experiment.
        out: new, or the folder of the same experiment; seeds and arms may have grown.
        controls: also run the arms that are marked as such.
        tasks: a folder of tasks to take in place of making some; those of ``other_seeds`` must be among them.
        tell: called with one line for each step; must return quickly.
        allow_unisolated: run the policy's code even where this machine offers no isolation.

    Raises:
        BadInput: settings that can't work, or ``out`` holds another experiment.
        EnvironmentProblem: no isolation, disk full, or the extra ``train`` is missing.
    """
    arms = [arm for arm in settings.arms if controls or not arm.control]
    if settings.baseline not in {arm.name for arm in arms}:
        raise BadInput(f"the baseline {settings.baseline!r} is a control: it can't be left out")
    if tasks is not None and not tasks.is_dir():
        raise BadInput(f"{tasks}: no such folder of tasks")
    backend = local_backend(allow_unisolated)
    with disk_errors(out), folder_lock(out):
        spent = Spent(out / "spent.json")

        def tell_and_keep(line: str) -> None:
            spent.keep()
            tell(line)

        experiment = _Experiment(settings, out, tell_and_keep, backend)
        try:
            await experiment.divide(tasks)
            await experiment.demonstrate()
            report = await experiment.report(arms)
        finally:
            await backend.aclose()
            spent.keep()
        report = report.model_copy(update={"cpu_s": spent.cpu_s, "wall_s": spent.wall_s})
        write_text(out / "report.json", report.to_text())
        write_text(out / "report.md", report.to_markdown())
        curves = {name: rewards_of(folder) for name, folder in experiment.trainings(arms).items()}
        draw_curves(curves, out / "curves.png")
    return report


def _settle(out: Path, settings: ExperimentSettings, sets: Sets) -> None:
    """Write ``experiment.json``, or see that the one there is of the same experiment."""
    path = out / "experiment.json"
    asked = _Record(settings=settings, sets=dict(sets))
    if path.exists():
        known = _Record.read(path)
        if known.settings.identity != settings.identity or known.sets != asked.sets:
            raise BadInput(f"{out}: holds another experiment; choose another folder for --out")
    write_text(path, asked.to_text())


def _rollouts(settings: ExperimentSettings) -> RolloutSettings:
    assert settings.train.grpo is not None
    return settings.train.grpo.rollouts


def _joined(first: Results, second: Results) -> Results:
    return {
        name: {way: [*first.get(name, {}).get(way, ()), *found] for way, found in second[name].items()}
        for name in HELD_OUT
    }
