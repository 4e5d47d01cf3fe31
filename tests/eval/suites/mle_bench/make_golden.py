"""Makes ``golden.json``: what MLE-bench's own code says of every submission to the miniature competitions.

    python make_golden.py MLE_BENCH_PYTHON

MLE_BENCH_PYTHON is an interpreter that has MLE-bench and its libraries, see docs/mle-bench.md. The verdicts come from
the very program that ``--grader original`` runs, in one process for all.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from miniature import MINIATURES, build_data, submissions

from sandmle.eval.grading.original import SCRIPTS

GOLDEN = Path(__file__).with_name("golden.json")
LOOP = """
import io, os, sys, tempfile
script, lines = sys.argv[1], sys.stdin.read().splitlines()
program = compile(open(script).read(), script, "exec")
for line in lines:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.stdin = io.StringIO(line)
        exec(program, {"__name__": "__main__"})
"""


def main(python: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        data, script = build_data(root / "data"), root / "script.py"
        script.write_text(SCRIPTS["mle-bench"])
        requests = []
        for name in MINIATURES:
            prepared = data / name / "prepared"
            for number, text in enumerate(submissions(name).values()):
                path = root / f"{name}-{number}.csv"
                path.write_text(text, newline="")
                places = {side: str(prepared / side) for side in ("public", "private")}
                requests.append(json.dumps({"submission": str(path), "competition": name, **places}))
        command = [python, "-c", LOOP, str(script)]
        done = subprocess.run(command, input="\n".join(requests), capture_output=True, text=True, check=True, cwd=root)
    verdicts = iter(map(json.loads, done.stdout.splitlines()))
    found = {name: {what: next(verdicts) for what in submissions(name)} for name in MINIATURES}
    lines = [f"{json.dumps(name)}: {{\n{_lines(verdicts)}\n}}" for name, verdicts in found.items()]
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def _lines(verdicts: dict[str, dict[str, object]]) -> str:
    """One line a submission: the score to 12 digits, else the code of the fault."""

    def short(verdict: dict[str, object]) -> object:
        score = verdict.get("score")
        return float(f"{score:.12g}") if score is not None else verdict.get("error") or verdict

    return ",\n".join(f"  {json.dumps(what)}: {json.dumps(short(verdict))}" for what, verdict in verdicts.items())


if __name__ == "__main__":
    main(sys.argv[1])
