"""Pictures as numbers: light, colour, layout, edges, waves, texture, things, symmetry, thumbnails."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image
from scipy import ndimage

from sandmle.eval.acceptance.search.blobs import blob_features
from sandmle.eval.acceptance.search.facts import Array

__all__ = ["image_features", "read_images"]

CHUNK = 250
LARGEST = 64
BINS = 8
THUMBNAIL = 8
COMPONENTS = 12


def read_images(paths: list[str], root: Path) -> Array:
    """Pixels in [0, 1], shape (n, height, width, channels); all of the first one's size, 64 pixels a side at most."""
    with Image.open(root / paths[0]) as picture:
        size = (min(picture.width, LARGEST), min(picture.height, LARGEST))
    mode, pictures = "L", []
    for path in paths:
        with Image.open(root / path) as picture:
            grey = picture.mode in ("L", "1", "I", "I;16", "F", "LA")
            shown = picture.convert("L" if grey else "RGB")
            mode = mode if grey else "RGB"
            pictures.append(shown if shown.size == size else shown.resize(size, Image.Resampling.BILINEAR))
    pixels = np.stack([np.asarray(picture.convert(mode)) for picture in pictures])
    return (pixels if pixels.ndim == 4 else pixels[..., None]).astype(np.float32) / 255


def image_features(source: str, paths: pd.Series, n_train: int, root: Path) -> pd.DataFrame:
    """All features of a column of pictures; the thumbnails' directions are those of the first ``n_train``."""
    pixels = read_images([str(path) for path in paths], root)
    parts: list[pd.DataFrame] = []
    for start in range(0, len(pixels), CHUNK):
        part = pixels[start : start + CHUNK]
        grey = part.mean(axis=3)
        columns = light(grey) | colours(part) | layout_of(grey) | edges(grey) | waves(grey) | texture(grey)
        columns |= blob_features(grey, part)
        parts.append(pd.DataFrame(columns))
    frame = pd.concat(parts, ignore_index=True)
    for name, values in thumbnails(pixels, n_train).items():
        frame[name] = values
    frame.columns = pd.Index([f"{source} {name}" for name in frame.columns])
    return frame.astype(np.float64)


def flat(values: Array) -> Array:
    """One row a picture."""
    return values.reshape(len(values), -1)


def light(grey: Array) -> dict[str, Array]:
    """Level, spread, shape and histogram of the brightness."""
    x = flat(grey)
    mean, std = x.mean(axis=1), x.std(axis=1) + 1e-6
    scaled = (x - mean[:, None]) / std[:, None]
    found = {"light/mean": mean, "light/spread": std, "light/skew": (scaled**3).mean(axis=1)}
    found["light/kurtosis"] = (scaled**4).mean(axis=1)
    for level, value in zip((5, 25, 50, 75, 95), np.percentile(x, (5, 25, 50, 75, 95), axis=1), strict=True):
        found[f"light/quantile {level}"] = value
    shares = np.stack([((x >= b / BINS) & (x < (b + 1) / BINS)).mean(axis=1) for b in range(BINS - 1)], axis=1)
    shares = np.column_stack([shares, 1 - shares.sum(axis=1)])
    found |= {f"histogram/{b}": shares[:, b] for b in range(BINS)}
    found["light/entropy"] = -(shares * np.log(shares + 1e-9)).sum(axis=1)
    return found


def colours(pixels: Array) -> dict[str, Array]:
    """Means, spreads and contrasts of the channels, hue and saturation."""
    if pixels.shape[3] == 1:
        return {}
    x = pixels.reshape(len(pixels), -1, 3)
    names, mean, std = ("red", "green", "blue"), x.mean(axis=1), x.std(axis=1)
    found = {f"colour/{name} mean": mean[:, i] for i, name in enumerate(names)}
    found |= {f"colour/{name} spread": std[:, i] for i, name in enumerate(names)}
    total = mean.sum(axis=1) + 1e-6
    found |= {f"colour/{name} share": mean[:, i] / total for i, name in enumerate(names)}
    high, low = x.max(axis=2), x.min(axis=2)
    chroma = high - low
    saturation = chroma / (high + 1e-6)
    found["colour/saturation"] = saturation.mean(axis=1)
    found["colour/saturation spread"] = saturation.std(axis=1)
    found["colour/vivid share"] = (saturation > 0.5).mean(axis=1)
    angle = np.arctan2(np.sqrt(3) * (x[..., 1] - x[..., 2]), 2 * x[..., 0] - x[..., 1] - x[..., 2])
    turn = (angle / (2 * np.pi)) % 1.0
    weight = chroma / (chroma.sum(axis=1, keepdims=True) + 1e-6)
    found["colour/hue cosine"] = (weight * np.cos(angle)).sum(axis=1)
    found["colour/hue sine"] = (weight * np.sin(angle)).sum(axis=1)
    for b in range(6):
        found[f"colour/hue {b}"] = (weight * ((turn + 1 / 12) % 1.0 * 6 // 1 == b)).sum(axis=1)
    centred = x - mean[:, None]
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = (centred[..., i] * centred[..., j]).mean(axis=1)
        found[f"colour/{names[i]} with {names[j]}"] = both / (std[:, i] * std[:, j] + 1e-6)
    return found


def layout_of(grey: Array) -> dict[str, Array]:
    """Where the light is: ninths, rings, centre of mass, and symmetries."""
    _n, height, width = grey.shape
    found: dict[str, Array] = {}
    mean = grey.mean(axis=(1, 2))
    rows, cols = np.array_split(np.arange(height), 3), np.array_split(np.arange(width), 3)
    for i, r in enumerate(rows):
        for j, c in enumerate(cols):
            found[f"place/{['top', 'middle', 'bottom'][i]} {['left', 'centre', 'right'][j]}"] = (
                grey[:, r[0] : r[-1] + 1, c[0] : c[-1] + 1].mean(axis=(1, 2)) - mean
            )
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    radius = np.hypot(x, y)
    for k, (low, high) in enumerate(((0, 0.3), (0.3, 0.6), (0.6, 0.9), (0.9, 2))):
        found[f"place/ring {k}"] = grey[:, (radius >= low) & (radius < high)].mean(axis=1) - mean
    spread = grey.std(axis=(1, 2)) + 1e-6
    tilt_x, tilt_y = (
        ((grey - mean[:, None, None]) * x).mean(axis=(1, 2)),
        ((grey - mean[:, None, None]) * y).mean(axis=(1, 2)),
    )
    found |= {"place/tilt across": tilt_x / spread, "place/tilt down": tilt_y / spread}
    centred = (grey - mean[:, None, None]) / spread[:, None, None]
    for name, other in (
        ("left right", centred[:, :, ::-1]),
        ("up down", centred[:, ::-1]),
        ("half turn", centred[:, ::-1, ::-1]),
    ):
        found[f"symmetry/{name}"] = (centred * other).mean(axis=(1, 2))
    if height == width:
        found["symmetry/diagonal"] = (centred * centred.transpose(0, 2, 1)).mean(axis=(1, 2))
        found["symmetry/quarter turn"] = (centred * np.rot90(centred, axes=(1, 2))).mean(axis=(1, 2))
    return found


def edges(grey: Array) -> dict[str, Array]:
    """Strength, direction and agreement of the gradients, on a smoothed picture; crossings of rows and columns."""
    smooth = ndimage.gaussian_filter(grey, (0, 1, 1))
    dy, dx = np.gradient(smooth, axis=(1, 2))
    size = np.hypot(dx, dy)
    total = size.sum(axis=(1, 2)) + 1e-6
    found = {"edges/strength": size.mean(axis=(1, 2)), "edges/strongest": size.max(axis=(1, 2))}
    found["edges/density"] = (size > 0.06).mean(axis=(1, 2))
    found["edges/own density"] = (size > 2 * size.mean(axis=(1, 2), keepdims=True)).mean(axis=(1, 2))
    angle = np.arctan2(dy, dx) % np.pi
    for b in range(BINS):
        inside = (angle * BINS / np.pi + 0.5) % BINS // 1 == b
        found[f"edges/angle {180 * b // BINS}"] = (size * inside).sum(axis=(1, 2)) / total
    xx, yy, xy = ((a * b).sum(axis=(1, 2)) for a, b in ((dx, dx), (dy, dy), (dx, dy)))
    found["edges/cosine"] = (xx - yy) / (xx + yy + 1e-9)
    found["edges/sine"] = 2 * xy / (xx + yy + 1e-9)
    found["edges/agreement"] = np.hypot(xx - yy, 2 * xy) / (xx + yy + 1e-9)
    level = smooth - smooth.mean(axis=(1, 2), keepdims=True) > 0
    found["edges/crossings across"] = (level[:, :, 1:] != level[:, :, :-1]).sum(axis=2).mean(axis=1)
    found["edges/crossings down"] = (level[:, 1:] != level[:, :-1]).sum(axis=1).mean(axis=1)
    found["edges/row profile"] = smooth.mean(axis=2).std(axis=1)
    found["edges/column profile"] = smooth.mean(axis=1).std(axis=1)
    return found


def waves(grey: Array) -> dict[str, Array]:
    """Fourier energies by radius and angle; frequency, angle and share of the strongest wave."""
    _n, height, width = grey.shape
    window = np.outer(np.hanning(height + 2)[1:-1], np.hanning(width + 2)[1:-1])
    power = np.abs(np.fft.rfft2((grey - grey.mean(axis=(1, 2), keepdims=True)) * window)) ** 2
    fy, fx = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :]
    radius, angle = np.hypot(fx, fy), np.arctan2(fy, fx + 0 * fy) % np.pi
    power[:, radius == 0] = 0
    total = power.sum(axis=(1, 2)) + 1e-9
    found: dict[str, Array] = {}
    for k, (low, high) in enumerate(((0.0, 0.06), (0.06, 0.12), (0.12, 0.2), (0.2, 0.3), (0.3, 0.4), (0.4, 0.8))):
        found[f"waves/radius {k}"] = power[:, (radius > low) & (radius <= high)].sum(axis=1) / total
    for k in range(6):
        inside = ((angle * 6 / np.pi + 0.5) % 6 // 1 == k) & (radius > 0.05)
        found[f"waves/angle {30 * k}"] = power[:, inside].sum(axis=1) / total
    found["waves/mean frequency"] = (power * radius).sum(axis=(1, 2)) / total
    middle = np.where(radius > 1.5 / max(height, width), power, 0.0)
    peak = flat(middle).argmax(axis=1)
    found["waves/frequency"] = radius.ravel()[peak]
    found["waves/cosine"] = np.cos(2 * angle.ravel()[peak])
    found["waves/sine"] = np.sin(2 * angle.ravel()[peak])
    found["waves/strength"] = flat(middle).max(axis=1) / total
    found["waves/energy"] = np.log(total)
    found["waves/coherence"] = (
        np.hypot((power * np.cos(2 * angle)).sum(axis=(1, 2)), (power * np.sin(2 * angle)).sum(axis=(1, 2))) / total
    )
    return found


def texture(grey: Array) -> dict[str, Array]:
    """Roughness at several scales, neighbours' correlation, and local binary patterns by their number of ones."""
    centred = grey - grey.mean(axis=(1, 2), keepdims=True)
    power = (centred**2).mean(axis=(1, 2)) + 1e-6
    found: dict[str, Array] = {}
    for lag in (1, 2, 4, 8):
        found[f"texture/across {lag}"] = (centred[:, :, lag:] * centred[:, :, :-lag]).mean(axis=(1, 2)) / power
        found[f"texture/down {lag}"] = (centred[:, lag:] * centred[:, :-lag]).mean(axis=(1, 2)) / power
    for sigma in (0.7, 1.5, 3.0):
        rough = grey - ndimage.gaussian_filter(grey, (0, sigma, sigma))
        found[f"texture/roughness {sigma}"] = rough.std(axis=(1, 2))
    local = np.sqrt(np.maximum(ndimage.uniform_filter(rough**2, (0, 5, 5)), 0))
    found["texture/patchiness"] = local.std(axis=(1, 2)) / (local.mean(axis=(1, 2)) + 1e-6)
    middle = grey[:, 1:-1, 1:-1]
    ring = ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0))
    height, width = middle.shape[1:]
    bits = np.stack([grey[:, i : i + height, j : j + width] > middle + 0.01 for i, j in ring])
    ones, changes = bits.sum(axis=0), (bits != np.roll(bits, 1, axis=0)).sum(axis=0)
    for k in range(9):
        found[f"patterns/{k}"] = ((changes <= 2) & (ones == k)).mean(axis=(1, 2))
    found["patterns/mixed"] = (changes > 2).mean(axis=(1, 2))
    return found


def thumbnails(pixels: Array, n_train: int) -> dict[str, Array]:
    """Scores on the main directions of small versions of the training pictures."""
    n, height, width, _channels = pixels.shape
    rows, cols = (np.linspace(0, side, THUMBNAIL + 1).astype(int)[:-1] for side in (height, width))
    small = np.add.reduceat(np.add.reduceat(pixels, rows, axis=1), cols, axis=2)
    small = small.reshape(n, -1).astype(np.float64) / (height * width / THUMBNAIL**2)
    small -= small[:n_train].mean(axis=0)
    _, sizes, directions = np.linalg.svd(small[:n_train], full_matrices=False)
    directions = directions[: min(COMPONENTS, int((sizes > 1e-6).sum()))]
    directions = directions * np.where(directions.sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    return {f"thumbnail/{i + 1}": scores for i, scores in enumerate((small @ directions.T).T)}
