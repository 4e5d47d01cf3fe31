import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from sandmle.errors import SandmleError
from sandmle.seeds._table import SeedTable
from sandmle.seeds.layouts import lay_out

RNG = np.random.default_rng(0)


def table(column, items):
    frame = pd.DataFrame({"id": [7, 3, 5], column: items, "y": [1.0, 2.0, 3.0]})
    test = frame.iloc[2:].drop(columns="y").reset_index(drop=True)
    return SeedTable(frame.iloc[:2], test, frame.iloc[2:][["id", "y"]], "y", "id", ())


def pictures():
    return [RNG.integers(0, 256, (6, 9), dtype=np.uint8) for _ in range(3)]


def series():
    return [{"a": RNG.normal(size=n), "b": RNG.normal(size=n)} for n in (4, 2, 3)]


def test_a_table_stays_as_it_is():
    shown = lay_out(table("text", ["one", "two", "three"]), "text")
    assert (shown.files, shown.digest, shown.lines, shown.note) == ({}, "", (), "")
    assert list(shown.table.train["text"]) == ["one", "two"]


def test_pictures_become_files_that_hold_every_pixel():
    items = pictures()
    shown = lay_out(table("image", items), "image")
    paths = [*shown.table.train["image"], *shown.table.test["image"]]
    assert paths == ["train_images/7.png", "train_images/3.png", "test_images/5.png"]
    for path, pixels in zip(paths, items, strict=True):
        assert (np.asarray(Image.open(io.BytesIO(shown.files[path]))) == pixels).all()
    assert "9 pixels wide and 6 high" in shown.note


def test_the_digest_of_pictures_is_of_their_pixels():
    items = pictures()
    digest = lay_out(table("image", items), "image").digest
    assert lay_out(table("image", [item.copy() for item in items]), "image").digest == digest
    items[2][0, 0] ^= 1
    assert lay_out(table("image", items), "image").digest != digest


def test_series_become_rows_of_a_file_for_each_part():
    items = series()
    shown = lay_out(table("series", items), "series")
    assert "series" not in [*shown.table.train.columns, *shown.table.test.columns]
    train, test = (pd.read_csv(io.BytesIO(shown.files[f"{part}_series.csv"])) for part in ("train", "test"))
    assert list(train.columns) == ["id", "step", "a", "b"]
    assert list(train["id"]) == [7] * 4 + [3] * 2
    assert list(train["step"]) == [0, 1, 2, 3, 0, 1]
    assert list(test["id"]) == [5] * 3
    for frame, key, item in ((train, 7, items[0]), (train, 3, items[1]), (test, 5, items[2])):
        assert frame[frame["id"] == key][["a", "b"]].to_numpy() == pytest.approx(
            np.column_stack([item["a"], item["b"]])
        )


def test_the_digest_of_series_tells_them_apart():
    digests = {lay_out(table("series", series()), "series").digest for _ in range(3)}
    assert len(digests) == 3


def test_a_modality_without_a_layout_is_named():
    with pytest.raises(SandmleError, match="audio"):
        lay_out(table("sound", [1, 2, 3]), "audio")
