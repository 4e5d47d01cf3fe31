"""Predictions in the form that the metric asks for; cut points and corrections are chosen out of fold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from sandmle.eval.acceptance.search.facts import Array, Facts
from sandmle.eval.acceptance.search.scores import label_loss, number_loss, set_loss

__all__ = ["submission"]

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
FACTORS = tuple(np.round(np.linspace(0.7, 1.1, 17), 3))
LEVELS = tuple(np.round(np.linspace(0.15, 0.65, 11), 3))


def submission(facts: Facts, ids: pd.Series, found: Array, inside: Array, y: Array) -> pd.DataFrame:
    """The table to submit.

    Args:
        facts: the brief.
        ids: names of the test rows.
        found: predictions of the test rows, (m, K).
        inside: out-of-fold predictions of the training rows, (n, K).
        y: training targets, (n, K).
    """
    out = pd.DataFrame({facts.id_column: ids.to_numpy()})
    names, first = np.array(facts.classes, dtype=object), facts.columns[0]
    if facts.kind == "probability":
        out[first] = np.clip(found[:, 1], 1e-5, 1 - 1e-5)
    elif facts.kind in ("class_probabilities", "label_probabilities"):
        per_class = pd.DataFrame(np.clip(found, 1e-5, 1 - 1e-5), columns=list(facts.columns))
        out = pd.concat([out, per_class], axis=1)
    elif facts.kind == "label_set":
        out[first] = [" ".join(names[row > 0]) or "none" for row in label_sets(facts.metric, found, inside, y)]
    elif facts.kind == "ranked_labels":
        order = np.argsort(-found, axis=1, kind="stable")[:, : facts.top or 1]
        out[first] = [" ".join(names[row]) for row in order]
    elif facts.kind == "label":
        codes = cut(facts, found, inside, y) if facts.ordered else decided(facts.metric, found, inside, y)
        out[first] = names[codes]
    elif facts.kind == "relevance":
        out[first] = found[:, 0]
    else:
        out[first] = corrected(facts, found[:, 0], inside[:, 0], y[:, 0])
    return out


def decided(metric: str, found: Array, inside: Array, y: Array) -> Array:
    """One class a row; where rare classes count more, probabilities are divided by a power of the class's share."""
    truth, shares = y.argmax(axis=1), np.clip(y.mean(axis=0), 1e-3, 1.0)
    plain = metric in ("", "accuracy")
    losses = [label_loss(metric, truth, (inside / shares**p).argmax(axis=1)) + 1e-3 * p for p in POWERS]
    power = 0.0 if plain else POWERS[int(np.argmin(losses))]
    return np.asarray((found / shares**power).argmax(axis=1))


def cut(facts: Facts, found: Array, inside: Array, y: Array) -> Array:
    """Ordered classes from one number: cut halfway, or so that the classes have their shares, or tuned from there."""
    truth, values, count = y[:, 0], inside[:, 0], len(facts.classes)
    shares = np.cumsum(np.bincount(truth.astype(int), minlength=count))[:-1] / len(truth)
    options = [np.arange(count - 1) + 0.5, np.quantile(values, shares)]
    options.append((options[0] + options[1]) / 2)
    losses = [label_loss(facts.metric, truth, np.searchsorted(np.sort(o), values)) for o in options]
    best, loss = np.sort(options[int(np.argmin(losses))]), min(losses)
    for index in range(count - 1):
        for step in (-0.2, -0.1, 0.1, 0.2):
            moved = best.copy()
            moved[index] += step
            trial = label_loss(facts.metric, truth, np.searchsorted(np.sort(moved), values))
            if trial < loss - 0.004:
                best, loss = np.sort(moved), trial
    return np.asarray(np.searchsorted(best, found[:, 0]))


def label_sets(metric: str, found: Array, inside: Array, y: Array) -> Array:
    """Labels above a common level; where it pays, the likeliest label of a row that has none."""

    def chosen(chance: Array, level: float, fill: bool) -> Array:
        sets = (chance > level).astype(np.float64)
        if fill:
            lonely = sets.sum(axis=1) == 0
            sets[lonely, chance[lonely].argmax(axis=1)] = 1.0
        return sets

    options = [(level, fill) for level in LEVELS for fill in (False, True)]
    losses = [set_loss(metric, y, chosen(inside, *option)) for option in options]
    return chosen(found, *options[int(np.argmin(losses))])


def corrected(facts: Facts, found: Array, inside: Array, truth: Array) -> Array:
    """Numbers moved to where the metric is best out of fold, by a quantile of the errors or a factor."""
    metric = facts.metric
    if number_loss(metric, truth, inside, facts.quantile) is not None:
        if "mape" in metric or "rmspe" in metric:
            options = [(0.0, 0.0, factor) for factor in FACTORS]
        else:
            level = facts.quantile if "pinball" in metric or "quantile" in metric else 0.5
            spread, slope = error_sizes(inside, truth)
            shift = float(np.quantile((truth - inside) / spread(inside), level))
            flat = float(np.quantile(truth - inside, level))
            options = [(0.0, 0.0, 1.0), (flat, 0.0, 1.0), (0.0, shift if slope else 0.0, 1.0)]
        spread, _ = error_sizes(inside, truth)

        def moved(values: Array, option: tuple[float, float, float]) -> Array:
            flat, scaled, factor = option
            return np.asarray((values + flat + scaled * spread(values)) * factor, dtype=np.float64)

        losses = [number_loss(metric, truth, moved(inside, option), facts.quantile) or 0.0 for option in options]
        found = moved(found, options[int(np.argmin(losses))])
    span = truth.max() - truth.min()
    lowest = max(truth.min() - 0.3 * span, 0.0) if truth.min() >= 0 else truth.min() - 0.3 * span
    return np.clip(found, lowest, truth.max() + 0.3 * span)


def error_sizes(inside: Array, truth: Array) -> tuple[Callable[[Array], Array], bool]:
    """The usual size of an error as a straight function of the prediction, and whether it varies at all."""
    size = np.abs(truth - inside)
    slope, start = np.polyfit(inside, size, 1) if inside.std() > 1e-9 else (0.0, size.mean())
    floor = max(0.25 * float(size.mean()), 1e-9)

    def spread(values: Array) -> Array:
        return np.asarray(np.maximum(start + slope * values, floor), dtype=np.float64)

    return spread, abs(slope) > 1e-9
