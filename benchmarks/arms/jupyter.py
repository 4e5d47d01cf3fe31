"""A Jupyter kernel: no isolation and no workspace, but libraries that stay imported."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import Any

from arms.cold import Arm

__all__ = ["Kernel"]


class Kernel:
    """A kernel that runs cells, where jupyter_client and ipykernel are installed (the extra ``bench``)."""

    def __init__(self, manager: Any, client: Any) -> None:
        self._manager = manager
        self._client = client

    @staticmethod
    def installed() -> bool:
        """Whether there is one to measure."""
        with suppress(ImportError):
            import ipykernel  # noqa: F401
            import jupyter_client  # noqa: F401

            return True
        return False

    @classmethod
    async def start(cls) -> Kernel:
        """Start a kernel and wait until it answers."""
        from jupyter_client.manager import start_new_async_kernel

        return cls(*await start_new_async_kernel(startup_timeout=120, stderr=subprocess.DEVNULL))

    async def run(self, code: str) -> None:
        """Run one cell."""
        reply = await self._client.execute_interactive(code, timeout=120, output_hook=lambda _: None)
        if reply["content"]["status"] != "ok":
            raise SystemExit(f"the kernel failed: {reply['content']}")

    async def close(self) -> None:
        """Shut the kernel down."""
        self._client.stop_channels()
        await self._manager.shutdown_kernel(now=True)


def first_cell(code: str) -> Arm:
    """Start a kernel, run a cell, end the kernel."""

    async def run() -> None:
        kernel = await Kernel.start()
        await kernel.run(code)
        await kernel.close()

    return run


def next_cell(kernel: Kernel, code: str) -> Arm:
    """A cell in a kernel that runs."""
    return lambda: kernel.run(code)
