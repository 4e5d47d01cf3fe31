"""Reading the answer key: once for a file that stays the same, anew for one that changed."""

import os
import shutil
from dataclasses import replace

import pytest

from sandmle.errors import BadInput
from sandmle.eval.grading import load_answers


@pytest.fixture
def task(tasks, tmp_path):
    """A copy that a test may change."""
    return replace(tasks["number"], root=shutil.copytree(tasks["number"].root, tmp_path / "task"))


def test_a_key_is_read_once(task, tasks):
    assert load_answers(task) is load_answers(task)
    assert load_answers(task) is not load_answers(tasks["label"])


def test_a_changed_file_is_read_again_even_where_its_size_stays(task):
    before = load_answers(task)
    text = task.answers.read_text()
    row = text.splitlines()[1].split(",")
    swapped = text.replace(",".join(row), ",".join([row[0], row[1][::-1], *row[2:]]), 1)
    assert len(swapped) == len(text)
    told = task.answers.stat()
    task.answers.write_text(swapped)
    os.utime(task.answers, ns=(told.st_atime_ns, told.st_mtime_ns + 1))
    after = load_answers(task)
    assert after is not before
    assert after.truth[0] == float(row[1][::-1])


def test_a_missing_file_says_where(task):
    load_answers(task)
    task.answers.unlink()
    with pytest.raises(BadInput, match=r"answers\.csv: No such file"):
        load_answers(task)


def test_a_large_file_is_not_remembered(task):
    task.answers.write_text(task.answers.read_text() + "\n" * (1 << 20))
    assert task.answers.stat().st_size > 1 << 20
    assert load_answers(task) is not load_answers(task)
