"""A foreign evaluator, whatever it does: it runs in its own sandbox and ends in a score, or why there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandmle.eval.imports import _evaluator
from sandmle.eval.imports._evaluator import Printed, run_evaluator
from sandmle.sandboxes import LocalBackend

SCORE = 'print(\'{"score": 0.5, "is_lower_better": "true", "gold_threshold": 0.1}\')'


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    return LocalBackend(allow_unisolated=True)


async def run(backend: LocalBackend, tmp_path: Path, code: str, times: int = 1) -> list[Printed]:
    folder = tmp_path / "prepared" / "public"
    folder.mkdir(parents=True)
    (folder / "evaluator.py").write_text(code)
    (folder / "answer.csv").write_text("id,y\n1,2\n")
    return await run_evaluator(backend, tmp_path, "prepared/public/evaluator.py", [b"id,y\n1,3\n"] * times)


async def test_it_finds_the_answers_and_the_submission(backend: LocalBackend, tmp_path: Path) -> None:
    code = f"""
import sys
assert sys.argv[1] == "--submission_path"
assert open(sys.argv[2]).read() == "id,y\\n1,3\\n"
assert open("answer.csv").read() == "id,y\\n1,2\\n"
{SCORE}
"""
    (found,) = await run(backend, tmp_path, code)
    assert (found.score, found.lower_is_better, found.problem, found.thresholds) == (0.5, True, "", None)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import time; time.sleep(60)", "its run was cut (timeout)"),
        ("import os; os.kill(os.getpid(), 9)", "its run was cut (killed)"),
        ("raise SystemExit('\x1b[31mno\x07')", "no"),
        ("print('y' * 50_000_000)", "y" * 200),
        ("pass", "it wrote nothing"),
    ],
)
async def test_a_run_without_a_score_says_why(
    backend: LocalBackend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, says: str
) -> None:
    if "sleep" in code:
        monkeypatch.setattr(_evaluator, "SECONDS", 1.0)
    (found,) = await run(backend, tmp_path, code)
    assert (found.score, found.problem.startswith(says)) == (None, True), found


async def test_it_leaves_nothing_behind(backend: LocalBackend, tmp_path: Path) -> None:
    if backend.capabilities.tier == "D":
        pytest.skip("nothing shuts code in on this machine")
    outside = tmp_path / "mark"
    code = f"""
import os, pathlib, time
assert not os.path.exists("/workspace/seen")
pathlib.Path("/workspace/seen").touch()
for path in ({str(outside)!r}, "answer.csv", "evaluator.py"):
    try:
        open(path, "w").close()
    except OSError:
        continue
    raise SystemExit("could write " + path)
if os.fork() == 0:
    time.sleep(600)
{SCORE}
"""
    first, second = await run(backend, tmp_path, code, times=2)
    assert first == second
    assert (first.score, first.problem) == (0.5, "")
    assert not outside.exists()


@pytest.mark.parametrize(
    "output",
    [
        "",
        "{",
        "}{",
        "{" + '"a":' * 50_000 + "}",
        '{"score": ' + "[" * 100_000 + "}",
        '{"score": 1' + "0" * 400 + "}",
        '{"score": NaN}',
        '{"score": null, "error": "\\ud800\\u001b[2J"}',
        '{"score": {"a": 1}}',
    ],
)
def test_no_output_breaks_the_reader(output: str) -> None:
    found = Printed.read(output)
    assert (found.score, found.thresholds) == (None, None)
    assert found.problem.isprintable()
