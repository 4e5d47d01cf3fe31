"""How the keys of rLLM and verl are read from their sources."""

import sys
from pathlib import Path

import pytest

from sandmle.rl.rllm.keys import class_fields, main


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "theirs" / "config"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("from .actor import Actor\n")
    (folder / "base.py").write_text("class Base:\n    _hidden: int = 1\n    steps: int = 3\n    name: str = 'a'\n")
    (folder / "actor.py").write_text(
        "from .base import Base\n\nclass Actor(Base, Elsewhere):\n    steps: Optional[int] = None\n"
        "    share: float | None = 0.5\n    betas: tuple[float, float] = field(default_factory=tuple)\n    plain = 3\n"
    )
    return tmp_path


def test_fields_come_from_a_class_and_its_bases_without_an_import(package):
    assert class_fields(package, "theirs.config.Actor") == {
        "steps": ("Optional[int]", None),
        "name": ("str", "a"),
        "share": ("float | None", 0.5),
        "betas": ("tuple[float, float]", None),
    }
    assert class_fields(package, "theirs.config.base.Base")["steps"] == ("int", 3)
    assert class_fields(package, "theirs.config.Nobody") == {}


def test_wrong_folders_and_a_missing_hydra_are_told(tmp_path, capsys, monkeypatch):
    arguments = ["--rllm", str(tmp_path), "--verl", str(tmp_path), "--out", str(tmp_path / "keys.json")]
    assert main(arguments) == 2
    assert "give a checkout of rLLM" in capsys.readouterr().err
    for folder in ("rllm/trainer/config", "rllm/trainer/verl", "verl/trainer/config", "verl/version"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text(
        "[project]\nversion = '1'\noptional-dependencies.verl = ['torch', 'verl==3']\n"
    )
    (tmp_path / "verl/version/version").write_text("2\n")
    assert main(arguments) == 2
    assert "verl 2, but this rLLM pins 3" in capsys.readouterr().err
    (tmp_path / "verl/version/version").write_text("3\n")
    (tmp_path / "rllm/trainer/verl/utils.py").write_text("_SHARED_KEYS: list = []\n")
    monkeypatch.setattr("sandmle.rl.rllm.keys._commit", lambda checkout: "0" * 40)
    monkeypatch.setitem(sys.modules, "hydra", None)
    assert main(arguments) == 3
    assert "pip install hydra-core" in capsys.readouterr().err
    assert not (tmp_path / "keys.json").exists()
