"""What is accepted, and which code each kind of bad file gets."""

import gzip
import io
import os
import socket
import time
import zipfile
from pathlib import Path

import pytest

from sandmle.eval.grading import grade_bytes, grade_submission
from sandmle.grades import GradeError

CODES = [
    ("empty", b"", GradeError.EMPTY),
    ("blank lines", b"\n\r\n  \n", GradeError.EMPTY),
    ("only a BOM", b"\xef\xbb\xbf", GradeError.EMPTY),
    ("header only", b"id,target\n", GradeError.HEADER_ONLY),
    ("NUL bytes", b"id,target\n100,\0\n", GradeError.UNDECODABLE),
    ("latin-1", b"id,target\n100,\xe9\n", GradeError.UNDECODABLE),
    ("ragged", b"id,target\n100,1\n101\n", GradeError.UNPARSABLE),
    ("ragged wide", b"id,target\n100,1,2\n", GradeError.UNPARSABLE),
    ("open quote", b'id,target\n100,"1\n101,2\n', GradeError.UNPARSABLE),
    ("text after quote", b'id,target\n100,"1"x\n', GradeError.UNPARSABLE),
    ("same column twice", b"id,target,target\n100,1,1\n", GradeError.UNPARSABLE),
    ("huge cell", b"id,target\n100," + b"1" * 200_000 + b"\n", GradeError.UNPARSABLE),
    ("one huge line", b"," * (2 << 20), GradeError.UNPARSABLE),
    ("wrong case", b"ID,target\n100,1\n", GradeError.COLUMN_CASE),
    ("space in a name", b"id, target\n100,1\n", GradeError.COLUMN_CASE),
    ("no target", b"id,prediction\n100,1\n", GradeError.MISSING_COLUMN),
    ("semicolons", b"id;target\n100;1\n", GradeError.MISSING_COLUMN),
    ("no id", b"target\n1\n", GradeError.MISSING_COLUMN),
]
CELLS = [
    ("", GradeError.NOT_NUMERIC),
    ("abc", GradeError.NOT_NUMERIC),
    ("1_000", GradeError.NOT_NUMERIC),
    ('"1,000"', GradeError.NOT_NUMERIC),
    ("0x10", GradeError.NOT_NUMERIC),
    ("1 2", GradeError.NOT_NUMERIC),
    ("٣", GradeError.NOT_NUMERIC),
    ("None", GradeError.NOT_NUMERIC),
    ("1" * 100_000, GradeError.NOT_NUMERIC),
    ("nan", GradeError.NON_FINITE),
    ("NaN", GradeError.NON_FINITE),
    ("-inf", GradeError.NON_FINITE),
    ("Infinity", GradeError.NON_FINITE),
    ("1e999", GradeError.NON_FINITE),
    ("1e300", GradeError.NON_FINITE),
]


@pytest.mark.parametrize(("data", "code"), [case[1:] for case in CODES], ids=[case[0] for case in CODES])
def test_each_bad_file_has_its_code(tasks, data, code):
    report = grade_bytes(tasks["number"], data)
    assert (report.error, report.score, report.reached) == (code, None, ())
    assert report.detail


def test_other_encodings_and_archives(tasks, perfect, to_bytes):
    good = to_bytes(perfect("number"))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr("submission.csv", good)
    for data in (good.decode().encode("utf-16"), good.decode().encode("utf-16-le"), archive.getvalue()):
        assert grade_bytes(tasks["number"], data).error is GradeError.UNDECODABLE
    assert grade_bytes(tasks["number"], gzip.compress(good)).error is GradeError.UNDECODABLE


@pytest.mark.parametrize(("cell", "code"), CELLS, ids=[cell[:12] or "empty" for cell, _ in CELLS])
def test_each_bad_number_has_its_code(tasks, perfect, to_bytes, cell, code):
    rows = perfect("number")
    rows[7][1] = cell
    started = time.process_time()
    report = grade_bytes(tasks["number"], to_bytes(rows))
    assert time.process_time() - started < 1
    assert report.error is code
    assert cell == "1e300" or report.detail.startswith("column 'target', row 7: ")


def test_the_rows_must_be_the_test_rows(tasks, perfect, to_bytes):
    rows = perfect("number")
    cases = {
        "duplicate_ids": [*rows, rows[3]],
        "missing_rows": rows[:-2],
        "extra_rows": [*rows, ["999", "1"]],
    }
    for code, spoilt in cases.items():
        assert grade_bytes(tasks["number"], to_bytes(spoilt)).error == code
    replaced = [*rows[:-1], rows[1]]
    assert grade_bytes(tasks["number"], to_bytes(replaced)).error is GradeError.DUPLICATE_IDS
    assert "2 of 10" in grade_bytes(tasks["number"], to_bytes(rows[:-2])).detail
    assert grade_bytes(tasks["number"], to_bytes([rows[0], *rows[1:] * 2])).error is GradeError.DUPLICATE_IDS


@pytest.mark.parametrize(
    ("kind", "column", "cell"),
    [
        ("probability", 1, "1.0000001"),
        ("probability", 1, "-0.1"),
        ("class_probabilities", 2, "1.5"),
        ("label", 1, "High"),
        ("label", 1, ""),
        ("label", 1, "2"),
        ("positive", 1, "-0.001"),
        ("label_probabilities", 3, "1.5"),
        ("label_set", 1, "low low"),
        ("label_set", 1, "1 1.0"),
        ("label_set", 1, "low;high"),
        ("label_set", 1, "low none"),
        ("label_set", 1, "None"),
        ("ranked_labels", 1, ""),
        ("ranked_labels", 1, "none"),
        ("ranked_labels", 1, "low low"),
        ("ranked_labels", 1, "low 1 high"),
        ("ranked_labels", 1, "low middle"),
        ("text", 1, "x" * 1001),
        ("mask", 1, "1"),
        ("mask", 1, "1 2 3"),
        ("mask", 1, "0 1"),
        ("mask", 1, "1 0"),
        ("mask", 1, "12 2"),
        ("mask", 1, "13 1"),
        ("mask", 1, "1 2 2 1"),
        ("mask", 1, "3 1 1 1"),
        ("mask", 1, "1 1 1 1"),
        ("mask", 1, "1 1000000000"),
        ("mask", 1, "9223372036854775807 9223372036854775807"),
    ],
)
def test_values_outside_the_domain(tasks, perfect, to_bytes, kind, column, cell):
    rows = perfect(kind)
    rows[2][column] = cell
    report = grade_bytes(tasks[kind], to_bytes(rows))
    assert report.error is GradeError.OUT_OF_DOMAIN
    assert "row 2" in report.detail


@pytest.mark.parametrize(
    ("kind", "cell", "code"),
    [
        ("relevance", "", "not_numeric"),
        ("relevance", "inf", "non_finite"),
        ("label_probabilities", "low", "not_numeric"),
        ("label_probabilities", "nan", "non_finite"),
        ("mask", "a b", "not_numeric"),
        ("mask", "-1 2", "not_numeric"),
        ("mask", "1.0 2", "not_numeric"),
        ("mask", "1,2", "unparsable"),
        ("mask", "\u0661 1", "not_numeric"),
        ("mask", "None", "not_numeric"),
        ("mask", "none 1", "not_numeric"),
        ("text", "x" * 200_000, "unparsable"),
    ],
)
def test_other_bad_cells(tasks, perfect, to_bytes, kind, cell, code):
    rows = perfect(kind)
    rows[2][1] = cell
    report = grade_bytes(tasks[kind], to_bytes(rows))
    assert report.error == code
    assert code == "unparsable" or "row 2" in report.detail


@pytest.mark.parametrize(
    ("kind", "cell"),
    [
        ("label_set", "high 1.0  low "),
        ("label_probabilities", "0"),
        ("ranked_labels", "high"),
        ("ranked_labels", "1.0 low"),
        ("relevance", "-1e9"),
        ("text", "x" * 1000),
        ("text", "NaN"),
        ("text", '"a\nb, ""c"""'),
        ("mask", "  01 3   4 1 "),
        ("mask", "12 1"),
    ],
)
def test_cells_that_are_fine(tasks, perfect, to_bytes, kind, cell):
    rows = perfect(kind)
    rows[4][1] = cell
    assert grade_bytes(tasks[kind], to_bytes(rows)).valid


def test_probabilities_of_labels_need_not_sum_to_anything(tasks, perfect, to_bytes):
    rows = perfect("label_probabilities")
    rows[4][1:] = ["0", "0", "0"]
    assert grade_bytes(tasks["label_probabilities"], to_bytes(rows)).valid


@pytest.mark.parametrize("kind", ["label_set", "ranked_labels", "text", "mask"])
def test_a_hostile_file_costs_time_linear_in_its_size(tasks, kind):
    cell = {"mask": "1 1 " * 30_000, "text": "x" * 1000, "ranked_labels": "low " * 30_000, "label_set": "1 " * 60_000}
    text = f"id,target\n{100},{cell[kind]}\n" + "".join(f"{row},{cell[kind]}\n" for row in range(101, 110))
    started = time.process_time()
    assert (grade_bytes(tasks[kind], text.encode()).error is None) == (kind == "text")
    assert time.process_time() - started < 1


def test_a_row_of_zero_class_probabilities(tasks, perfect, to_bytes):
    rows = perfect("class_probabilities")
    rows[4][1:] = ["0", "0", "0.0"]
    report = grade_bytes(tasks["class_probabilities"], to_bytes(rows))
    assert (report.error, report.detail) == (GradeError.OUT_OF_DOMAIN, "row 4: the class probabilities sum to 0")


def open_handles():
    return len(list(Path("/proc/self/fd").iterdir()))


def _shuffled(rows):
    return [rows[0], *rows[:0:-1]]


def _extra_column(rows):
    return [["Usage", *rows[0]], *(["Private", *row] for row in rows[1:])]


def _index_column(rows):
    return [["", *rows[0]], *([str(number), *row] for number, row in enumerate(rows[1:]))]


def _columns_swapped(rows):
    return [[*row[1:], row[0]] for row in rows]


def _float_ids(rows):
    return [rows[0], *([row[0] + ".0", *row[1:]] for row in rows[1:])]


def _spaces(rows):
    return [rows[0], *([f" {cell} " for cell in row] for row in rows[1:])]


def _float_values(rows):
    return [rows[0], *([row[0], *(cell + ".0" if cell.isdigit() else cell for cell in row[1:])] for row in rows[1:])]


def _quoted(rows):
    return [[f'"{cell}"' for cell in row] for row in rows]


REWRITES = [_shuffled, _extra_column, _index_column, _columns_swapped, _float_ids, _spaces, _float_values, _quoted]


@pytest.mark.parametrize("rewrite", REWRITES)
def test_harmless_rewrites_keep_the_score(any_task, perfect, to_bytes, rewrite):
    kind, task = any_task
    expected = grade_bytes(task, to_bytes(perfect(kind)))
    assert expected.valid
    assert grade_bytes(task, to_bytes(rewrite(perfect(kind)))) == expected


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_marks(any_task, perfect, to_bytes, end, mark):
    kind, task = any_task
    data = to_bytes(perfect(kind))
    assert grade_bytes(task, mark + data.replace(b"\n", end.encode()).rstrip()) == grade_bytes(task, data)


def test_exponents_and_signs_are_numbers(tasks, perfect, to_bytes):
    rows = perfect("number")
    for row, cell in zip(rows[1:], ["+.5", "1e0", "20E-1", "3.25", "4.", "5", "6", "7", "8", "9"], strict=True):
        row[1] = cell
    assert grade_bytes(tasks["number"], to_bytes(rows)).score == 0.0


def test_only_a_regular_file_is_opened(tasks, perfect, to_bytes, tmp_path):
    task = tasks["number"]
    good = tmp_path / "good.csv"
    good.write_bytes(to_bytes(perfect("number")))
    link, pipe, plug = tmp_path / "link.csv", tmp_path / "pipe.csv", tmp_path / "plug"
    link.symlink_to(good)
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(plug))
        for path in (link, pipe, plug, tmp_path, tmp_path / "null"):
            if path.name == "null":
                path.symlink_to("/dev/zero")
            assert grade_submission(task, path).error is GradeError.NOT_REGULAR, path.name
    assert grade_submission(task, good).score == 0.0


@pytest.mark.parametrize("name", ["none.csv", "good.csv/none.csv", "x" * 300, "nul\0.csv"])
def test_a_file_that_is_not_there(tasks, tmp_path, name):
    (tmp_path / "good.csv").write_text("")
    report = grade_submission(tasks["number"], tmp_path / name)
    assert report.error is GradeError.MISSING
    assert str(tmp_path) not in report.detail


def test_the_size_cap(tasks, perfect, to_bytes, tmp_path):
    data = to_bytes(perfect("number"))
    path = tmp_path / "submission.csv"
    path.write_bytes(data)
    assert grade_submission(tasks["number"], path, max_bytes=len(data)).valid
    for report in (
        grade_submission(tasks["number"], path, max_bytes=len(data) - 1),
        grade_bytes(tasks["number"], data, max_bytes=len(data) - 1),
    ):
        assert report.error is GradeError.TOO_LARGE


def test_no_file_handle_is_left_open(tasks, tmp_path):
    before = open_handles()
    for name in (".", "none"):
        grade_submission(tasks["number"], tmp_path / name)
    assert open_handles() == before


def test_the_first_fault_is_reported(tasks):
    data = b"ID,target\n100,abc\n100,nan\n101\n"
    assert grade_bytes(tasks["number"], data).error is GradeError.COLUMN_CASE
    assert grade_bytes(tasks["number"], data.replace(b"ID", b"id")).error is GradeError.UNPARSABLE
    assert grade_bytes(tasks["number"], b"id,target\n100,abc\n100,nan\n").error is GradeError.DUPLICATE_IDS


def test_surplus_rows_before_the_others_are_not_missing_ones(tasks, perfect, to_bytes):
    rows = perfect("number")
    report = grade_bytes(tasks["number"], to_bytes([rows[0], ["1", "1"], ["2", "1"], *rows[1:]]))
    assert report.error is GradeError.EXTRA_ROWS


def test_a_million_surplus_rows_cost_little(tasks):
    started = time.process_time()
    report = grade_bytes(tasks["number"], b"id,target\n" + b"".join(b"%d,1\n" % row for row in range(10**6)))
    assert report.error is GradeError.EXTRA_ROWS
    assert time.process_time() - started < 5
