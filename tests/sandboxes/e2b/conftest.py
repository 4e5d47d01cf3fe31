from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))

if TYPE_CHECKING:
    from server import Server

    from sandmle.sandboxes.e2b import E2BBackend


@pytest.fixture(scope="session")
def running_server() -> Iterator[Server]:
    if importlib.util.find_spec("e2b") is None:
        pytest.skip("needs pip install 'sandmle[e2b]'")
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("the local E2B server makes its machines as root on Linux")
    from server import Server

    server = Server()
    try:
        server.start("", "", 60, False)
    except RuntimeError:
        pytest.skip("no user namespaces for the machines of the local E2B server here")
    else:
        server.stop(next(iter(server.machines)))
        yield server
    finally:
        server.close()


@pytest.fixture
def server(running_server: Server, monkeypatch) -> Iterator[Server]:
    """The server that the SDK is pointed at, without faults and with an empty log."""
    for name, value in running_server.environment.items():
        monkeypatch.setenv(name, value)
    running_server.log.clear()
    running_server.ttls.clear()
    yield running_server
    running_server.faults.clear()


@pytest.fixture
async def e2b(server: Server) -> AsyncIterator[E2BBackend]:
    from sandmle.sandboxes.e2b import E2BBackend, Patience

    async with E2BBackend(concurrency=2, patience=Patience(first_wait_s=0.01)) as backend:
        yield backend
    assert server.machines == {}
    assert server.snapshots == {}
