"""Metrics, one file a family, found by name.

Every public module of this package registers its metrics when the package is imported, so that a new family is a new
file: one for each kind of prediction, and for ``number`` also ``quantiles`` and ``correlations``.
"""

from importlib import import_module
from pkgutil import iter_modules

from sandmle.eval.metrics._registry import (
    Array,
    Metric,
    MetricUndefined,
    Values,
    get_metric,
    metric_names,
    metric_title,
)

__all__ = ["Array", "Metric", "MetricUndefined", "Values", "get_metric", "metric_names", "metric_title"]

for _module in iter_modules(__path__):
    if not _module.name.startswith("_"):
        import_module(f"{__name__}.{_module.name}")
