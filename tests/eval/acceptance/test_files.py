from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
import zlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandmle.eval.acceptance import calibrate, describe_files, judge
from sandmle.eval.acceptance._chunks import read_metadata


def chunk(kind: bytes, payload: bytes) -> bytes:
    return struct.pack(">I", len(payload)) + kind + payload + struct.pack(">I", zlib.crc32(kind + payload))


def png(*extra: bytes, after: bytes = b"") -> bytes:
    rows = zlib.compress(b"\0\x7f\x7f" * 2)
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 2, 2, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(extra) + chunk(b"IDAT", rows) + chunk(b"IEND", b"") + after


def wav(*extra: tuple[bytes, bytes], after: bytes = b"") -> bytes:
    parts = [(b"fmt ", struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16)), *extra, (b"data", b"\0\1" * 8)]
    body = b"WAVE" + b"".join(kind + struct.pack("<I", len(p)) + p + b"\0" * (len(p) % 2) for kind, p in parts)
    return b"RIFF" + struct.pack("<I", len(body)) + body + after


def test_metadata_of_png_and_wav_files():
    assert read_metadata(png()) == read_metadata(wav()) == read_metadata(b"id,x\n1,2\n") == ""
    found = json.loads(read_metadata(png(chunk(b"tEXt", b"Comment\0cat"), chunk(b"eXIf", b"MM\0\x2a\xff"))))
    assert found == {"tEXt": ["Comment cat"], "eXIf": ["4d4d002aff"]}
    assert json.loads(read_metadata(png(after=b"label 7"))) == {"trailing": ["label 7"]}
    assert json.loads(read_metadata(wav((b"LIST", b"INFOICMTcat")))) == {"LIST": ["INFOICMTcat"]}
    assert json.loads(read_metadata(wav(after=b"label 7"))) == {"trailing": ["label 7"]}
    jpeg = b"\xff\xd8\xff\xe1\x00\x09Exif\0\0z\xff\xda\x00\x02"
    assert json.loads(read_metadata(jpeg)) == {"segment E1": ["Exif  z"]}


def test_metadata_of_a_real_picture():
    image = pytest.importorskip("PIL.Image")
    meta = pytest.importorskip("PIL.PngImagePlugin").PngInfo()
    meta.add_text("Title", "heron")
    from io import BytesIO

    plain, told = BytesIO(), BytesIO()
    image.new("RGB", (24, 24)).save(plain, "PNG")
    image.new("RGB", (24, 24)).save(told, "PNG", pnginfo=meta)
    assert read_metadata(plain.getvalue()) == ""
    assert json.loads(read_metadata(told.getvalue())) == {"tEXt": ["Title heron"]}


@given(st.sampled_from([b"\x89PNG\r\n\x1a\n", b"RIFF\xff\xff\xff\xffWAVE", b"\xff\xd8"]), st.binary(max_size=200))
def test_broken_files_do_no_harm(magic, rest):
    found = read_metadata(magic + rest)
    assert found == "" or isinstance(json.loads(found), dict)


def test_endless_chunks_end():
    started = time.process_time()
    found = read_metadata(b"\x89PNG\r\n\x1a\n" + chunk(b"abCd", b"") * 100_000)
    assert len(json.loads(found)["abCd"]) == 256
    read_metadata(b"\x89PNG\r\n\x1a\n" + chunk(b"IDAT", b"") * 100_000)
    assert time.process_time() - started < 1


@pytest.fixture
def public(tmp_path):
    """Two pictures of train and one of test beside tables."""
    tables = {}
    for split, names in (("train", ("a1", "b2")), ("test", ("c3",))):
        (tmp_path / f"{split}_images").mkdir()
        for name in names:
            path = tmp_path / f"{split}_images" / f"{name}.png"
            path.write_bytes(png(chunk(b"tEXt", name.encode())))
            os.utime(path, ns=(5, 10**18 + 7))
        cells = [f"{split}_images/{name}.png" for name in names]
        tables[split] = pd.DataFrame({"row_id": range(len(names)), "image": cells, "note": "see photo.png"})
    return tmp_path, tables["train"], tables["test"]


def test_files_are_described(public):
    found = describe_files(*public)
    assert list(found["split"]) == ["train", "train", "test"]
    assert list(found["row"]) == [0, 1, 0]
    assert set(found["column"]) == {"image"}
    assert set(found["mtime_ns"]) == {10**18 + 7}
    assert list(found["bytes"]) == [(public[0] / path).stat().st_size for path in found["path"]]
    assert [json.loads(text)["tEXt"] for text in found["metadata"]] == [["a1"], ["b2"], ["c3"]]
    assert describe_files(public[0], public[1][["row_id"]], public[2][["row_id"]]).empty


@pytest.mark.parametrize(
    "cell", ["../secret.png", "/etc/passwd", "train_images/none.png", "train_images", "link/a1.png"]
)
def test_what_is_no_public_file_is_refused(public, cell):
    folder, train, test = public
    (folder.parent / "secret.png").write_bytes(png())
    (folder / "link").symlink_to(folder / "train_images")
    with pytest.raises(ValueError, match=r"public folder|regular file"):
        describe_files(folder, train, test.assign(image=[cell]))


def test_a_link_to_a_file_is_refused(public):
    folder, train, test = public
    (folder / "test_images" / "d4.png").symlink_to(folder / "test_images" / "c3.png")
    with pytest.raises(ValueError, match="regular file"):
        describe_files(folder, train, test.assign(image=["test_images/d4.png"]))


def _number(evidence):
    return np.concatenate([evidence.train["reach"].to_numpy(float), evidence.truth])


def _high(evidence):
    return _number(evidence) > np.median(_number(evidence))


PLANTS = {
    "order": ("path", lambda e, r: [f"i/{k:06x}.png" for k in _number(e).argsort().argsort()], "file names"),
    "label in the name": ("path", lambda e, r: [f"i/{r.integers(9**9)}_{x:.2f}.png" for x in _number(e)], "file names"),
    "folder": ("path", lambda e, r: [f"i{int(h)}/{r.integers(9**9)}.png" for h in _high(e)], "file names"),
    "time": ("mtime_ns", lambda e, r: 10**18 + 10**9 * _number(e).argsort().argsort(), "modification times"),
    "odd nanoseconds": ("mtime_ns", lambda e, r: 10**18 + _high(e), "modification times"),
    "size": ("bytes", lambda e, r: (1000 + 50 * _number(e) + 30 * r.normal(size=len(_number(e)))).astype(int), "sizes"),
    "EXIF": ("metadata", lambda e, r: [json.dumps({"eXIf": [f"f{x:.2f}"]}) for x in _number(e)], "metadata"),
    "text": ("metadata", lambda e, r: [json.dumps({"tEXt": [f"by {h}"]}) for h in _high(e)], "metadata"),
}


@pytest.fixture(scope="module")
def pictures(make_kind):
    return make_kind(3, "number", files=True)


@pytest.mark.parametrize("plant", PLANTS)
def test_what_files_give_away_is_found(pictures, plant):
    column, values, reason = PLANTS[plant]
    listing = pictures.files.assign(**{column: values(pictures, np.random.default_rng(0))})
    found = judge("files", replace(pictures, files=listing), calibrate(pictures, resamples=2))
    assert reason in found.reason


def test_a_size_that_follows_from_the_content_is_no_leak(pictures):
    found = judge("files", pictures, calibrate(pictures, resamples=2))
    assert found.passed, found.reason
    assert abs(np.corrcoef(pictures.files["bytes"][200:], pictures.truth)[0, 1]) > 0.2


def test_sizes_alone_may_not_earn_silver(make_kind):
    pictures = make_kind(4, "label", files=True)
    labels = np.concatenate([pictures.train["reach"].map({"a": 0, "b": 1, "c": 2}), pictures.truth])
    found = judge(
        "files", replace(pictures, files=pictures.files.assign(bytes=500 + labels.astype(int))), calibrate(pictures, 2)
    )
    assert "sizes of files alone" in found.reason


def test_a_task_without_files_passes(make_kind):
    evidence = make_kind(5, "number")
    assert judge("files", evidence, calibrate(evidence, resamples=2)).passed


@pytest.mark.slow
def test_which_words_of_names_are_looked_at_does_not_depend_on_the_process() -> None:
    code = (
        "import hashlib; from sandmle.eval.acceptance._texts import text_features;"
        "names = [f'{hashlib.md5(str(k // 5).encode()).hexdigest()[:6]} {k}' for k in range(600)];"
        "print(hashlib.sha256(text_features(names).tobytes()).hexdigest())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1
