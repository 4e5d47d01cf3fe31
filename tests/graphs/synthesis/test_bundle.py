"""What leaves a generator's sandbox: plain files with plain names, and nothing that an archive could smuggle."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sandmle.files import PUBLIC_TIME
from sandmle.graphs.synthesis import bundle


def archive(*members: tuple[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    block = io.BytesIO()
    with zipfile.ZipFile(block, "w", compression) as made:
        for name, data in members:
            made.writestr(zipfile.ZipInfo(name), data, compress_type=compression)
    return block.getvalue()


def test_packing_and_unpacking_give_the_same_files(tmp_path: Path) -> None:
    files = {"public/train.csv": b"a,b\n1,2\n", "public/test_images/0f.png": b"\x89PNG", "private/answers.csv": b""}
    for name, data in files.items():
        (tmp_path / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "out" / name).write_bytes(data)
    (tmp_path / "out/public/link.csv").symlink_to("/etc/passwd")
    subprocess.run([sys.executable, "-c", bundle.PACK, "out", "out.zip"], cwd=tmp_path, check=True)
    first = (tmp_path / "out.zip").read_bytes()
    assert bundle._unpack(first) == files
    subprocess.run([sys.executable, "-c", bundle.PACK, "out", "out.zip"], cwd=tmp_path, check=True)
    assert (tmp_path / "out.zip").read_bytes() == first


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "/etc/passwd",
        "public/../../evil",
        "public/.hidden",
        "public/",
        "other/train.csv",
        "public/a/b/c/d.png",
        "public/with space.csv",
        "public/" + "x" * 200,
        "public/new\nline.csv",
    ],
)
def test_names_that_no_task_may_have_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        bundle._unpack(archive((name, b"x")))


def test_the_same_name_twice_is_refused() -> None:
    with pytest.warns(UserWarning, match="Duplicate"):
        data = archive(("public/train.csv", b"1"), ("public/train.csv", b"2"))
    with pytest.raises(ValueError, match="no name"):
        bundle._unpack(data)


def test_a_compressed_bomb_is_refused() -> None:
    with pytest.raises(ValueError, match="size"):
        bundle._unpack(archive(("public/train.csv", bytes(10**7)), compression=zipfile.ZIP_DEFLATED))


def test_files_get_one_time_and_equal_ones_are_linked(tmp_path: Path) -> None:
    bundle.write_files(tmp_path / "0", {"test.csv": b"same", "train.csv": b"one"})
    bundle.write_files(tmp_path / "1", {"test.csv": b"same", "train.csv": b"two"}, same_as=tmp_path / "0")
    assert {path.stat().st_mtime for path in tmp_path.rglob("*.csv")} == {PUBLIC_TIME}
    assert (tmp_path / "0/test.csv").samefile(tmp_path / "1/test.csv")
    assert (tmp_path / "1/train.csv").read_bytes() == b"two"
