"""Pictures as pixels and as histograms of edge directions."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from sandmle.eval.acceptance.search.facts import Array

__all__ = ["picture_views"]

ANGLES = 9
MOST_SIDE = 32


def picture_views(pixels: Array) -> list[tuple[str, str, Array]]:
    """Views of (n, height, width, channels) pixels in [0, 1]."""
    grey = pixels.mean(axis=3)
    side = min(MOST_SIDE / max(grey.shape[1:]), 1.0)
    small = ndimage.zoom(grey, (1, side, side), order=1) if side < 1 else grey
    edges = edge_histograms(grey)
    raw = ndimage.gaussian_filter(small, (0, 0.5, 0.5)).reshape(len(grey), -1)
    return [("pixels", "pixels", raw), ("edges", "pixels", edges)]


def edge_histograms(grey: Array) -> Array:
    """For each of overlapping cells, the strength of edges by direction, on a scale of its own; shape (n, p)."""
    dy, dx = np.gradient(grey, axis=(1, 2))
    size, angle = np.hypot(dx, dy), np.arctan2(dy, dx) % np.pi
    half = max(min(grey.shape[1:]) // 12, 1)
    position = angle * ANGLES / np.pi
    parts = []
    for b in range(ANGLES):
        away = np.abs((position - b + ANGLES / 2) % ANGLES - ANGLES / 2)
        share = ndimage.uniform_filter(size * np.clip(1 - away, 0, None), (0, 2 * half, 2 * half))
        parts.append(share[:, half::half, half::half])
    cells = np.stack(parts, axis=3)
    length = np.sqrt((cells**2).sum(axis=3, keepdims=True)) + 0.02
    return np.asarray((cells / length).reshape(len(grey), -1))
