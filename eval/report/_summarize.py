"""From run folders to a ``Report``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from sandmle.errors import BadInput
from sandmle.eval.report._cells import Cell, labels_of, reward_of, rows_of, scales_of, tiered, won_medal
from sandmle.eval.report._profiles import area, gaps_to_best, profile
from sandmle.eval.report._record import Cost, Difference, RepeatStats, Report, Row, RunInfo, Scores
from sandmle.eval.report._scores import headrooms, human_ranks, overfit_gaps, ranked_tasks
from sandmle.eval.report._statistics import clustered_mean, over_repeats, paired_difference
from sandmle.eval.report._turns import turn_curve
from sandmle.eval.runs import EpisodeSummary, Run, Timing, read_run
from sandmle.trajectory import EpisodeStatus

__all__ = ["summarize"]

REFERENCE = "scripted:dummy"
PROFILE_AT = tuple(step / 20 for step in range(21))


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
    labels, scales = labels_of(read), scales_of(read)
    cells = [cell for run, label in zip(read, labels, strict=True) for cell in rows_of(run, label, scales)]
    settings = read[0].record.settings
    return Report(
        protocol=settings.protocol,
        reward=settings.reward,
        runs=tuple(_info(run, label) for run, label in zip(read, labels, strict=True)),
        rows=tuple(_row(cell, scores) for cell, scores in zip(cells, _scores(cells), strict=True)),
        differences=tuple(_differences(cells)),
        timing=tuple(_cost(cell) for cell in cells if cell.counted),
    )


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


def _row(cell: Cell, scores: Scores) -> Row:
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
        reward_by_repeat=_by_repeat(cell.in_full_repeats, reward_of),
        any_medal_by_repeat=_by_repeat(filter(tiered, cell.in_full_repeats), won_medal),
        format_ok=_mean(episode.format_ok / episode.turns if episode.turns else 0.0 for episode in counted),
        turns=_mean(episode.turns for episode in counted),
        overflow=_mean(episode.pruned > 0 or episode.status is EpisodeStatus.TOKEN_BUDGET for episode in counted),
        curve=turn_curve(counted),
        errors=dict(sorted(errors.items())),
        **dict(scores),
    )


def _scores(cells: Sequence[Cell]) -> list[Scores]:
    """For each cell, what its scores say beside those of the others."""
    ranked, gaps = ranked_tasks(cells), gaps_to_best(cells)
    return [
        Scores(
            headroom=clustered_mean(headrooms(cell)),
            human_rank=clustered_mean(human_ranks(cell, ranked)),
            overfit_gap=clustered_mean(overfit_gaps(cell)),
            aup=area(behind),
            profile=profile(behind, PROFILE_AT) if behind else (),
        )
        for cell, behind in zip(cells, gaps, strict=True)
    ]


def _cost(cell: Cell) -> Cost:
    timings, price = [episode.timing for episode in cell.counted], cell.price
    means = {name: float(np.mean([getattr(timing, name) for timing in timings])) for name in Timing.model_fields}
    money = _mean(timing.cost(price) for timing in timings) if price else None
    return Cost(run=cell.run, scaffold=cell.scaffold, policy=cell.policy, money=money, **means)


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


def _by_repeat(episodes: Iterable[EpisodeSummary], value: Callable[[EpisodeSummary], float]) -> RepeatStats | None:
    groups: dict[int, list[float]] = defaultdict(list)
    for episode in episodes:
        groups[episode.repeat].append(value(episode))
    return over_repeats(groups)


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return float(np.mean(listed)) if listed else None
