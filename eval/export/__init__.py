"""Tasks in the layouts of others, so that their own tools can read and grade them."""

from sandmle.eval.export._mlebench import export_mlebench

__all__ = ["export_mlebench"]
