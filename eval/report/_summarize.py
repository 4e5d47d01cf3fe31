"""From run folders to a ``Report``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sandmle.errors import BadInput
from sandmle.eval.report._record import Cost, Difference, RepeatStats, Report, Row, RunInfo
from sandmle.eval.report._statistics import clustered_mean, over_repeats, paired_difference
from sandmle.eval.runs import EpisodeSummary, Run, read_run

__all__ = ["Cell", "labels_of", "reward_of", "rows_of", "summarize", "tiered", "won_medal"]

REFERENCE = "scripted:dummy"
COMPARABLE = ("protocol", "reward", "temperature", "budget")


@dataclass(frozen=True)
class Cell:
    """The episodes of one scaffold and policy in one run, in a fixed order."""

    run: str
    scaffold: str
    policy: str
    expected: int
    episodes: tuple[EpisodeSummary, ...]

    @property
    def counted(self) -> list[EpisodeSummary]:
        return [episode for episode in self.episodes if not episode.masked]

    @property
    def privileged(self) -> bool:
        return any(episode.privileged for episode in self.episodes)

    @property
    def rewards(self) -> dict[str, list[float]]:
        """Rewards of the counted episodes by task hash."""
        return self.values(reward_of)

    def values(
        self,
        value: Callable[[EpisodeSummary], float],
        chosen: Callable[[EpisodeSummary], bool] = lambda _: True,
    ) -> dict[str, list[float]]:
        """A value of the chosen counted episodes by task hash, so that equal tasks pair across runs."""
        groups: dict[str, list[float]] = defaultdict(list)
        for episode in self.counted:
            if chosen(episode):
                groups[episode.task_hash].append(value(episode))
        return dict(groups)


def summarize(runs: Sequence[Path | str | Run]) -> Report:
    """The report of one run, or of several side by side.

    Args:
        runs: run folders, finished or not, or runs that were read already.

    Raises:
        BadInput: none was given, one can't be read, or they differ in protocol, reward preset, temperature or budget:
            such figures may never stand in one table.
    """
    read = [run if isinstance(run, Run) else read_run(run) for run in runs]
    if not read:
        raise BadInput("name at least one run folder")
    labels = labels_of(read)
    cells = [cell for run, label in zip(read, labels, strict=True) for cell in rows_of(run, label)]
    settings = read[0].record.settings
    return Report(
        protocol=settings.protocol,
        reward=settings.reward,
        runs=tuple(_info(run, label) for run, label in zip(read, labels, strict=True)),
        rows=tuple(_row(cell) for cell in cells),
        differences=tuple(_differences(cells)),
        timing=tuple(_cost(cell) for cell in cells if cell.counted),
    )


def _refuse_mixture(runs: Sequence[Run]) -> None:
    first = runs[0]
    for run in runs[1:]:
        for name in COMPARABLE:
            ours, theirs = getattr(first.record.settings, name), getattr(run.record.settings, name)
            if ours != theirs:
                raise BadInput(
                    f"{run.folder}: {name} is {theirs} but {first.folder} has {ours}; such results may not stand in"
                    " one table: report them apart"
                )


def labels_of(runs: Sequence[Run]) -> list[str]:
    """Folder names, made unique by the whole path; nothing for a single run.

    Raises:
        BadInput: the runs may not stand in one table, or one is named twice.
    """
    _refuse_mixture(runs)
    if len(runs) == 1:
        return [""]
    folders = [run.folder.resolve() for run in runs]
    if len(set(folders)) < len(folders):
        raise BadInput("the same run folder is named twice")
    names = Counter(folder.name for folder in folders)
    return [folder.name if names[folder.name] == 1 else str(folder) for folder in folders]


def rows_of(run: Run, label: str) -> list[Cell]:
    """The rows of a run: scaffolds x policies."""
    settings = run.record.settings
    expected = len(run.record.tasks) * settings.repeats
    groups: dict[tuple[str, str], list[EpisodeSummary]] = defaultdict(list)
    for episode in run.episodes:
        groups[episode.scaffold, episode.policy].append(episode)
    return [
        Cell(label, scaffold, model, expected, tuple(groups[scaffold, model]))
        for scaffold in settings.scaffolds
        for model in settings.models
    ]


def _info(run: Run, label: str) -> RunInfo:
    settings = run.record.settings
    tiers = {tier for episode in run.episodes for tier in episode.tiers} or {run.record.isolation}
    return RunInfo(
        label=label,
        suite=settings.suite,
        tasks=len(run.record.tasks),
        repeats=settings.repeats,
        seed=settings.seed,
        temperature=settings.temperature,
        budget=settings.budget,
        isolation=tuple(sorted(tiers)),
        versions=run.record.versions,
    )


def _row(cell: Cell) -> Row:
    counted = cell.counted
    grades = [episode.grade for episode in counted]
    masked_by = Counter(episode.status.value for episode in cell.episodes if episode.masked)
    errors = Counter(grade.error.value for grade in grades if grade is not None and grade.error is not None)
    with_tiers = [episode.grade for episode in counted if episode.grade and tiered(episode)]
    medals = [grade.medal for grade in with_tiers]
    return Row(
        run=cell.run,
        scaffold=cell.scaffold,
        policy=cell.policy,
        privileged=cell.privileged,
        tasks=len(cell.rewards),
        episodes=len(cell.episodes),
        expected=cell.expected,
        masked=sum(masked_by.values()),
        masked_by=dict(sorted(masked_by.items())),
        leaked=sum(episode.leaked for episode in cell.episodes),
        valid=_mean(bool(grade and grade.valid) for grade in grades),
        above_median=_mean(grade.above_median for grade in with_tiers),
        bronze=_mean(medal == "bronze" for medal in medals),
        silver=_mean(medal == "silver" for medal in medals),
        gold=_mean(medal == "gold" for medal in medals),
        any_medal=_mean(medal is not None for medal in medals),
        reward=clustered_mean(cell.rewards),
        reward_by_repeat=_by_repeat(counted, reward_of),
        any_medal_by_repeat=_by_repeat(filter(tiered, counted), won_medal),
        format_ok=_mean(episode.format_ok / episode.turns if episode.turns else 0.0 for episode in counted),
        turns=_mean(episode.turns for episode in counted),
        errors=dict(sorted(errors.items())),
    )


def _cost(cell: Cell) -> Cost:
    timings = [episode.timing for episode in cell.counted]
    means = {
        name: float(np.mean([getattr(timing, name) for timing in timings]))
        for name in Cost.model_fields
        if name not in ("run", "scaffold", "policy")
    }
    return Cost(run=cell.run, scaffold=cell.scaffold, policy=cell.policy, **means)


def _differences(cells: Sequence[Cell]) -> list[Difference]:
    reference = _reference(cells)
    if reference is None:
        return []
    found = []
    for cell in cells:
        paired = None if cell is reference else paired_difference(cell.rewards, reference.rewards)
        if paired is None:
            continue
        found.append(
            Difference(
                run=cell.run,
                scaffold=cell.scaffold,
                policy=cell.policy,
                privileged=cell.privileged,
                versus=" ".join(filter(None, (reference.run, reference.scaffold, reference.policy))),
                tasks=paired[1],
                reward=paired[0],
            )
        )
    return found


def _reference(cells: Sequence[Cell]) -> Cell | None:
    """The first dummy, else the measured policy with the lowest mean reward."""
    usable = [cell for cell in cells if cell.counted and not cell.privileged]
    dummies = [cell for cell in usable if cell.policy == REFERENCE]
    ranked = sorted(usable, key=lambda cell: float(np.mean([reward_of(episode) for episode in cell.counted])))
    return next(iter(dummies or ranked), None)


def reward_of(episode: EpisodeSummary) -> float:
    """The reward; 0 where there is none."""
    return episode.reward.total if episode.reward else 0.0


def tiered(episode: EpisodeSummary) -> bool:
    """Whether the task has thresholds."""
    return episode.grade is not None and episode.grade.thresholds is not None


def won_medal(episode: EpisodeSummary) -> float:
    """1 with a medal, 0 without."""
    return float(episode.grade is not None and episode.grade.medal is not None)


def _by_repeat(counted: Iterable[EpisodeSummary], value: Callable[[EpisodeSummary], float]) -> RepeatStats | None:
    groups: dict[int, list[float]] = defaultdict(list)
    for episode in counted:
        groups[episode.repeat].append(value(episode))
    return over_repeats(groups)


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return float(np.mean(listed)) if listed else None
