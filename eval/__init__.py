"""Benchmark evaluation: metrics, grading, acceptance, the runner and its reports."""
