"""Acceptance: is a synthetic task good? One file a probe, every verdict with its numbers.

Every public module of this package registers its probe when the package is imported, so that a new probe is a new file.
"""

from importlib import import_module
from pkgutil import iter_modules

from sandmle.eval.acceptance._board import stand_in_board
from sandmle.eval.acceptance._criteria import (
    GENERIC_MAX_HEADROOM,
    INFORMED_MIN_HEADROOM,
    MAX_IDEAS,
    MIN_HEADROOM_GAP,
)
from sandmle.eval.acceptance._describe import describe_files
from sandmle.eval.acceptance._evidence import Evidence, Verdict
from sandmle.eval.acceptance._measured import REFERENCE, Baselines, Measured
from sandmle.eval.acceptance._registry import Acceptance, accept, judge, probe_names
from sandmle.eval.acceptance._submissions import random_columns
from sandmle.eval.acceptance.calibration import Calibration, calibrate
from sandmle.eval.acceptance.search import search_script

__all__ = [
    "GENERIC_MAX_HEADROOM",
    "INFORMED_MIN_HEADROOM",
    "MAX_IDEAS",
    "MIN_HEADROOM_GAP",
    "REFERENCE",
    "Acceptance",
    "Baselines",
    "Calibration",
    "Evidence",
    "Measured",
    "Verdict",
    "accept",
    "calibrate",
    "describe_files",
    "judge",
    "probe_names",
    "random_columns",
    "search_script",
    "stand_in_board",
]

for _module in iter_modules(__path__):
    if not _module.name.startswith("_"):
        import_module(f"{__name__}.{_module.name}")
