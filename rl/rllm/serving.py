"""``Serving``: an engine of ours in a thread of its own, with an event loop and an address on this machine.

rLLM's gateway asks it over HTTP as it would ask vLLM; rLLM's trainer, in its own loop, runs coroutines in this one.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine
from threading import Thread
from typing import Any, TypeVar

import uvicorn

from sandmle.rl.checkpoints import PolicyWeights
from sandmle.rl.engine.local import LocalEngine
from sandmle.rl.serve import make_app

__all__ = ["Serving"]

T = TypeVar("T")


class Serving:
    """Serves a policy until it is closed.

    Attributes:
        engine: samples; only the thread's loop may use it.
        address: such as ``127.0.0.1:41023``.
    """

    def __init__(self, policy: PolicyWeights, engine: LocalEngine) -> None:
        """Begin to serve."""
        self.engine = engine
        self._loop = asyncio.new_event_loop()
        self._server = uvicorn.Server(uvicorn.Config(make_app(policy, "policy", engine), log_level="warning"))
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = Thread(target=self._run, name="sandmle-engine", daemon=True)
        self._thread.start()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What ``work`` returns, run in the thread's loop."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def close(self) -> None:
        """Stop serving; may be called again."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._server.serve(sockets=[self._socket]))
        self._loop.close()
