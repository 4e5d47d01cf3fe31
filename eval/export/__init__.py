"""Tasks in the layouts of others, so that their own tools can read and grade them."""

from sandmle.eval.export._mlebench import export_mlebench
from sandmle.eval.export._released import LISTED, SUMS, export_released

__all__ = ["LISTED", "SUMS", "export_mlebench", "export_released"]
