"""The library of ideas on a table, fixed beforehand.

Curves, hinges, steps, bands and waves of one number; what two numbers, or a number and a level, do together; whole
groups of derived features. Cut points are quantiles of the training rows. An idea is a function of a table, so that it
can be computed for test rows too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations, permutations, product

import numpy as np

from sandmle.eval.acceptance.search.facts import Array, column
from sandmle.eval.acceptance.search.tables import CALENDAR, MAX_LEVELS, Table

__all__ = ["Idea", "library"]

CUTS = (0.15, 0.25, 0.35, 0.5, 0.65, 0.75, 0.85)
COARSE_CUTS = (0.35, 0.5, 0.65)
PERIODS = (0.8, 1.0, 1.25, 1.6, 2.0, 2.5, 3.2, 4.0)
WIDTHS = (0.3, 0.5, 0.8)
MAX_PAIRED = 14

Columns = Callable[[Table], Array]


@dataclass(frozen=True)
class Idea:
    """Columns to add to a model; ``plain`` ones are features as they are and need less evidence than inventions."""

    columns: Columns
    plain: bool = False


def library(table: Table, paired: tuple[str, ...] = ()) -> Iterator[Idea]:
    """Every idea; ``paired`` are the derived features that are worth pairs, best first."""
    derived = set(table.derived)
    yield from group_ideas(table)
    for name in table.z:
        if name not in derived:
            yield from map(Idea, single_ideas(name, np.quantile(table.z[name], CUTS)))
        else:
            yield from map(Idea, derived_ideas(name, np.quantile(table.z[name], CUTS[1:-1])))
    ordinary = sorted((name for name in table.z if name not in derived), key=lambda name: name.endswith(CALENDAR))
    room = max(MAX_PAIRED - len(paired), MAX_PAIRED // 2)
    names = [*ordinary[:room], *paired[: MAX_PAIRED - len(ordinary[:room])]]
    for a, b in combinations(names, 2):
        yield from map(Idea, pair_ideas(a, b, table))
    for a, b in permutations(names, 2):
        for cut in np.quantile(table.z[b], COARSE_CUTS):
            yield Idea(partial(gated, a=a, b=b, cut=cut))
    close = [(a, b) for a, b in combinations(names, 2) if abs(np.corrcoef(table.z[a], table.z[b])[0, 1]) > 0.3]
    groups = {tuple(sorted({name}.union(*(pair for pair in close if name in pair)))) for name in names}
    for group in sorted(group for group in groups if len(group) > 1):
        yield Idea(partial(common_square, group=group))
        yield Idea(partial(common_size, group=group))
    yield from map(Idea, level_ideas(table, names))


def group_ideas(table: Table) -> Iterator[Idea]:
    """Each derived feature as it is, each group of them, and all of them."""
    for name in table.derived:
        yield Idea(partial(Table.features, names=(name,)), plain=True)
    groups = [names for names in table.groups().values() if len(names) > 1]
    for names in groups if len(groups) == 1 else [*groups, table.derived] if groups else []:
        yield Idea(partial(Table.features, names=names), plain=True)


def single_ideas(name: str, cuts: Array) -> Iterator[Columns]:
    """Curves, hinges, steps, bands and waves of one number."""
    yield lambda t: column(t.z[name] ** 2)
    yield lambda t: column(np.log(np.abs(t.z[name]) + 0.1))
    for cut in cuts:
        yield partial(hinge, name=name, cut=cut)
        yield partial(above, name=name, cut=cut)
        for width in WIDTHS:
            yield partial(band, name=name, cut=cut, width=width)
    for period in PERIODS:
        yield partial(wave, name=name, turn=2 * np.pi / period)


def derived_ideas(name: str, cuts: Array) -> Iterator[Columns]:
    """The most useful curves of one derived feature: there are many features, so each gets few."""
    yield lambda t: column(t.z[name] ** 2)
    for index, cut in enumerate(cuts):
        yield partial(above, name=name, cut=cut)
        if index % 2 == 0:
            yield partial(hinge, name=name, cut=cut)
            yield partial(band, name=name, cut=cut, width=WIDTHS[1])
    for period in PERIODS[3::2]:
        yield partial(wave, name=name, turn=2 * np.pi / period)


def hinge(t: Table, name: str, cut: float) -> Array:
    """Distance from a value."""
    return column(np.abs(t.z[name] - cut))


def above(t: Table, name: str, cut: float) -> Array:
    """Whether a number exceeds a value."""
    return column(t.z[name] > cut)


def band(t: Table, name: str, cut: float, width: float) -> Array:
    """Whether a number is near a value."""
    return column(np.abs(t.z[name] - cut) < width)


def wave(t: Table, name: str, turn: float) -> Array:
    """Sine and cosine of a number."""
    return np.column_stack([np.sin(turn * t.z[name]), np.cos(turn * t.z[name])])


def gated(t: Table, a: str, b: str, cut: float) -> Array:
    """One number, counted only where another exceeds a value."""
    return column(t.z[a] * (t.z[b] > cut))


def common(t: Table, group: tuple[str, ...]) -> Array:
    """The mean of numbers that go together."""
    return np.asarray(np.mean([t.z[name] for name in group], axis=0), dtype=np.float64)


def common_square(t: Table, group: tuple[str, ...]) -> Array:
    """The square of their mean."""
    return column(common(t, group) ** 2)


def common_size(t: Table, group: tuple[str, ...]) -> Array:
    """How far their mean is from usual."""
    return column(np.abs(common(t, group)))


def pair_ideas(a: str, b: str, table: Table) -> Iterator[Columns]:
    """Products, distances, extremes, agreeing sides and ratios of two numbers."""
    yield lambda t: column(t.z[a] * t.z[b])
    yield lambda t: column(np.abs(t.z[a] - t.z[b]))
    yield lambda t: column(np.abs(t.z[a] + t.z[b]))
    yield lambda t: column(np.maximum(np.abs(t.z[a]), np.abs(t.z[b])))
    yield lambda t: column(np.minimum(np.abs(t.z[a]), np.abs(t.z[b])))
    yield lambda t: column(np.maximum(t.z[a], t.z[b]))
    for x, y in product(np.quantile(table.z[a], COARSE_CUTS), np.quantile(table.z[b], COARSE_CUTS)):
        yield partial(agree, a=a, b=b, x=x, y=y)
    if a in table.logs and b in table.logs:
        yield lambda t: column(np.exp(np.clip(t.logs[a] - t.logs[b], -8, 8)))
        yield lambda t: column(t.logs[a] - t.logs[b])
        for usual in np.quantile(table.logs[a] - table.logs[b], COARSE_CUTS):
            yield partial(odd_ratio, a=a, b=b, usual=usual)


def agree(t: Table, a: str, b: str, x: float, y: float) -> Array:
    """Whether two numbers lie on the same side of their cuts."""
    return column((t.z[a] > x) == (t.z[b] > y))


def odd_ratio(t: Table, a: str, b: str, usual: float) -> Array:
    """How far a ratio is from its usual value, on the log scale."""
    return column(np.abs(t.logs[a] - t.logs[b] - usual))


def level_ideas(table: Table, names: list[str]) -> Iterator[Columns]:
    """Slopes and deviations by level, the calendar as circles, and pairs of levels."""
    small = [name for name in table.codes if 2 <= table.n_levels[name] <= MAX_LEVELS]
    for level in small:
        if level.endswith(CALENDAR):
            yield partial(circle, level=level, turn=2 * np.pi / (12 if level.endswith(CALENDAR[0]) else 7))
            yield partial(Table.levels, name=level)
        members = table.levels(level)
        for name in names:
            centers = members.T @ table.z[name] / np.maximum(members.sum(axis=0), 1.0)
            yield partial(slopes, level=level, name=name)
            yield partial(deviation, level=level, name=name, centers=centers)
            yield partial(higher_than_peers, level=level, name=name, centers=centers)
    for a, b in combinations(small, 2):
        if table.n_levels[a] * table.n_levels[b] <= 2 * MAX_LEVELS:
            yield partial(crossed, a=a, b=b)


def circle(t: Table, level: str, turn: float) -> Array:
    """The calendar as a circle; levels are sorted, so that their codes follow the calendar."""
    return np.column_stack([np.sin(turn * t.codes[level]), np.cos(turn * t.codes[level])])


def slopes(t: Table, level: str, name: str) -> Array:
    """A number with its own slope in each level."""
    return t.levels(level) * t.z[name][:, None]


def deviation(t: Table, level: str, name: str, centers: Array) -> Array:
    """How far a number is from the mean of its level."""
    return column(np.abs(t.z[name] - t.levels(level) @ centers))


def higher_than_peers(t: Table, level: str, name: str, centers: Array) -> Array:
    """Whether a number exceeds the mean of its level."""
    return column(t.z[name] > t.levels(level) @ centers)


def crossed(t: Table, a: str, b: str) -> Array:
    """Every combination of two columns' levels."""
    return np.hstack([t.levels(a) * t.levels(b)[:, [k]] for k in range(t.n_levels[b])])
