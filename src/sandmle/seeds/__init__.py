"""Seeds: the real tasks that synthesis starts from.

Three sources: data sets bundled with installed packages, a user's folder (description, train, test and sample
submission), and the entries of an MLE-bench checkout, which are descriptions without data. Importing this package costs
little; pandas and scikit-learn load with the first table.
"""

from __future__ import annotations

from sandmle.seeds._add import add_folder, add_mlebench
from sandmle.seeds._catalogue import get_seed, list_seeds, missing_install, select_seeds
from sandmle.seeds._materialize import RealTask, materialize, real_task
from sandmle.seeds._mlebench import MleBenchSplit
from sandmle.seeds._record import Seed, SeedSource
from sandmle.seeds._table import SeedTable, load_table

__all__ = [
    "MleBenchSplit",
    "RealTask",
    "Seed",
    "SeedSource",
    "SeedTable",
    "add_folder",
    "add_mlebench",
    "get_seed",
    "list_seeds",
    "load_table",
    "materialize",
    "missing_install",
    "real_task",
    "select_seeds",
]
