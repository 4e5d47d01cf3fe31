"""The programs that benchmarks' own interpreters run, one a benchmark; nothing here is imported by sandmle itself.

A program reads a request from standard input and prints, as its last line, a verdict: see
``sandmle.eval.grading.original``.
"""
