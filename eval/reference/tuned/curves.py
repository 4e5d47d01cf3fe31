"""Series as curves of one length, and as what random convolutions find in them.

The convolutions follow A. Dempster, F. Petitjean and G. Webb, ROCKET (2020): kernels of random weights, bias and
dilation, of each the largest value and the share of values above 0.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from sandmle.eval.acceptance.search.facts import Array, Facts

__all__ = ["curve_views"]

PARTS = ("train", "test")
STEPS = 96
COARSE = 32
KERNELS = 600


def curve_views(facts: Facts, ids: pd.Series, n_train: int, seed: int) -> list[tuple[str, str, Array]]:
    """Views of the series of ``ids``, in that order; ``seed`` draws the kernels."""
    curves = read_curves(facts, ids)
    middle, spread = curves[:n_train].mean(axis=(0, 2)), curves[:n_train].std(axis=(0, 2))
    curves = (curves - middle[:, None]) / np.maximum(spread[:, None], 1e-9)
    coarse = curves[:, :, np.linspace(0, STEPS - 1, COARSE).round().astype(int)].reshape(len(curves), -1)
    return [("curve", "pixels", coarse), ("kernels", "wide", convolved(curves, np.random.default_rng(seed)))]


def read_curves(facts: Facts, ids: pd.Series) -> Array:
    """Every channel stretched to ``STEPS`` values, and how long the series was; shape (n, channels + 1, STEPS)."""
    frames = [pd.read_csv(Path("input", f"{part}_series.csv"), converters={facts.id_column: str}) for part in PARTS]
    long = pd.concat(frames, ignore_index=True)
    channels = [name for name in long if name not in (facts.id_column, "step")]
    groups = {str(key): group[channels].to_numpy(np.float64) for key, group in long.groupby(facts.id_column)}
    places = np.linspace(0, 1, STEPS)
    return np.stack([stretched(groups[key], places) for key in ids])


def stretched(values: Array, places: Array) -> Array:
    """(steps, channels) to (channels + 1, len(places)); the last channel is the number of steps."""
    own = np.linspace(0, 1, len(values))
    channels = [np.interp(places, own[~np.isnan(x)], x[~np.isnan(x)]) for x in values.T]
    return np.stack([*channels, np.full(len(places), float(len(values)))])


def convolved(curves: Array, rng: np.random.Generator) -> Array:
    """Largest value and positive share of each random kernel on a random channel; shape (n, 2 * KERNELS)."""
    n, channels, steps = curves.shape
    found = np.empty((n, 2 * KERNELS))
    for k in range(KERNELS):
        length = int(rng.choice((7, 9, 11)))
        dilation = int(2 ** rng.uniform(0, np.log2((steps - 1) / (length - 1))))
        weights = rng.normal(size=length)
        weights -= weights.mean()
        channel, bias, half = int(rng.integers(channels - 1)), float(rng.uniform(-1, 1)), dilation * (length - 1) // 2
        padded = np.pad(curves[:, channel], ((0, 0), (half, half)))
        width = padded.shape[1] - dilation * (length - 1)
        values = sum(w * padded[:, i * dilation : i * dilation + width] for i, w in enumerate(weights)) + bias
        found[:, 2 * k], found[:, 2 * k + 1] = values.max(axis=1), (values > 0).mean(axis=1)
    return found
