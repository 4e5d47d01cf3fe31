"""Series as numbers: level, trend, season, memory, peaks, breaks, last values, and how channels move together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from sandmle.eval.acceptance.search.facts import Array, Facts

__all__ = ["series_features"]

LAGS = (1, 2, 3, 4, 6, 7, 8, 12, 24)
LAST = 8
SEASONS = (4, 5, 6, 7, 8, 10, 12, 24)
MAX_CHANNELS = 6


def series_features(facts: Facts, ids: pd.Series, root: Path) -> pd.DataFrame:
    """All features of the series of ``ids``, in that order."""
    channels = read_series(facts, ids, root)
    columns: dict[str, Array] = {}
    for name, values in channels.items():
        own = level(values) | trend(values) | memory(values) | season(values) | events(values) | ends(values)
        columns |= {f"{name} {key}": found for key, found in own.items()}
    names = list(channels)
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            columns |= {f"{a} {b} {key}": found for key, found in together(channels[a], channels[b]).items()}
    return pd.DataFrame(columns).astype(np.float64).replace([np.inf, -np.inf], np.nan)


def read_series(facts: Facts, ids: pd.Series, root: Path) -> dict[str, Array]:
    """Each value column as (n, steps); gaps and short series are filled with the value before."""
    frames = [pd.read_csv(root / f"{part}_series.csv", converters={facts.id_column: str}) for part in ("train", "test")]
    long = pd.concat(frames, ignore_index=True)
    step = "step" if "step" in long else next(c for c in long if c != facts.id_column)
    found: dict[str, Array] = {}
    for name in [c for c in long if c not in (facts.id_column, step)][:MAX_CHANNELS]:
        values = long[name]
        if not pd.api.types.is_numeric_dtype(values):
            values = pd.Series(pd.factorize(values, sort=True)[0], index=long.index)
        wide = long.assign(value=values).pivot_table(
            index=facts.id_column, columns=step, values="value", aggfunc="last"
        )
        filled = wide.ffill(axis=1).bfill(axis=1).reindex([str(i) for i in ids])
        found[str(name)] = filled.fillna(filled.stack().median()).to_numpy(np.float64)
    return found


def level(x: Array) -> dict[str, Array]:
    """Mean, spread, shape and extremes."""
    mean, std = x.mean(axis=1), x.std(axis=1) + 1e-9
    z = (x - mean[:, None]) / std[:, None]
    found = {"level/mean": mean, "level/spread": std, "level/skew": (z**3).mean(axis=1)}
    found |= {"level/kurtosis": (z**4).mean(axis=1), "level/largest": x.max(axis=1), "level/smallest": x.min(axis=1)}
    found |= {"level/median": np.median(x, axis=1), "level/range": x.max(axis=1) - x.min(axis=1)}
    found |= {"level/energy": (x**2).mean(axis=1), "level/variation": std / (np.abs(mean) + 1e-6)}
    low, high = np.percentile(x, (25, 75), axis=1)
    found |= {"level/quartiles": high - low, "level/positive": (x > 0).mean(axis=1)}
    counts = np.stack([((z >= a) & (z < a + 0.75)).mean(axis=1) for a in np.arange(-3, 3, 0.75)], axis=1)
    found["level/entropy"] = -(counts * np.log(counts + 1e-9)).sum(axis=1)
    return found


def slope_of(x: Array) -> Array:
    """Least-squares slope over the whole length taken as 1."""
    t = np.linspace(-0.5, 0.5, x.shape[1])
    return np.asarray((x - x.mean(axis=1, keepdims=True)) @ t / (t @ t))


def trend(x: Array) -> dict[str, Array]:
    """Slope, curve, thirds, halves, and the best place for a break in the level or the spread."""
    t, n = np.linspace(-0.5, 0.5, x.shape[1]), x.shape[1]
    slope, std = slope_of(x), x.std(axis=1) + 1e-9
    curve = t**2 - (t**2).mean()
    found = {"trend/slope": slope, "trend/own slope": slope / std, "trend/curve": x @ curve / (curve @ curve)}
    rest = x - x.mean(axis=1, keepdims=True) - slope[:, None] * t
    found["trend/rest"] = rest.std(axis=1)
    found["trend/straightness"] = 1 - rest.var(axis=1) / std**2
    first, middle, last = (part.mean(axis=1) for part in np.array_split(x, 3, axis=1))
    found |= {"trend/first third": first, "trend/middle third": middle, "trend/last third": last}
    found |= {"trend/last less first": last - first, "trend/bump": middle - (first + last) / 2}
    half = n // 2
    found["trend/spread ratio"] = np.log((x[:, half:].std(axis=1) + 1e-6) / (x[:, :half].std(axis=1) + 1e-6))
    places = np.unique(np.linspace(max(n // 8, 2), n - max(n // 8, 2), 24).astype(int))
    sums = np.cumsum(x, axis=1)
    jumps = np.stack([(sums[:, -1] - sums[:, k - 1]) / (n - k) - sums[:, k - 1] / k for k in places], axis=1)
    weight = np.sqrt(places * (n - places)) / n
    best = (np.abs(jumps) * weight).argmax(axis=1)
    rows = np.arange(len(x))
    found |= {"break/jump": jumps[rows, best], "break/place": places[best] / n}
    found["break/strength"] = (np.abs(jumps) * weight)[rows, best] / std
    centred = np.cumsum(x - x.mean(axis=1, keepdims=True), axis=1)
    found["break/wander"] = (centred.max(axis=1) - centred.min(axis=1)) / (std * np.sqrt(n))
    return found


def memory(x: Array) -> dict[str, Array]:
    """Autocorrelations of values, steps and sizes; how rough the path is."""
    steps = np.diff(x, axis=1)
    found: dict[str, Array] = {}
    for name, values, lags in (("values", x, LAGS), ("steps", steps, LAGS[:4]), ("sizes", np.abs(steps), (1, 2))):
        z = values - values.mean(axis=1, keepdims=True)
        power = (z**2).mean(axis=1) + 1e-12
        for lag in lags:
            if lag < z.shape[1] - 2:
                found[f"memory/{name} {lag}"] = (z[:, lag:] * z[:, :-lag]).mean(axis=1) / power
    found["steps/mean size"] = np.abs(steps).mean(axis=1)
    found["steps/spread"] = steps.std(axis=1)
    found["steps/largest"] = steps.max(axis=1)
    found["steps/smallest"] = steps.min(axis=1)
    found["steps/rising"] = (steps > 0).mean(axis=1)
    found["steps/roughness"] = np.log((steps.std(axis=1) + 1e-9) / (x.std(axis=1) + 1e-9))
    found["steps/turns"] = (np.sign(steps[:, 1:]) != np.sign(steps[:, :-1])).mean(axis=1)
    second = np.diff(steps, axis=1)
    found["steps/bend"] = np.abs(second).mean(axis=1)
    flip = (x[:, :-2] - x[:, 2:]) * (x[:, 1:-1] ** 2)
    found["steps/asymmetry"] = flip.mean(axis=1) / (np.abs(x).std(axis=1) + 1e-9) ** 3
    found["steps/skew"] = ((steps - steps.mean(axis=1, keepdims=True)) ** 3).mean(axis=1) / (
        steps.std(axis=1) + 1e-9
    ) ** 3
    return found


def season(x: Array) -> dict[str, Array]:
    """The strongest wave: period, share, phase, depth; energies by band; strength of usual periods."""
    n = x.shape[1]
    t = np.linspace(-0.5, 0.5, n)
    rest = x - x.mean(axis=1, keepdims=True) - slope_of(x)[:, None] * t
    spectrum = np.fft.rfft(rest * np.hanning(n), 4 * n)
    power, f = np.abs(spectrum) ** 2, np.fft.rfftfreq(4 * n)
    power[:, f < 1.3 / n] = 0
    total, best = power.sum(axis=1) + 1e-12, power.argmax(axis=1)
    rows = np.arange(len(x))
    found = {"season/frequency": f[best], "season/period": np.log(1 / f[best])}
    near = np.abs(f - f[best][:, None]) < 1.6 / n
    found["season/share"] = np.where(near, power, 0).sum(axis=1) / total
    found["season/second"] = f[np.where(near, 0, power).argmax(axis=1)]
    found["season/depth"] = np.sqrt(power[rows, best]) * 4 / n
    wave = np.exp(-2j * np.pi * f[best][:, None] * np.arange(n))
    phase = np.angle((rest * wave).sum(axis=1))
    found |= {"season/cosine": np.cos(phase), "season/sine": np.sin(phase)}
    ending = phase + 2 * np.pi * f[best] * n
    found |= {"season/next cosine": np.cos(ending), "season/next sine": np.sin(ending)}
    third = slice(0, n // 2), slice(n // 2, n)
    found["season/growth"] = np.log((rest[:, third[1]].std(axis=1) + 1e-6) / (rest[:, third[0]].std(axis=1) + 1e-6))
    found["season/mean frequency"] = (power * f).sum(axis=1) / total
    for low, high in ((0, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 0.35), (0.35, 0.51)):
        found[f"season/band {low}"] = power[:, (f > low) & (f <= high)].sum(axis=1) / total
    for period in SEASONS:
        if 2 * period <= n:
            found[f"season/every {period}"] = np.abs(rest @ np.exp(2j * np.pi * np.arange(n) / period)) * 2 / n
    return found


def events(x: Array) -> dict[str, Array]:
    """Peaks, dips, crossings, longest runs, outliers and where the extremes stand."""
    n = x.shape[1]
    mean, std = x.mean(axis=1, keepdims=True), x.std(axis=1, keepdims=True) + 1e-9
    z = (x - mean) / std
    found = {"events/top place": x.argmax(axis=1) / n, "events/low place": x.argmin(axis=1) / n}
    for name, values in (("peaks", z), ("dips", -z)):
        tops = (values[:, 1:-1] > values[:, :-2]) & (values[:, 1:-1] >= values[:, 2:]) & (values[:, 1:-1] > 0.8)
        found[f"events/{name}"] = tops.sum(axis=1)
        gaps = [np.diff(np.flatnonzero(row)) for row in tops]
        found[f"events/{name} spacing"] = np.array([gap.mean() if len(gap) else np.nan for gap in gaps])
        found[f"events/{name} unevenness"] = np.array([gap.std() if len(gap) > 1 else np.nan for gap in gaps])
        found[f"events/{name} size"] = values.max(axis=1)
    above = z > 0
    found["events/crossings"] = (above[:, 1:] != above[:, :-1]).sum(axis=1)
    run, longest = np.zeros(len(x)), np.zeros(len(x))
    for step in range(n):
        run = np.where(above[:, step], run + 1, 0)
        longest = np.maximum(longest, run)
    found["events/longest high"] = longest / n
    middle = np.median(x, axis=1, keepdims=True)
    usual = np.median(np.abs(x - middle), axis=1, keepdims=True) + 1e-9
    found["events/outliers"] = (np.abs(x - middle) > 5 * usual).sum(axis=1)
    found["events/largest outlier"] = ((x - middle) / usual)[np.arange(len(x)), np.abs(x - middle).argmax(axis=1)]
    found["events/flat"] = (np.abs(np.diff(x, axis=1)) < 1e-3 * std).mean(axis=1)
    return found


def ends(x: Array) -> dict[str, Array]:
    """Last values, recent means and slopes, and what simple forecasters say."""
    n = x.shape[1]
    found = {f"last/{k}": x[:, -k] for k in range(1, min(LAST, n) + 1)}
    found |= {f"first/{k + 1}": x[:, k] for k in range(min(2, n))}
    for k in (3, 6, 12):
        if k < n:
            found[f"recent/mean {k}"] = x[:, -k:].mean(axis=1)
            found[f"recent/slope {k}"] = slope_of(x[:, -k:]) / k
            found[f"recent/less mean {k}"] = x[:, -1] - x[:, -k:].mean(axis=1)
            found[f"recent/spread {k}"] = x[:, -k:].std(axis=1)
    for period in SEASONS:
        if 2 * period <= n:
            found[f"seasonal/{period}"] = x[:, -period]
            found[f"seasonal/{period} mean"] = x[:, -period::-period].mean(axis=1)
    for weight in (0.2, 0.5):
        share = weight * (1 - weight) ** np.arange(n)[::-1]
        found[f"recent/smooth {weight}"] = x @ (share / share.sum())
    return found


def together(x: Array, y: Array) -> dict[str, Array]:
    """Correlation of two channels, of their steps, at lags, and their differences."""
    found: dict[str, Array] = {}
    scaled = [(v - v.mean(axis=1, keepdims=True)) / (v.std(axis=1, keepdims=True) + 1e-9) for v in (x, y)]
    steps = [np.diff(v, axis=1) for v in (x, y)]
    steps = [(v - v.mean(axis=1, keepdims=True)) / (v.std(axis=1, keepdims=True) + 1e-9) for v in steps]
    found["both/correlation"] = (scaled[0] * scaled[1]).mean(axis=1)
    found["both/steps"] = (steps[0] * steps[1]).mean(axis=1)
    lags = [k for k in range(-6, 7) if abs(k) < x.shape[1] - 2]
    first, second = scaled
    n = x.shape[1]
    shifted = [first[:, max(k, 0) : n + min(k, 0)] * second[:, max(-k, 0) : n + min(-k, 0)] for k in lags]
    crossed = np.stack([values.mean(axis=1) for values in shifted], axis=1)
    for k in (-2, -1, 1, 2):
        found[f"both/lag {k}"] = crossed[:, lags.index(k)]
    found["both/best lag"] = np.array(lags, dtype=np.float64)[crossed.argmax(axis=1)]
    found["both/best"] = crossed.max(axis=1)
    found["both/difference"] = (x - y).mean(axis=1)
    found["both/spread ratio"] = np.log((x.std(axis=1) + 1e-9) / (y.std(axis=1) + 1e-9))
    found["both/last difference"] = x[:, -1] - y[:, -1]
    found["both/higher"] = (x > y).mean(axis=1)
    return found
