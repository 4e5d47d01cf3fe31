"""Files of ``sandmle train`` by name and by path: which kind each is, and what is said where one can't be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandmle.errors import BadInput
from sandmle.rl.config_files import bundled_names, kind_of, load_settings
from sandmle.rl.trainer import TrainSettings

FILES = [
    ("[grpo]\n", "config"),
    ("[[arms]]\nname = 'sft'\n", "experiment"),
    ("trainer = 'rllm'\n", "recipe"),
]


@pytest.mark.parametrize("kind", ["config", "experiment", "recipe"])
def test_every_bundled_file_is_of_its_kind(kind):
    assert bundled_names(kind)
    assert {kind_of(name) for name in bundled_names(kind)} == {kind}


@pytest.mark.parametrize(("text", "kind"), FILES)
def test_a_file_is_known_by_what_it_holds(tmp_path: Path, text, kind):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    assert kind_of(str(path)) == kind


@pytest.mark.parametrize(("text", "kind"), FILES[1:])
def test_another_kind_is_refused(tmp_path: Path, text, kind):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(BadInput, match=rf"mine\.toml: this is an? {kind}.*, not a config of our trainer"):
        load_settings(TrainSettings, str(path), "config")


def test_what_is_no_file_lists_all_that_come_with_sandmle(tmp_path: Path):
    with pytest.raises(BadInput) as caught:
        kind_of(str(tmp_path))
    assert all(name in str(caught.value) for name in ("tiny-cpu", "demo-cpu", "qwen3-8b"))


@pytest.mark.parametrize("data", [b"= broken", b"\xff\xfe"])
def test_what_is_no_toml_is_named(tmp_path: Path, data):
    path = tmp_path / "mine.toml"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=r"mine\.toml: no TOML"):
        kind_of(str(path))


def test_changes_replace_fields_and_single_entries_of_tables(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text("seed = 1\n[grpo]\nupdates = 5\nbatch = 3\n")
    found = load_settings(TrainSettings, str(path), "config", {"seed": 2, "grpo": {"updates": 7}})
    assert (found.seed, found.grpo.updates, found.grpo.batch) == (2, 7, 3)


def test_changes_do_not_hide_what_is_no_table(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text("grpo = 3\n")
    with pytest.raises(BadInput, match=r"grpo: should be a table, not 3"):
        load_settings(TrainSettings, str(path), "config", {"grpo": {"updates": 7}})


def test_changes_reach_tables_in_tables(tmp_path: Path):
    path = tmp_path / "mine.toml"
    path.write_text("[grpo.rollouts]\ngroup = 2\nturns = 3\n")
    found = load_settings(TrainSettings, str(path), "config", {"grpo": {"rollouts": {"group": 5}}})
    assert (found.grpo.rollouts.group, found.grpo.rollouts.turns) == (5, 3)
