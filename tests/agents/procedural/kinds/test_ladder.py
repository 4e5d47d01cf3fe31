"""What the ladder's runs share changes nothing, and rows that are said to stand apart do."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandmle.agents.procedural.kinds import get_kind, task_kinds

KINDS = tuple(kind.name for kind in task_kinds())


SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("image", "segmentation")]


@pytest.mark.parametrize("kind", ["tabular", "text", *SLOW])
def test_what_runs_share_changes_no_submission(make, monkeypatch, tmp_path: Path, kind: str) -> None:
    task = make(kind)
    alone, shared = {}, {}
    for rung in task.plan.rungs:
        task.run(rung)
        alone[rung] = (task.root / "runs" / rung / "submission.csv").read_bytes()
    monkeypatch.setenv("LADDER_MEMORY", str(tmp_path / "memory"))
    for _ in range(2):
        for rung in task.plan.rungs:
            task.run(rung)
            shared[rung] = (task.root / "runs" / rung / "submission.csv").read_bytes()
        assert shared == alone
    assert any((tmp_path / "memory").iterdir())
    assert not list((tmp_path / "memory").glob("*.part"))


def test_another_training_set_is_not_mistaken_for_the_first(make, monkeypatch, tmp_path: Path) -> None:
    task = make("image")
    other = task.draw_again(tmp_path / "other", train_seed=77)
    submission = task.root / "runs" / "trees" / "submission.csv"

    def trees(public: Path) -> bytes:
        link = task.root / "runs" / "trees" / "input"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(public)
        task.run("trees")
        link.unlink()
        return submission.read_bytes()

    alone = [trees(public) for public in (task.public, other / "public")]
    monkeypatch.setenv("LADDER_MEMORY", str(tmp_path / "memory"))
    assert [trees(public) for public in (task.public, other / "public")] == alone
    assert alone[0] != alone[1]


@pytest.mark.parametrize("kind", KINDS)
def test_training_rows_do_not_depend_on_the_number_of_test_rows(make, tmp_path: Path, kind: str) -> None:
    task = make(kind)
    fewer = task.draw_again(tmp_path / "fewer", n_test=100)
    train = {path.relative_to(task.public): path.read_bytes() for path in task.public.glob("train*") if path.is_file()}
    same = all((fewer / "public" / name).read_bytes() == data for name, data in train.items())
    assert same == get_kind(kind).rows_apart
