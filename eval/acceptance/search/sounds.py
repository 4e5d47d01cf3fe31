"""Sounds as numbers: level, envelope, its modulation, spectrum, pitch and its course, harmonics, beats, noise."""

from __future__ import annotations

import itertools
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import fft

from sandmle.eval.acceptance.search.facts import Array

__all__ = ["sound_features"]

CHUNK = 250
BANDS = 12
HARMONICS = 6
CEPSTRA = 8


def read_sounds(paths: list[str], root: Path) -> tuple[NDArray[Any], int, Array]:
    """Samples in [-1, 1] padded with zeros, shape (n, samples); samples a second; true lengths in seconds."""
    sounds, rate = [], 8000
    for path in paths:
        with wave.open(str(root / path), "rb") as file:
            rate, width, channels = file.getframerate(), file.getsampwidth(), file.getnchannels()
            data = file.readframes(file.getnframes())
        kind = {1: np.uint8, 2: np.int16, 4: np.int32}[width]
        values: NDArray[Any] = np.frombuffer(data, dtype=kind).astype(np.float32)
        values = (values - 128) / 128 if width == 1 else values / 2.0 ** (8 * width - 1)
        sounds.append(values.reshape(-1, channels).mean(axis=1))
    length = max(len(sound) for sound in sounds)
    padded = np.zeros((len(sounds), length), dtype=np.float32)
    for row, sound in zip(padded, sounds, strict=True):
        row[: len(sound)] = sound
    return padded, rate, np.array([len(sound) / rate for sound in sounds])


def sound_features(source: str, paths: pd.Series, n_train: int, root: Path) -> pd.DataFrame:
    """All features of a column of WAV files."""
    sounds, rate, seconds = read_sounds([str(path) for path in paths], root)
    parts = []
    for start in range(0, len(sounds), CHUNK):
        x = sounds[start : start + CHUNK]
        x = x - x.mean(axis=1, keepdims=True)
        parts.append(pd.DataFrame(level(x) | envelope(x, rate) | spectrum(x, rate) | frames(x, rate)))
    frame = pd.concat(parts, ignore_index=True)
    frame["level/seconds"] = seconds
    frame.columns = pd.Index([f"{source} {name}" for name in frame.columns])
    return frame.astype(np.float64)


def level(x: Array) -> dict[str, Array]:
    """Loudness, peaks, crossings of zero, and the shape of the distribution."""
    rms = np.sqrt((x**2).mean(axis=1)) + 1e-6
    found = {"level/loudness": np.log(rms), "level/peak": np.abs(x).max(axis=1)}
    found["level/crest"] = found["level/peak"] / rms
    found["level/crossings"] = (np.signbit(x[:, 1:]) != np.signbit(x[:, :-1])).mean(axis=1)
    found["level/kurtosis"] = ((x / rms[:, None]) ** 4).mean(axis=1)
    found["level/skew"] = ((x / rms[:, None]) ** 3).mean(axis=1)
    found["level/silence"] = (np.abs(x) < 0.05 * found["level/peak"][:, None]).mean(axis=1)
    found["level/clipped"] = (np.abs(x) > 0.98 * found["level/peak"][:, None]).mean(axis=1)
    return found


def envelope(x: Array, rate: int) -> dict[str, Array]:
    """The course of the loudness in steps of 8 ms: thirds, attack, decay, beats and their spacing, modulation."""
    step = max(rate // 125, 1)
    n = x.shape[1] // step
    env = np.sqrt((x[:, : n * step].reshape(len(x), n, step) ** 2).mean(axis=2)) + 1e-6
    env_rate, time, top = rate / step, np.linspace(0, 1, n), env.max(axis=1)
    total, peak = env.sum(axis=1), env.argmax(axis=1)
    found = {f"envelope/third {i + 1}": part.sum(axis=1) / total for i, part in enumerate(np.array_split(env, 3, 1))}
    found["envelope/centre"] = (env * time).sum(axis=1) / total
    found["envelope/width"] = np.sqrt((env * (time - found["envelope/centre"][:, None]) ** 2).sum(axis=1) / total)
    found["envelope/peak"] = peak / n
    found["envelope/attack"] = (env > 0.8 * top[:, None]).argmax(axis=1) / n
    found["envelope/start"] = (env > 0.2 * top[:, None]).argmax(axis=1) / n
    found["envelope/end"] = 1 - (env[:, ::-1] > 0.2 * top[:, None]).argmax(axis=1) / n
    found["envelope/variation"] = env.std(axis=1) / env.mean(axis=1)
    logs = np.log(env)
    found["envelope/slope"] = ((logs - logs.mean(axis=1, keepdims=True)) * (time - 0.5)).mean(axis=1) * 12
    after = (np.arange(n) >= peak[:, None]) & (env > 0.02 * top[:, None])
    share = after / np.maximum(after.sum(axis=1, keepdims=True), 1)
    middle, mean = (share * time).sum(axis=1, keepdims=True), (share * logs).sum(axis=1, keepdims=True)
    found["envelope/decay"] = (share * (time - middle) * (logs - mean)).sum(axis=1) / (
        (share * (time - middle) ** 2).sum(axis=1) + 1e-4
    )
    found["envelope/floor"] = np.log(np.percentile(env, 10, axis=1)) - np.log(top)
    found["envelope/quiet share"] = (env < 0.1 * top[:, None]).mean(axis=1)
    padded = np.pad(env, ((0, 0), (1, 1)), mode="edge")
    smooth = (padded[:, :-2] + env + padded[:, 2:]) / 3
    loud = smooth > 0.35 * smooth.max(axis=1, keepdims=True)
    starts = loud & ~np.pad(loud, ((0, 0), (1, 0)))[:, :-1]
    tops = (smooth[:, 1:-1] > smooth[:, :-2]) & (smooth[:, 1:-1] >= smooth[:, 2:]) & loud[:, 1:-1]
    found |= {"beats/bursts": starts.sum(axis=1), "beats/tops": tops.sum(axis=1)}
    gaps = [np.diff(np.flatnonzero(row)) / env_rate for row in starts]
    found["beats/spacing"] = np.array([gap.mean() if len(gap) else np.nan for gap in gaps])
    found["beats/unevenness"] = np.array([gap.std() / gap.mean() if len(gap) > 1 else np.nan for gap in gaps])
    found["beats/change"] = np.array([gap[-1] - gap[0] if len(gap) > 1 else np.nan for gap in gaps])
    return found | modulation("modulation", env / env.mean(axis=1, keepdims=True), env_rate)


def modulation(name: str, values: Array, rate: float) -> dict[str, Array]:
    """Which slow wave the values follow: its rate, share and depth, and energies by band."""
    flat = values - values.mean(axis=1, keepdims=True)
    time = np.linspace(-1, 1, flat.shape[1])
    flat = flat - (flat @ time / (time @ time))[:, None] * time
    size = 4 * flat.shape[1]
    power = np.abs(np.fft.rfft(flat * np.hanning(flat.shape[1]), size)) ** 2
    f = np.fft.rfftfreq(size, 1 / rate)
    power[:, f < 1.2 * rate / flat.shape[1]] = 0
    total = power.sum(axis=1) + 1e-12
    found = {f"{name}/rate": f[power.argmax(axis=1)], f"{name}/share": power.max(axis=1) / total}
    found[f"{name}/depth"] = flat.std(axis=1)
    for low, high in ((2, 5), (5, 9), (9, 15), (15, 25), (25, 60)):
        found[f"{name}/{low} to {high} Hz"] = power[:, (f >= low) & (f < high)].sum(axis=1) / total
    return found


def spectrum(x: Array, rate: int) -> dict[str, Array]:
    """The whole sound's spectrum: centre, width, slope, flatness, bands, peaks and what lies between them."""
    power = np.abs(fft.rfft(x * np.hanning(x.shape[1]).astype(np.float32), axis=1)) ** 2
    f = np.fft.rfftfreq(x.shape[1], 1 / rate)
    power[:, f < 20] = 0
    total = power.sum(axis=1) + 1e-12
    share = power / total[:, None]
    found = {"spectrum/centre": np.log((share * f).sum(axis=1) + 1)}
    found["spectrum/width"] = np.sqrt((share * (f - (share * f).sum(axis=1)[:, None]) ** 2).sum(axis=1))
    rising = share.cumsum(axis=1)
    for level in (25, 50, 85):
        found[f"spectrum/rolloff {level}"] = f[(rising >= level / 100).argmax(axis=1)]
    edges = np.geomspace(60, rate / 2, BANDS + 1)
    bands = np.stack([share[:, (f >= a) & (f < b)].sum(axis=1) for a, b in itertools.pairwise(edges)], axis=1)
    found |= {f"bands/{i}": np.log(bands[:, i] + 1e-6) for i in range(BANDS)}
    step = max(int(20 * x.shape[1] / rate), 1)
    cells = power[:, : power.shape[1] // step * step].reshape(len(x), -1, step).sum(axis=2) + 1e-9
    found["spectrum/flatness"] = np.log(cells).mean(axis=1) - np.log(cells.mean(axis=1))
    found["spectrum/floor"] = np.log(np.median(cells, axis=1)) - np.log(cells.max(axis=1))
    found["spectrum/peaks"] = (
        (cells[:, 1:-1] > cells[:, :-2]) & (cells[:, 1:-1] >= cells[:, 2:])
        & (cells[:, 1:-1] > 0.05 * cells.max(axis=1, keepdims=True))
    ).sum(axis=1)  # fmt: skip
    first = power.argmax(axis=1)
    far = np.abs(np.arange(len(f)) - first[:, None]) * rate / x.shape[1] > 40
    second = np.where(far, power, 0).argmax(axis=1)
    rows = np.arange(len(x))
    found["peaks/first"] = np.log(f[first] + 1)
    found["peaks/second"] = np.log(f[second] + 1)
    found["peaks/ratio"] = np.log((f[second] + 1) / (f[first] + 1))
    found["peaks/distance"] = np.abs(f[second] - f[first])
    found["peaks/balance"] = np.log((power[rows, second] + 1e-9) / (power[rows, first] + 1e-9))
    found["peaks/share"] = np.where(~far, share, 0).sum(axis=1)
    return found


def frames(x: Array, rate: int) -> dict[str, Array]:
    """Short frames of about 32 ms: pitch and its course, harmonics, cepstra, and how the spectrum moves."""
    size = 1 << int(np.log2(rate * 0.045))
    hop = size // 2
    count = max((x.shape[1] - size) // hop + 1, 2)
    padded = np.pad(x, ((0, 0), (0, max(size + hop * (count - 1) - x.shape[1], 0))))
    cut = np.lib.stride_tricks.sliding_window_view(padded, size, axis=1)[:, ::hop][:, :count]
    power = np.abs(fft.rfft(cut * np.hanning(size).astype(np.float32), 2 * size, axis=2)) ** 2
    loud = power.sum(axis=2)
    weight = np.where(loud > 0.05 * loud.max(axis=1, keepdims=True), loud, 0)
    weight = weight / (weight.sum(axis=1, keepdims=True) + 1e-12)
    f = np.fft.rfftfreq(2 * size, 1 / rate)
    centre = (power * f).sum(axis=2) / (loud + 1e-9)
    found = course("colour", np.log(centre + 1), weight)
    found["colour/flux"] = np.abs(np.diff(np.sqrt(power / (loud[..., None] + 1e-9)), axis=1)).sum(axis=2).mean(axis=1)
    loudest = np.log(f[power.argmax(axis=2)] + 1)
    found |= course("ridge", loudest, weight)
    echo = fft.irfft(power, axis=2)[:, :, :size]
    echo = echo / (echo[:, :, :1] + 1e-9)
    low, high = max(int(rate / 1000), 2), min(int(rate / 60), size - 2)
    lags = echo[:, :, low:high] * (1 / (1 - np.arange(low, high) / size * 0.9))
    best = lags.max(axis=2, keepdims=True)
    inner = (lags[:, :, 1:-1] >= lags[:, :, :-2]) & (lags[:, :, 1:-1] >= lags[:, :, 2:])
    good = inner & (lags[:, :, 1:-1] > 0.85 * best)
    lag = np.where(good.any(axis=2), good.argmax(axis=2) + 1, lags.argmax(axis=2)) + low
    pitch, clear = np.log(rate / lag), best[:, :, 0]
    sure = weight * (clear > 0.3)
    sure = np.where(sure.sum(axis=1, keepdims=True) > 0, sure, weight)
    sure = sure / (sure.sum(axis=1, keepdims=True) + 1e-12)
    found |= course("pitch", pitch, sure)
    found["pitch/clearness"] = (weight * clear).sum(axis=1)
    found |= modulation("vibrato", np.where(sure > 0, pitch, (sure * pitch).sum(axis=1, keepdims=True)), rate / hop)
    found |= harmonics(power, np.exp(pitch), sure, f[1])
    return found | cepstra(power, f, weight)


def course(name: str, values: Array, weight: Array) -> dict[str, Array]:
    """Mean, spread, slope, curve and ends of a quantity that is followed over frames."""
    time = np.linspace(-1, 1, values.shape[1])
    mean, middle = (weight * values).sum(axis=1), (weight * time).sum(axis=1)
    centred, t = values - mean[:, None], time - middle[:, None]
    third = max(values.shape[1] // 3, 1)
    found = {f"{name}/mean": mean, f"{name}/spread": np.sqrt((weight * centred**2).sum(axis=1))}
    found[f"{name}/slope"] = (weight * t * centred).sum(axis=1) / ((weight * t**2).sum(axis=1) + 1e-3)
    found[f"{name}/curve"] = (weight * (t**2 - 1 / 3) * centred).sum(axis=1)
    for end, part in (("start", slice(0, third)), ("stop", slice(-third, None))):
        share = weight[:, part] / (weight[:, part].sum(axis=1, keepdims=True) + 1e-9)
        found[f"{name}/{end}"] = (share * centred[:, part]).sum(axis=1)
    found[f"{name}/rise"] = found[f"{name}/stop"] - found[f"{name}/start"]
    return found


def harmonics(power: Array, pitch: Array, weight: Array, width: float) -> dict[str, Array]:
    """Shares of the first overtones, odd against even ones, and of what is no overtone."""
    rows, cols = np.ogrid[: power.shape[0], : power.shape[1]]
    energies = []
    for k in range(1, HARMONICS + 1):
        index = np.round(k * pitch / width).astype(int)
        inside = index < power.shape[2] - 2
        index = np.clip(index, 2, power.shape[2] - 3)
        energy = sum(power[rows, cols, index + shift] for shift in (-2, -1, 0, 1, 2))
        energies.append((weight * np.where(inside, energy, 0) / (power.sum(axis=2) + 1e-9)).sum(axis=1))
    table = np.column_stack(energies) + 1e-6
    found = {f"harmonics/{k + 1}": np.log(table[:, k]) for k in range(HARMONICS)}
    found["harmonics/odd or even"] = np.log(table[:, 2::2].sum(axis=1) / table[:, 1::2].sum(axis=1))
    found["harmonics/upper"] = np.log(table[:, 1:].sum(axis=1) / table[:, 0])
    found["harmonics/rest"] = 1 - table.sum(axis=1)
    return found


def cepstra(power: Array, f: NDArray[Any], weight: Array) -> dict[str, Array]:
    """Cosine coefficients of log energies in bands, on average, and late less early."""
    edges = np.geomspace(80, f[-1], 21)
    bands = np.stack([power[:, :, (f >= a * 0.85) & (f < b * 1.15)].sum(axis=2)
                      for a, b in itertools.pairwise(edges)], axis=2)  # fmt: skip
    logs = np.log(bands + 1e-6 * bands.sum(axis=2, keepdims=True) + 1e-9)
    spectra = fft.dct(logs, axis=2, norm="ortho")[:, :, 1 : CEPSTRA + 1]
    half = spectra.shape[1] // 2
    found = {f"cepstra/{k + 1}": (weight * spectra[:, :, k]).sum(axis=1) for k in range(CEPSTRA)}
    late = (weight[:, half:, None] * spectra[:, half:]).sum(axis=1) / (weight[:, half:].sum(axis=1)[:, None] + 1e-9)
    early = (weight[:, :half, None] * spectra[:, :half]).sum(axis=1) / (weight[:, :half].sum(axis=1)[:, None] + 1e-9)
    return found | {f"cepstra/change {k + 1}": (late - early)[:, k] for k in range(CEPSTRA)}
