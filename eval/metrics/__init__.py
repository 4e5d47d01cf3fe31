"""Metrics, one file a family, found by name."""

from sandmle.eval.metrics._registry import Array, Metric, MetricUndefined, get_metric, metric_names

__all__ = ["Array", "Metric", "MetricUndefined", "get_metric", "metric_names"]
