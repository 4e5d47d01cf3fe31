"""From a commitment to a verified suite, its card, its readiness and its splits, all through the real command line."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sandmle.cli import run
from sandmle.eval.commitment import Commitment, Secret
from sandmle.eval.reproduction import _difference, _foreign, open_suite
from sandmle.files import hash_tree
from sandmle.graphs.synthesis.readiness import TaskReadiness
from sandmle.rl.splits import Split
from sandmle.task import Task, load_tasks

pytestmark = pytest.mark.flow
SMALL = ("--n", "2", "--mix", "seed", "--seeds", "diabetes", "--n-train", "60", "--n-test", "500")


def sandmle(*arguments: object) -> int:
    """Run the command line in this process; returns its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["sandmle", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            run()
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def revealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a commitment, its secret, and the tasks that the reveal made."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "seed").write_text("3\n")
    out = folder / "commitment.json"
    assert sandmle("suites", "commit", *SMALL, "--out", out, "--seed-file", folder / "seed") == 0
    made = ("--run", "--jobs", "2", "--out", folder / "tasks")
    assert sandmle("suites", "reveal", out, folder / "commitment.secret.json", *made) == 0
    return folder


def test_the_revealed_suite_is_the_one_committed_to(revealed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    commitment, secret = revealed / "commitment.json", revealed / "commitment.secret.json"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert Commitment.read(commitment).settings.seeds == ("diabetes",)
    assert len(load_tasks(revealed / "tasks")) == 2
    code = sandmle("suites", "verify", commitment, secret, "--tasks", revealed / "tasks", "--sample", "1")
    printed = capfd.readouterr().out
    assert code == 0, printed
    assert "holds the tasks of the commitment (a sample of 1 of 2 slots made again)" in printed


def test_another_suite_is_told_apart_before_anything_is_made(
    revealed: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out, secret = tmp_path / "c.json", tmp_path / "c.secret.json"
    assert sandmle("suites", "commit", *SMALL, "--out", out) == 0
    assert sandmle("suites", "verify", out, secret, "--tasks", revealed / "tasks") == 1
    captured = capfd.readouterr()
    assert captured.out.count("made with another seed") == 2
    assert "does not hold the tasks of the commitment" in captured.err
    assert sandmle("suites", "reveal", out, revealed / "commitment.secret.json") == 1
    assert "does not open the commitment" in capfd.readouterr().err
    assert sandmle("suites", "commit", *SMALL, "--out", out) == 2
    assert "never written over" in capfd.readouterr().err


def test_a_changed_byte_or_a_task_of_other_settings_is_found(revealed: Path, tmp_path: Path) -> None:
    commitment = Commitment.read(revealed / "commitment.json")
    seed = Secret.read(revealed / "commitment.secret.json").seed
    batch = open_suite(commitment.settings, seed, tmp_path / "again")
    (task, *_) = load_tasks(revealed / "tasks")
    assert _foreign(task, batch, 2) == []
    assert _difference(task, task) == ""
    assert _difference(None, task) == f"{task.id}: is missing"
    copy = Path(shutil.copytree(task.root, tmp_path / task.id))
    with (copy / "prepared/public/train.csv").open("a") as stream:
        stream.write("\n")
    assert _difference(Task.load(copy), task) == f"{task.id}: prepared/public/train.csv is not that of the suite"
    larger = open_suite(commitment.settings.model_copy(update={"n_train": 70}), seed, tmp_path / "again")
    assert _foreign(task, larger, 2) == [f"{task.id}: made with other settings"]
    assert _foreign(load_tasks(revealed / "tasks")[1], batch, 0)[0].endswith("beyond the 0 slots of the suite")


@pytest.fixture
def tasks(revealed: Path, tmp_path: Path) -> Path:
    """A copy of the tasks to write beside."""
    return Path(shutil.copytree(revealed / "tasks", tmp_path / "tasks"))


def card_files(folder: Path) -> dict[str, str]:
    return {name: digest for name, digest in hash_tree(folder).items() if name.startswith(("card/", "dataset.json"))}


def test_the_card_is_whole_repeatable_and_free_of_the_machine(tasks: Path) -> None:
    assert sandmle("card", tasks) == 0
    card = json.loads((tasks / "dataset.json").read_text())
    page = (tasks / "README.md").read_text()
    assert card["funnel"]["stages"]["published"] == len(card["tasks"]) == 2
    assert [task["content_hash"] for task in card["tasks"]] == [
        task.manifest.content_hash for task in load_tasks(tasks)
    ]
    for group in card["groups"].values():
        assert all(row["kept"] <= row["drawn"] for row in group)
    assert sum(third["kept"] for third in card["thirds"]) == 2
    shown = {line.split("](card/")[1].rstrip(")") for line in page.splitlines() if line.startswith("![")}
    assert shown == {path.name for path in (tasks / "card").iterdir()}
    assert len(shown) > 15
    for path in (tasks / "card").iterdir():
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
    text = (tasks / "dataset.json").read_text()
    assert "cpu" not in text
    assert str(tasks.parent) not in text + page
    before, first = card_files(tasks), page
    assert sandmle("card", tasks) == 0
    assert (card_files(tasks), (tasks / "README.md").read_text()) == (before, first)


def test_only_what_is_called_measured_depends_on_the_machine(tasks: Path) -> None:
    assert sandmle("card", tasks) == 0
    before, page = card_files(tasks), (tasks / "README.md").read_text()
    for path in (tasks / ".sandmle" / "slots").iterdir():
        slot = json.loads(path.read_text())
        slot.update(cpu_s=slot["cpu_s"] * 3, rung_cpu_s=dict.fromkeys(slot["rung_cpu_s"], 9.0))
        path.write_text(json.dumps(slot))
    assert sandmle("card", tasks) == 0
    changed = {name for name, digest in card_files(tasks).items() if before[name] != digest}
    assert changed
    assert all(name.startswith("card/measured-") for name in changed)
    part = "# Part 2: measured on one machine"
    assert (tasks / "README.md").read_text().split(part)[0] == page.split(part)[0]


def test_without_the_records_of_the_batch_the_card_tells_what_the_tasks_tell(tasks: Path) -> None:
    shutil.rmtree(tasks / ".sandmle")
    (tasks / "README.md").write_text("# Somebody's own page\n")
    assert sandmle("card", tasks) == 0
    assert (tasks / "README.md").read_text() == "# Somebody's own page\n"
    card = json.loads((tasks / "dataset.json").read_text())
    assert card["funnel"] is None
    assert card["groups"]["modality"] == [{"name": "tabular", "kept": 2, "drawn": None}]
    assert "(`.sandmle`) are gone" in (tasks / "CARD.md").read_text()
    assert not list((tasks / "card").glob("measured-*"))


def test_readiness_is_measured_once_and_shown_on_the_card(tasks: Path, capfd: pytest.CaptureFixture[str]) -> None:
    asked = ("readiness", tasks, "--redraws", "1", "--sample", "1", "--seed", "5", "--jobs", "2")
    assert sandmle(*asked) == 0
    (path,) = (tasks / "readiness").iterdir()
    found, written = TaskReadiness.read(path), path.stat().st_mtime_ns
    assert found.readiness is not None
    assert found.readiness.reliability.pairs == 2
    assert set(found.scores[0]) == set(found.readiness.headroom)
    assert "adjacent pairs in order" in capfd.readouterr().out
    assert sandmle(*asked) == 0
    assert path.stat().st_mtime_ns == written
    assert sandmle("card", tasks) == 0
    assert json.loads((tasks / "dataset.json").read_text())["readiness"]["tests"] == 1
    assert "1 redrawn hidden tests of 1 tasks" in (tasks / "README.md").read_text()


def test_splits_are_written_beside_the_tasks(tasks: Path, capfd: pytest.CaptureFixture[str]) -> None:
    everything = ("--with-undiscoverable", "--seed", "1")
    assert sandmle("split", tasks, "--by", "domain", "--validation", "1", *everything) == 0
    found = Split.read(tasks / "splits" / "domain.json")
    assert sorted([*found.train, *found.validation]) == [task.id for task in load_tasks(tasks)]
    assert f"held out: {found.held_out[0]}" in capfd.readouterr().out
    assert sandmle("split", tasks, "--preset", "paper", "--out", tasks / "mine.json", *everything) == 0
    assert len(Split.read(tasks / "mine.json").validation) == 1
    assert sandmle("split", tasks, "--by", "family", "--validation", "1", *everything) == 2
    assert "all tasks are of one family (diabetes)" in capfd.readouterr().err
    assert sandmle("split", tasks, "--preset", "paper", "--by", "domain") == 2
