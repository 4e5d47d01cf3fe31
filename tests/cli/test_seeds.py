import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sandmle.cli.seeds import app
from sandmle.errors import BadInput
from sandmle.settings import get_settings

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SANDMLE_DATA_DIR", str(tmp_path / "data"))
    get_settings.cache_clear()
    yield tmp_path / "data"
    get_settings.cache_clear()


def run(*words: str) -> str:
    result = RUNNER.invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "flats"
    root.mkdir()
    rows = "".join(f"{i},{i % 7},{i * 1.5}\n" for i in range(30))
    (root / "description.md").write_text("Rents [of] flats.\n")
    (root / "train.csv").write_text("id,rooms,rent\n" + rows)
    (root / "test.csv").write_text("id,rooms\n90,2\n")
    (root / "sample_submission.csv").write_text("id,rent\n90,1\n")
    return root


def test_list_shows_every_seed():
    lines = run("list").splitlines()
    iris = next(line for line in lines if line.startswith("iris"))
    assert iris.split() == ["iris", "bundled", "tabular", "multiclass", "multiclass_log_loss", "150"]


def test_list_as_json_is_whole():
    listed = {seed["id"]: seed for seed in json.loads(run("list", "--json"))}
    assert listed["wine-alcohol"]["family"] == "wine"
    assert listed["iris"]["needs"] is None
    assert "description" not in listed["iris"]


def test_seeds_without_their_package_say_what_they_need(monkeypatch: pytest.MonkeyPatch):
    import rich.table  # noqa: F401 - must be loaded before the packages go out of sight

    run("list")
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if "-packages" not in entry])
    out = run("list")
    assert "needs sandmle[datasets]" in out
    assert "datasets: pip install 'sandmle[datasets]'" in out
    assert "islp: pip install --no-deps islp" in out


def test_show_prints_facts_and_description():
    out = run("show", "breast-cancer")
    assert "roc_auc, larger is better" in out
    assert "benign, malignant" in out
    assert "famous data set" in " ".join(out.split())
    assert json.loads(run("show", "breast-cancer", "--json"))["description"].startswith("Measurements")


def test_show_of_an_unknown_seed_raises():
    with pytest.raises(BadInput, match="did you mean iris"):
        run("show", "iriss")


def test_add_remembers_a_folder_and_says_what_it_inferred(folder: Path):
    out = run("add", str(folder))
    assert "added flats: regression, rmse, 30 rows, target rent" in out
    assert "inferred metric rmse: the default for regression problems" in out
    assert "flats" in run("list")
    assert "Rents [of] flats." in run("show", "flats")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give either"),
        (["x", "--mlebench", "y"], "give either"),
        (["x", "--split", "all"], "--split goes with --mlebench"),
        (["nowhere"], "nowhere: no such folder"),
        (["--mlebench", "nowhere"], "no checkout of MLE-bench"),
        (["--mlebench", "nowhere", "--split", "tiny"], "unknown split 'tiny'"),
    ],
)
def test_bad_words_to_add_raise(words: list[str], message: str):
    with pytest.raises(BadInput, match=message):
        run("add", *words)


def test_help_is_cheap_and_has_examples():
    for command in ("list", "show", "add"):
        assert "Example" in run(command, "--help")
    code = (
        "import sys, sandmle.cli.seeds; print(sorted({'pandas', 'pydantic', 'sandmle.seeds', 'yaml'} & {*sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
