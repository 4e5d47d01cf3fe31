"""A small real task and the real sandbox."""

import pytest

from sandmle.sandboxes import LocalBackend
from sandmle.seeds import get_seed, materialize


@pytest.fixture(scope="session")
def suite(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tasks")
    materialize(get_seed("iris"), folder)
    return folder


@pytest.fixture(scope="session")
def backend():
    return LocalBackend(concurrency=1, allow_unisolated=True)
