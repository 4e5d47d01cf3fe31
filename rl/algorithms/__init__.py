"""Advantage estimators, one file each, found by name; numpy only.

Every public module of this package registers its estimator when the package is imported, so that a new one is a new
file.

    estimator = make_estimator({"name": "grpo", "std": "none"})
    advantages = estimator.advantages([turn_rewards, ...])      # one array a rollout, one value a turn
"""

from importlib import import_module
from pkgutil import iter_modules

from sandmle.rl.algorithms._estimator import Estimator, TrajectoryEstimator, estimator_names, make_estimator, register
from sandmle.rl.algorithms._normalize import EPS, Std

__all__ = ["EPS", "Estimator", "Std", "TrajectoryEstimator", "estimator_names", "make_estimator", "register"]

for _module in iter_modules(__path__):
    if not _module.name.startswith("_"):
        import_module(f"{__name__}.{_module.name}")
