"""The frozen constants of acceptance (docs/design.md, section 8). They change only there.

Shares are of the headroom ``(x - d) / (b - d)``; gap fractions are of ``g - d`` below the generic score and of
``i - g`` above it (d dummy, g best generic, i informed, b Bayes; better is larger).
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "BRONZE_GAP",
    "GENERIC_MAX_HEADROOM",
    "GOLD_GAP",
    "INFORMED_MIN_HEADROOM",
    "MAX_IDEAS",
    "MEDIAN_GAP",
    "MIN_DISCOVERED_SHARE",
    "MIN_HEADROOM_GAP",
    "MIN_P",
    "MIN_PERMUTATIONS",
    "MIN_Z",
    "SILVER_GAP",
]

MIN_P: Final = 0.95
MIN_Z: Final = 3.0
INFORMED_MIN_HEADROOM: Final = 0.70
GENERIC_MAX_HEADROOM: Final = 0.85
MIN_HEADROOM_GAP: Final = 0.08

MEDIAN_GAP: Final = 0.5
BRONZE_GAP: Final = 0.1
SILVER_GAP: Final = 0.4
GOLD_GAP: Final = 0.8

MIN_PERMUTATIONS: Final = 50
MIN_DISCOVERED_SHARE: Final = 0.10
MAX_IDEAS: Final = 64
