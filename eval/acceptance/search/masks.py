"""Segmentation: every pixel is judged by a bank of filters; groups of filters are the ideas.

A logistic regression on a sample of the training pixels is cross-validated by pictures on the mean Dice, with one
threshold for all; the best group is added until none helps. The last model is that regression, or trees on the same
filters, where they do better.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import ndimage
from sklearn.ensemble import HistGradientBoostingClassifier

from sandmle.eval.acceptance.search.blobs import otsu
from sandmle.eval.acceptance.search.facts import Array, Facts
from sandmle.eval.acceptance.search.images import read_images
from sandmle.eval.acceptance.search.layout import feature_columns, read_tables
from sandmle.eval.acceptance.search.models import Linear

__all__ = ["decode", "encode", "mask_submissions"]

FOLDS = 4
SAMPLE = 160
THRESHOLDS = tuple(np.round(np.arange(0.1, 0.91, 0.1), 2))
CHUNK = 100
MIN_GAIN = 0.003
PENALTY = 3.0


def decode(cell: str, shape: tuple[int, int]) -> Array:
    """A mask from ``start length`` pairs, counted from 1 row by row."""
    mask = np.zeros(shape[0] * shape[1])
    runs = [] if cell in ("", "none", "nan") else [int(part) for part in cell.split()]
    for start, length in zip(runs[::2], runs[1::2], strict=True):
        mask[start - 1 : start - 1 + length] = 1.0
    return mask.reshape(shape)


def encode(mask: NDArray[np.bool_]) -> str:
    """The ``start length`` pairs of a mask."""
    edges = np.flatnonzero(np.diff(np.r_[0, mask.ravel().astype(np.int8), 0]))
    return (
        " ".join(f"{start + 1} {stop - start}" for start, stop in zip(edges[::2], edges[1::2], strict=True)) or "none"
    )


def plain(x: Array) -> Array:
    """The channels, their mean and spread, each also less the picture's mean."""
    grey = x.mean(axis=3, keepdims=True)
    parts = [x, grey, x - x.mean(axis=(1, 2), keepdims=True)]
    if x.shape[3] == 3:
        total = x.sum(axis=3, keepdims=True) + 0.05
        parts += [x / total, x.max(axis=3, keepdims=True) - x.min(axis=3, keepdims=True)]
    return np.concatenate(parts, axis=3)


def rank(x: Array) -> Array:
    """Standardised by the picture; above its own best cut, by how much, and squared distance from the middle."""
    grey = x.mean(axis=3)
    z = (grey - grey.mean(axis=(1, 2), keepdims=True)) / (grey.std(axis=(1, 2), keepdims=True) + 1e-6)
    cut = otsu(grey)
    return np.stack([z, z**2, np.abs(z), grey > cut, grey - cut], axis=3)


def blurred(x: Array, sigma: float) -> Array:
    """Smoothed channels, and what they differ by from the pixel."""
    smooth = ndimage.gaussian_filter(x, (0, sigma, sigma, 0))
    return np.concatenate([smooth, x - smooth, np.abs(x - smooth)], axis=3)


def spread(x: Array, size: int) -> Array:
    """Standard deviation near the pixel."""
    grey = x.mean(axis=3)
    mean = ndimage.uniform_filter(grey, (0, size, size))
    square = ndimage.uniform_filter(grey**2, (0, size, size)) - mean**2
    found = np.sqrt(np.maximum(square, 0))
    return np.stack([found, found - found.mean(axis=(1, 2), keepdims=True)], axis=3)


def extremes(x: Array, size: int) -> Array:
    """Largest and smallest near the pixel, and its rank between them."""
    grey = ndimage.gaussian_filter(x.mean(axis=3), (0, 0.7, 0.7))
    high, low = (f(grey, (0, size, size)) for f in (ndimage.maximum_filter, ndimage.minimum_filter))
    return np.stack([high, low, (grey - low) / (high - low + 0.02)], axis=3)


def slopes(x: Array, sigma: float) -> Array:
    """Size and direction of the gradient and of the curvature."""
    grey = ndimage.gaussian_filter(x.mean(axis=3), (0, sigma, sigma))
    dy, dx = np.gradient(grey, axis=(1, 2))
    yy, xx, xy = np.gradient(dy, axis=1), np.gradient(dx, axis=2), np.gradient(dx, axis=1)
    return np.stack([np.hypot(dx, dy), dx, dy, xx + yy, np.hypot(xx - yy, 2 * xy), xx - yy, xy], axis=3)


def striped(x: Array, sigma: float) -> Array:
    """Energy of changes along four directions near the pixel, and how they agree."""
    grey = ndimage.gaussian_filter(x.mean(axis=3), (0, 0.7, 0.7))
    dy, dx = np.gradient(grey, axis=(1, 2))
    smooth = partial(ndimage.gaussian_filter, sigma=(0, sigma, sigma))
    xx, yy, xy = smooth(dx * dx), smooth(dy * dy), smooth(dx * dy)
    total = xx + yy + 1e-5
    return np.stack([np.sqrt(total), (xx - yy) / total, 2 * xy / total, np.hypot(xx - yy, 2 * xy) / total], axis=3)


def position(x: Array) -> Array:
    """Where the pixel is."""
    n, height, width = x.shape[:3]
    v, u = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    table = np.stack([u, v, u**2, v**2, u * v, np.hypot(u, v)], axis=2).astype(np.float32)
    return np.broadcast_to(table, (n, *table.shape))


def regions(x: Array) -> Array:
    """Size and lightness of the even region that the pixel is in, by the picture's own cut."""
    grey = ndimage.gaussian_filter(x.mean(axis=3), (0, 0.7, 0.7))
    bright = grey > otsu(grey)
    joined = np.zeros((3, 3, 3))
    joined[1] = ndimage.generate_binary_structure(2, 1)
    found = []
    for mask in (bright, ~bright):
        labels, count = ndimage.label(mask, structure=joined)
        area = np.bincount(labels.ravel(), minlength=count + 1) / grey[0].size
        area[0] = 0
        found += [np.sqrt(area)[labels], (labels > 0) & (area[labels] < 0.05)]
    far = [ndimage.gaussian_filter(mask.astype(np.float32), (0, 2, 2)) for mask in (bright,)]
    return np.stack([*found, *far, ndimage.binary_fill_holes(bright, structure=joined) & ~bright], axis=3)


FILTERS: tuple[Any, ...] = (
    plain,
    rank,
    partial(blurred, sigma=1.0),
    partial(blurred, sigma=2.0),
    partial(blurred, sigma=4.0),
    partial(spread, size=3),
    partial(spread, size=5),
    partial(spread, size=9),
    partial(extremes, size=3),
    partial(extremes, size=7),
    partial(slopes, sigma=1.0),
    partial(slopes, sigma=2.0),
    partial(striped, sigma=1.5),
    partial(striped, sigma=3.0),
    position,
    regions,
)
STYLES = {"linear": (0, 2, 3), "gbdt": (0, 2, 3, 5), "best": (0, 1, 2, 3, 5, 10)}


def bank(pixels: Array, chosen: tuple[int, ...]) -> Array:
    """The columns of some filters, one row a pixel."""
    parts = [np.asarray(FILTERS[i](pixels), dtype=np.float32) for i in chosen]
    return np.concatenate([part.reshape(-1, part.shape[3]) for part in parts], axis=1)


class Segmenter:
    """Training pictures, their masks, a sample of their pixels, and the folds."""

    def __init__(self, pixels: Array, masks: Array) -> None:
        self.pixels, self.masks = pixels, masks
        n, size = len(pixels), masks[0].size
        rng = np.random.default_rng(0)
        self.fold = rng.permutation(n) % FOLDS
        self.sample = np.stack([rng.permutation(size)[: min(SAMPLE, size)] for _ in range(n)])
        self.rows = (self.sample + size * np.arange(n)[:, None]).ravel()
        self.y = masks.reshape(-1)[self.rows]
        self.owner = np.repeat(np.arange(n), self.sample.shape[1])
        self.columns = {i: bank(pixels, (i,)) for i in range(len(FILTERS))}
        self.sampled = {i: columns[self.rows] for i, columns in self.columns.items()}
        self.known: dict[tuple[tuple[int, ...], bool], tuple[float, float]] = {}

    def fit(self, chosen: tuple[int, ...], trees: bool, inside: NDArray[np.bool_]) -> Any:  # noqa: ANN401 - a model
        """A model of the sampled pixels of some pictures."""
        x = np.concatenate([self.sampled[i][inside[self.owner]] for i in chosen], axis=1)
        y = self.y[inside[self.owner]]
        if not trees or y.min() == y.max():
            return Linear(PENALTY, "classes").fit(x.astype(np.float64), np.column_stack([1 - y, y]))
        forest = HistGradientBoostingClassifier(max_iter=50, learning_rate=0.12, max_leaf_nodes=15, random_state=0)
        return forest.fit(x, y)

    def judge(self, chosen: tuple[int, ...], trees: bool = False) -> tuple[float, float]:
        """Mean Dice out of fold, and the threshold that it was reached with."""
        if (chosen, trees) not in self.known:
            shape = self.masks.shape
            chance = np.zeros(shape)
            size = self.masks[0].size
            for k in range(FOLDS):
                held = self.fold == k
                model = self.fit(chosen, trees, ~held)
                rows = np.repeat(held, size)
                x = np.concatenate([self.columns[i][rows] for i in chosen], axis=1)
                chance[held] = chances(model, x).reshape(-1, *shape[1:])
            smooth, masks = smoothed(chance), self.masks > 0.5
            scores = [dice(smooth > t, masks) for t in THRESHOLDS]
            best = int(np.argmax(scores))
            self.known[chosen, trees] = scores[best], float(THRESHOLDS[best])
        return self.known[chosen, trees]

    def search(self, budget: int) -> tuple[int, ...]:
        """Greedy choice of filter groups, the pixel's own values first."""
        chosen: tuple[int, ...] = (0,)
        tested: set[int] = {0}
        while len(chosen) < 6:
            gains = {}
            for i in range(1, len(FILTERS)):
                if i in chosen or (i not in tested and len(tested) >= budget):
                    continue
                tested.add(i)
                gains[i] = self.judge((*chosen, i))[0] - self.judge(chosen)[0]
            if not gains or max(gains.values()) < MIN_GAIN:
                break
            chosen = (*chosen, max(gains, key=lambda i: gains[i]))
        return chosen


def chances(model: Any, x: Array) -> Array:  # noqa: ANN401 - a model
    """Each pixel's probability."""
    if isinstance(model, Linear):
        raw = x @ (model.weights[1:, 0] / model.spread).astype(np.float32)
        start = model.weights[0, 0] - (model.center / model.spread) @ model.weights[1:, 0]
        return np.asarray(1 / (1 + np.exp(-np.clip(raw + start, -30, 30))))
    return np.asarray(model.predict_proba(x)[:, 1])


def smoothed(chance: Array) -> Array:
    """A pixel's probability, with a little of its neighbours'."""
    return np.asarray(ndimage.gaussian_filter(chance, (0, 0.6, 0.6)))


def dice(found: NDArray[np.bool_], masks: NDArray[np.bool_]) -> float:
    """Mean over pictures of twice the shared pixels over all pixels of both; 1 where both are empty."""
    both, total = (found & masks).sum(axis=(1, 2)), found.sum(axis=(1, 2)) + masks.sum(axis=(1, 2))
    return float(np.where(total > 0, 2 * both / np.maximum(total, 1), 1.0).mean())


def mask_submissions(facts: Facts, budgets: list[int]) -> dict[int, pd.DataFrame]:
    """Choose filters for each budget and segment the test pictures."""
    train, test = read_tables(facts)
    names = feature_columns(facts, train, test)
    name = next(c for c in names if train[c].astype(str).str.fullmatch(r"(?i).*\.(png|jpe?g|bmp|gif|tiff?)").all())
    shape = facts.mask_shape or (0, 0)
    masks = np.stack([decode(cell, shape) for cell in train[facts.target]])
    if facts.style == "dummy":
        return {k: constant(facts, masks, test) for k in budgets}
    root = Path("input")
    pixels, unseen = (read_images([str(p) for p in frame[name]], root) for frame in (train, test))
    work, written, made = Segmenter(pixels, masks), {}, {}
    for budget in budgets:
        chosen = work.search(budget) if facts.style == "search" else STYLES[facts.style]
        if chosen not in made:
            options = {"linear": (False,), "gbdt": (True,)}.get(facts.style, (False, True))
            trees = max(options, key=lambda option: work.judge(chosen, option)[0])
            made[chosen] = segmented(work, chosen, trees, unseen)
        written[budget] = pd.DataFrame({facts.id_column: test[facts.id_column], facts.columns[0]: made[chosen]})
    return written


def segmented(work: Segmenter, chosen: tuple[int, ...], trees: bool, unseen: Array) -> list[str]:
    """The run lengths of all test pictures."""
    model, level = work.fit(chosen, trees, np.ones(len(work.pixels), dtype=bool)), work.judge(chosen, trees)[1]
    cells: list[str] = []
    for start in range(0, len(unseen), CHUNK):
        part = unseen[start : start + CHUNK]
        chance = chances(model, bank(part, chosen)).reshape(part.shape[:3])
        cells += [encode(mask) for mask in smoothed(chance) > level]
    return cells


def constant(facts: Facts, masks: Array, test: pd.DataFrame) -> pd.DataFrame:
    """The pixels that are set in most training masks, at the level with the best Dice."""
    mean = masks.mean(axis=0)
    levels = np.unique(np.quantile(mean, np.linspace(0, 1, 12)))[:-1]
    best = max([*levels, 1.0], key=lambda level: dice(np.broadcast_to(mean > level, masks.shape), masks > 0.5))
    return pd.DataFrame({facts.id_column: test[facts.id_column], facts.columns[0]: encode(mean > best)})
