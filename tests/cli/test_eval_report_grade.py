"""The commands eval, report, matrix and grade: what they print, write and return. (Whole flows: test_eval_flow.)"""

import json

import pytest
import typer
from typer.testing import CliRunner

from sandmle.cli import run
from sandmle.cli.evaluate import eval_command
from sandmle.cli.grade import grade_command
from sandmle.cli.matrix import matrix_command
from sandmle.cli.report import report_command
from sandmle.errors import BadInput
from sandmle.seeds import get_seed, materialize


@pytest.fixture(scope="session")
def suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    materialize(get_seed("iris"), folder)
    return folder


@pytest.fixture(scope="session")
def run_folder(suite, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    result = invoke("eval", "--suite", f"synthetic:{suite}", "--model", "scripted:dummy", "--out", out)
    assert result.exit_code == 0
    assert "[1/1] react scripted:dummy on iris" in result.stderr
    assert "protocol clean · reward paper" in result.stdout
    return out


def invoke(*arguments):
    app = typer.Typer()
    app.command("eval")(eval_command)
    app.command("report")(report_command)
    app.command("matrix")(matrix_command)
    app.command("grade")(grade_command)
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=True)


def test_report_prints_json_and_writes_what_the_suffix_says(run_folder, tmp_path):
    printed = json.loads(invoke("report", run_folder, "--json").stdout)
    assert printed["rows"][0]["valid"] == 1.0
    assert printed["timing"][0]["wall_s"] > 0
    files = [tmp_path / f"report.{kind}" for kind in ("md", "csv", "json", "svg")]
    result = invoke("report", run_folder, *(part for file in files for part in ("--out", file)))
    assert result.exit_code == 0
    markdown, table, record, picture = (file.read_text() for file in files)
    assert markdown.startswith("# Evaluation report\n")
    assert table.startswith("protocol,reward_preset,")
    assert json.loads(record) == printed
    assert picture.startswith("<svg ")


def test_a_matrix_names_rows_and_says_which_values_there_are(run_folder):
    named = invoke("matrix", f"{run_folder}=base", "--value", "reward")
    assert named.exit_code == 0
    row = next(line for line in named.stdout.splitlines() if line.startswith("base"))
    printed = json.loads(invoke("matrix", run_folder, "--value", "reward", "--json").stdout)
    (cell,) = printed["cells"]
    assert cell["row"] == "scripted:dummy"
    assert f"{cell['value']['mean']:.3f}" in row
    wrong = invoke("matrix", run_folder, "--value", "medals")
    assert isinstance(wrong.exception, BadInput)
    assert "choose from any_medal, reward, headroom, human_rank" in str(wrong.exception)


def test_a_run_that_reaches_its_tokens_says_so_with_exit_code_3_and_goes_on_with_more(
    suite, tmp_path, endpoint, completion
):
    endpoint.answers = [completion("<answer>submission</answer>")]  # 107 tokens
    asked = (
        "eval",
        "--suite",
        f"synthetic:{suite}",
        "--model",
        "openai:m",
        "--base-url",
        endpoint.url,
        "--repeats",
        "3",
    )
    rest = ("--out", tmp_path / "run", "--jobs", "1", "--allow-unisolated", "--price", "openai:m=1000,0")
    stopped = invoke(*asked, *rest, "--run-tokens", "107", "--requests-per-minute", "100000")
    assert stopped.exit_code == 3
    assert "mean 0.100 · 107 tokens, 0.10 by the given prices, about 0.30 for all 3" in stopped.stderr
    assert "stopped: the run has used 107 of 107 tokens; 2 episodes left" in stopped.stderr
    assert "unfinished: 1 of 3 episodes" in stopped.stdout
    finished = invoke(*asked, *rest, "--episode-tokens", "1")
    assert isinstance(finished.exception, BadInput)  # that would be another run
    finished = invoke(*asked, *rest)
    assert finished.exit_code == 0
    assert "0.1000" in finished.stdout
    assert len(endpoint.requests) == 3


def test_grade_says_valid_with_exit_code_0(suite, run_folder):
    task = next(suite.iterdir())
    good = next((run_folder / "submissions").iterdir())
    result = invoke("grade", task, good)
    assert result.exit_code == 0
    assert result.stdout.startswith("valid: ")
    assert json.loads(invoke("grade", task, good, "--json").stdout)["error"] is None


def test_grade_refuses_what_cannot_be_scored_in_one_line_with_exit_code_2(suite, tmp_path, monkeypatch, capsys):
    task = next(suite.iterdir())
    bad = tmp_path / "bad.csv"
    bad.write_text("id\n1\n")
    files = {bad: "missing_column: there is no column", tmp_path / "none.csv": "missing: there is no submission file"}
    for file, said in files.items():
        for flags in ([], ["--json"]):
            monkeypatch.setattr("sys.argv", ["sandmle", "grade", str(task), str(file), *flags])
            with pytest.raises(SystemExit) as ended:
                run()
            printed = capsys.readouterr()
            assert ended.value.code == 2
            assert printed.err.startswith(f"error: {file}: {said}")
            assert len(printed.err.splitlines()) == 1
            assert (json.loads(printed.out)["error"] == said.split(":")[0]) if flags else printed.out == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("grade", "/nowhere", "x.csv"), "no such"),
        (("report", "/nowhere"), "no such run folder"),
        (("report", "/nowhere", "--out", "report.txt"), "ends in one of .md, .csv, .json, .svg"),
        (("eval", "--suite", "synthetic:x", "--model", "m", "--out", "run", "--price", "m=1"), "write MODEL=IN,OUT"),
        (("eval", "--suite", "synthetic:x", "--model", "m", "--out", "run", "--jobs", "0"), "--jobs"),
        (("eval", "--suite", "synthetic:x", "--model", "m", "--out", "run", "--repeats", "0"), "repeats"),
        (("eval", "--suite", "synthetic:x", "--model", "m", "--model", "m", "--out", "run"), "named twice"),
    ],
)
def test_bad_input_is_one_clear_error(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments)
    assert isinstance(result.exception, BadInput)
    assert said in str(result.exception)
    assert list(tmp_path.iterdir()) == []
