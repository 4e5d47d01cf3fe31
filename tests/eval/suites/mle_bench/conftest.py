"""A miniature of MLE-bench, and a home for the suites that are prepared from it."""

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sandmle.cli import app
from sandmle.settings import get_settings

sys.path.insert(0, str(Path(__file__).parent))

import miniature  # the folder above is on the path only now


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The folder of sandmle's own data, empty."""
    monkeypatch.setenv("SANDMLE_DATA_DIR", str(tmp_path / "home"))
    get_settings.cache_clear()
    yield tmp_path / "home"
    get_settings.cache_clear()


@pytest.fixture
def cli(home):
    """``cli(*words)`` runs the command line; the result has stdout, stderr and exception."""
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def sources(tmp_path):
    """``sources(*names)`` builds checkout and data of some competitions and gives the options that name them."""

    def build(*names, board=miniature.BOARD):
        checkout = miniature.build_checkout(tmp_path / "mle-bench", names, board)
        data = miniature.build_data(tmp_path / "data", names)
        return ("--data", data, "--checkout", checkout)

    return build
