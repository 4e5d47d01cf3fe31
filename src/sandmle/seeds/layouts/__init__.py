"""How real data lie in a task's public folder: one file per layout, the same as a synthetic task's.

Layouts:
    tables   tabular and text: all is in train.csv and test.csv
    images   a column ``image``: 8-bit arrays of shape (height, width) become PNG files, the cells their paths
    series   a column ``series``: mappings of channels to equally long arrays become train_series.csv and
             test_series.csv, with the columns id, ``step`` and one per channel
"""

from sandmle.seeds.layouts import images, series, tables
from sandmle.seeds.layouts._layout import LaidOut, lay_out

__all__ = ["LaidOut", "images", "lay_out", "series", "tables"]
