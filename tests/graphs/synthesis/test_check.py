"""``check`` finds what was changed, also where whoever changed it rewrote the hashes."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandmle.files import hash_tree
from sandmle.graphs.synthesis import Batch, SynthesisContext, synthesize
from sandmle.graphs.synthesis.check import changed_files, check_task
from sandmle.sandboxes import LocalBackend
from sandmle.task import Task

pytestmark = pytest.mark.flow


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A freshly made task."""
    out = tmp_path_factory.mktemp("published")
    batch = Batch(out, ["diabetes"], SynthesisContext(batch_seed=1, n_train=120, n_test=800))

    async def make() -> str:
        (record,) = [record async for record in synthesize(batch, 1, jobs=2)]
        assert record.task_id is not None
        return record.task_id

    return out / asyncio.run(make())


def edit_line(path: Path, line: int, change: Callable[[str], str]) -> None:
    lines = path.read_text().splitlines(keepends=True)
    lines[line] = change(lines[line])
    path.write_text("".join(lines))


def change_label(task: Path) -> None:
    edit_line(task / "prepared/private/answers.csv", 7, lambda row: row.replace(row.split(",")[1], "1.5", 1))


def change_train_value(task: Path) -> None:
    edit_line(task / "prepared/public/train.csv", 3, lambda row: ",".join([*row.split(",")[:-1], "77.125\n"]))


def weaken_baseline(task: Path) -> None:
    shutil.copyfile(task / "provenance/baselines/dummy.py", task / "provenance/baselines/linear.py")


def lower_gold(task: Path) -> None:
    manifest = json.loads((task / "task.json").read_text())
    thresholds = manifest["thresholds"]
    thresholds["gold"] = thresholds["silver"] + 0.9 * (thresholds["gold"] - thresholds["silver"])
    (task / "task.json").write_text(json.dumps(manifest))


def add_hints(task: Path) -> None:
    shutil.copyfile(task / "prepared/private/answers.csv", task / "prepared/public/hints.csv")


def hint_in_brief(task: Path) -> None:
    with (task / "prepared/public/description.md").open("a") as brief:
        brief.write("\nThe best predictor is the first column.\n")


def raise_dummy(task: Path) -> None:
    edit_json(task / "provenance/calibration.json", lambda record: record.update(dummy=record["dummy"] + 0.5))


def forget_verdicts(task: Path) -> None:
    edit_json(task / "provenance/acceptance.json", lambda record: record.update(verdicts=record["verdicts"][:1]))


def forget_terms(task: Path) -> None:
    edit_json(task / "provenance/rule.json", lambda plan: plan.update(rule_terms=[]))


def break_brief(task: Path) -> None:
    (task / "prepared/public/description.md").write_bytes(b"\xff\xfe broken")


def other_metric(task: Path) -> None:
    edit_json(task / "provenance/rule.json", lambda plan: plan.update(metric="no_such_metric"))


CHANGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "label": (change_label, "prepared/private/answers.csv differs from what generate.py writes"),
    "train value": (change_train_value, "prepared/public/train.csv differs from what generate.py writes"),
    "baseline": (weaken_baseline, "baseline linear scores"),
    "threshold": (lower_gold, "the gold threshold is"),
    "added file": (add_hints, "prepared/public/hints.csv is no file of a task"),
    "brief": (hint_in_brief, "description.md is not what the team writes"),
    "dummy score": (raise_dummy, "calibration.json is not what the baselines give"),
    "verdicts": (forget_verdicts, "acceptance.json is not what the probes find"),
    "rule terms": (forget_terms, "readable terms"),
    "undecodable brief": (break_brief, "description.md"),
    "unknown metric": (other_metric, "no_such_metric"),
}
PARTS_OF_MANIFEST = {"threshold"}
QUICK = ("label", "threshold")


@pytest.mark.parametrize(
    "change", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CHANGES]
)
async def test_a_change_is_found_also_with_rewritten_hashes(
    published: Path, tmp_path: Path, backend: LocalBackend, change: str
) -> None:
    task = tmp_path / published.name
    shutil.copytree(published, task)
    edit, finding = CHANGES[change]
    edit(task)
    if change not in PARTS_OF_MANIFEST:
        assert len(list(changed_files(Task.load(task)))) == 1
        rewrite_hashes(task)
    found = await findings(task, backend)
    assert any(finding in line for line in found), found
    assert not any("hash" in line for line in found)


async def test_checking_changes_nothing(published: Path, backend: LocalBackend) -> None:
    before = hash_tree(published)
    assert await findings(published, backend) == ()
    assert hash_tree(published) == before


async def test_broken_provenance_and_links_are_findings(published: Path, tmp_path: Path, backend: LocalBackend) -> None:
    task = tmp_path / published.name
    shutil.copytree(published, task)
    (task / "provenance" / "rule.json").write_text("{")
    (task / "prepared" / "public" / "secret").symlink_to("../private")
    found = await findings(task, backend)
    assert any("can't be read or run again" in line for line in found)
    assert "prepared/public/secret is a link" in found


async def findings(task: Path, backend: LocalBackend) -> tuple[str, ...]:
    return (await check_task(Task.load(task), backend)).findings


def edit_json(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    record = json.loads(path.read_text())
    change(record)
    path.write_text(json.dumps(record))


def rewrite_hashes(task: Path) -> None:
    manifest = json.loads((task / "task.json").read_text())
    files = hash_tree(task)
    files.pop("task.json")
    (task / "task.json").write_text(json.dumps({**manifest, "files": files}))
