"""Things in pictures: regions that stand out from their background, and their number, sizes, forms and places."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from sandmle.eval.acceptance.search.facts import Array

__all__ = ["blob_features", "otsu"]

LEVELS = 32
LEAST = 4


def otsu(grey: Array) -> Array:
    """The cut of each picture that parts its brightness best into two; shape (n, 1, 1)."""
    n = len(grey)
    low, high = grey.min(axis=(1, 2), keepdims=True), grey.max(axis=(1, 2), keepdims=True)
    span = np.maximum(high - low, 1e-6)
    codes = np.minimum(((grey - low) / span * LEVELS).astype(int), LEVELS - 1)
    flat = (codes + LEVELS * np.arange(n)[:, None, None]).ravel()
    shares = np.bincount(flat, minlength=n * LEVELS).reshape(n, LEVELS) / grey[0].size
    below, sums = shares.cumsum(axis=1), (shares * np.arange(LEVELS)).cumsum(axis=1)
    between = (sums[:, -1:] * below - sums) ** 2 / np.maximum(below * (1 - below), 1e-9)
    cut = between[:, :-1].argmax(axis=1) + 1
    return np.asarray(low + span * cut[:, None, None] / LEVELS)


def blob_features(grey: Array, pixels: Array) -> dict[str, Array]:
    """Regions by a global cut, bright and dark spots by a local one, and how things differ from their background."""
    smooth = ndimage.gaussian_filter(grey, (0, 0.8, 0.8))
    things = smooth > otsu(smooth)
    share = things.mean(axis=(1, 2))
    border = np.concatenate([things[:, 0], things[:, -1], things[:, :, 0], things[:, :, -1]], axis=1).mean(axis=1)
    inverse = (share + border) / 2 > 0.5
    things = things ^ inverse[:, None, None]
    found = {"things/are bright": 1.0 - inverse} | regions("things", things)
    holes = ~things
    found["things/holes"] = counted(holes)[1] - 1.0
    rough = smooth - ndimage.gaussian_filter(grey, (0, 5, 5))
    spread = rough.std(axis=(1, 2), keepdims=True)
    found |= regions("bright spots", rough > np.maximum(1.2 * spread, 0.03))
    found |= regions("dark spots", rough < -np.maximum(1.2 * spread, 0.03))
    tops = (ndimage.maximum_filter(smooth, (0, 5, 5)) == smooth) & (rough > np.maximum(spread, 0.03))
    lows = (ndimage.minimum_filter(smooth, (0, 5, 5)) == smooth) & (rough < -np.maximum(spread, 0.03))
    found |= {"spots/tops": tops.sum(axis=(1, 2)), "spots/lows": lows.sum(axis=(1, 2))}
    weight = things / np.maximum(things.sum(axis=(1, 2), keepdims=True), 1)
    rest = holes / np.maximum(holes.sum(axis=(1, 2), keepdims=True), 1)
    names = ("red", "green", "blue") if pixels.shape[3] == 3 else ("light",)
    for i, name in enumerate(names):
        inside = (pixels[..., i] * weight).sum(axis=(1, 2))
        outside = (pixels[..., i] * rest).sum(axis=(1, 2))
        found |= {f"things/{name}": inside, f"ground/{name}": outside, f"contrast/{name}": inside - outside}
    square = (grey**2 * weight).sum(axis=(1, 2)) - (grey * weight).sum(axis=(1, 2)) ** 2
    found["things/texture"] = np.sqrt(np.maximum(square, 0))
    return {name: np.asarray(values, dtype=np.float64) for name, values in found.items()}


def counted(mask: Array) -> tuple[Array, Array]:
    """Region numbers of all pixels (regions never reach into another picture), and regions in each picture."""
    joined = np.zeros((3, 3, 3))
    joined[1] = ndimage.generate_binary_structure(2, 1)
    labels, count = ndimage.label(mask, structure=joined)
    owner = np.zeros(count + 1, dtype=int)
    where = np.nonzero(labels)
    owner[labels[where]] = where[0]
    return labels, np.bincount(owner[1:], minlength=len(mask)).astype(np.float64)


def regions(name: str, mask: Array) -> dict[str, Array]:
    """Number, sizes, forms and places of the regions of at least four pixels."""
    n, height, width = mask.shape
    labels, _ = counted(mask)
    picture, y, x = np.nonzero(labels)
    code = labels[picture, y, x]
    count = int(code.max(initial=0)) + 1
    area = np.bincount(code, minlength=count).astype(np.float64)
    safe = np.maximum(area, 1)
    cx, cy = (np.bincount(code, v, count) / safe for v in (x, y))
    xx, yy, xy = (np.bincount(code, v, count) / safe for v in (x * x, y * y, x * y))
    xx, yy, xy = xx - cx**2 + 1 / 12, yy - cy**2 + 1 / 12, xy - cx * cy
    root = np.hypot(xx - yy, 2 * xy)
    major, minor = np.sqrt((xx + yy + root) / 2), np.sqrt(np.maximum((xx + yy - root) / 2, 1e-3))
    inside = np.pad(mask, ((0, 0), (1, 1), (1, 1)))
    open_sides = 4.0 - sum(
        inside[picture, y + 1 + dy, x + 1 + dx].astype(np.float64) for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0))
    )
    outline = np.bincount(code, open_sides, count)
    owner = np.zeros(count, dtype=int)
    owner[code] = picture
    kept = np.flatnonzero(area >= LEAST)
    owner = owner[kept]
    number = np.bincount(owner, minlength=n).astype(np.float64)
    each = np.maximum(number, 1)

    def mean(values: Array) -> Array:
        return np.asarray(np.bincount(owner, values[kept], n) / each)

    biggest = np.zeros(n, dtype=int)
    order = kept[np.argsort(area[kept], kind="stable")]
    biggest[np.array([*owner[np.argsort(area[kept], kind="stable")]], dtype=int)] = order
    some = number > 0
    size = height * width
    found = {
        "number": number,
        "share": mask.mean(axis=(1, 2)),
        "mean size": mean(area) / size,
        "size spread": np.sqrt(np.maximum(mean(area**2) - mean(area) ** 2, 0)) / size,
        "largest": np.where(some, area[biggest], 0) / size,
        "length": mean(major),
        "elongation": mean(major / minor),
        "roundness": mean(4 * np.pi * area / np.maximum(outline, 1) ** 2),
        "largest elongation": np.where(some, (major / minor)[biggest], 1.0),
        "largest cosine": np.where(some, ((xx - yy) / np.maximum(root, 1e-6))[biggest], 0.0),
        "largest sine": np.where(some, (2 * xy / np.maximum(root, 1e-6))[biggest], 0.0),
        "largest roundness": np.where(some, (4 * np.pi * area / np.maximum(outline, 1) ** 2)[biggest], 0.0),
        "largest fill": np.where(some, (area / (4 * np.pi * major * minor))[biggest], 0.0),
        "largest across": np.where(some, cx[biggest], width / 2) / width,
        "largest down": np.where(some, cy[biggest], height / 2) / height,
        "across": np.where(some, mean(cx), width / 2) / width,
        "down": np.where(some, mean(cy), height / 2) / height,
        "across spread": np.sqrt(np.maximum(mean(cx**2) - mean(cx) ** 2, 0)) / width,
        "down spread": np.sqrt(np.maximum(mean(cy**2) - mean(cy) ** 2, 0)) / height,
    }
    found["off centre"] = np.hypot(found["largest across"] - 0.5, found["largest down"] - 0.5)
    return {f"{name}/{key}": values for key, values in found.items()}
