"""What a place that can't be written is called; the file system's errors are planted, for root may write anywhere."""

import errno
import os
from pathlib import Path

import pytest

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.files import SCRATCH, clear_leftovers, disk_errors, publish_folder, scratch_folder


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
@pytest.mark.parametrize("named", ["out/r.md", "out/.r.md.x7", "out", ".", "out/r.md/run.json"])
@pytest.mark.parametrize("relative", [True, False])
def test_a_forbidden_place_is_known_by_any_name(tmp_path, monkeypatch, number, named, relative):
    monkeypatch.chdir(tmp_path)
    where = Path("out/r.md") if relative else tmp_path / "out" / "r.md"
    error = PermissionError(number, os.strerror(number), str(tmp_path / named))
    with pytest.raises(EnvironmentProblem, match=rf"^{where}: can't write there"), disk_errors(where):
        raise error


def test_errors_about_other_files_stay_what_they_are(tmp_path):
    for number, name in ((errno.EACCES, "in/data.csv"), (errno.ENOTDIR, "outer"), (errno.ENOENT, "out/run.json")):
        with pytest.raises(OSError, match=name), disk_errors(tmp_path / "out"):
            raise OSError(number, os.strerror(number), str(tmp_path / name))


def test_a_file_in_the_place_of_a_folder_is_bad_input(tmp_path):
    (tmp_path / "file").touch()
    for where in (tmp_path / "file", tmp_path / "file" / "out", tmp_path / ("x" * 300)):
        with pytest.raises(BadInput, match=r"can't write there .*choose another place"), disk_errors(where):
            (where / "inside").mkdir(parents=True)


def test_a_scratch_folder_goes_and_so_does_what_a_killed_process_left(tmp_path):
    (tmp_path / ".git").mkdir()
    with scratch_folder(tmp_path) as scratch:
        (scratch / "task").mkdir()
        publish_folder(scratch / "task", tmp_path / "task")
    assert {path.name for path in tmp_path.iterdir()} == {".git", "task"}
    (tmp_path / f"{SCRATCH}left" / "half").mkdir(parents=True)
    clear_leftovers(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {".git", "task"}
