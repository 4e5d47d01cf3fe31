"""Pictures: one PNG file an item in train_images/ and test_images/."""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace
from typing import TYPE_CHECKING

from sandmle.seeds._table import SeedTable
from sandmle.seeds.layouts._layout import LaidOut, register

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["pictures"]

COLUMN = "image"


@register("image")
def pictures(table: SeedTable) -> LaidOut:
    """Pictures are named after their ids."""
    assert table.test is not None
    files: dict[str, bytes] = {}
    seen = hashlib.sha256()

    def published(frame: pd.DataFrame, part: str) -> pd.DataFrame:
        paths = [f"{part}_images/{key}.png" for key in frame[table.id_column]]
        for path, pixels in zip(paths, frame[COLUMN], strict=True):
            seen.update(repr(pixels.shape).encode() + pixels.tobytes())
            files[path] = _png(pixels)
        return frame.assign(**{COLUMN: paths})

    height, width = table.train[COLUMN].iloc[0].shape
    train, test = published(table.train, "train"), published(table.test, "test")
    return LaidOut(
        replace(table, train=train, test=test),
        files,
        seen.hexdigest(),
        lines=(
            ("train_images/", "the pictures that `train.csv` names"),
            ("test_images/", "the pictures that `test.csv` names"),
        ),
        note=f"The pictures are PNG files, {width} pixels wide and {height} high, in grey, 8 bits a pixel; paths are"
        " relative to the folder of `train.csv`.",
    )


def _png(pixels: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="PNG")
    return stream.getvalue()
