"""Cold processes: a Python that starts for every step, bare or in bubblewrap."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from sandmle.sandboxes._layout import base_environment, find_interpreter

__all__ = ["Arm", "bubblewrap", "cold", "command"]

Arm = Callable[[], Awaitable[None]]


def cold(folder: Path, code: str) -> Arm:
    """The script in a Python process of its own, with the environment that steps get."""
    return command([sys.executable, "-P", _script(folder, code)], folder)


def bubblewrap(folder: Path, code: str) -> Arm | None:
    """The same inside bubblewrap with namespaces of its own; None where it is not installed."""
    program = shutil.which("bwrap")
    if program is None:
        return None
    shut = ["--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    inside = ["--bind", str(folder), str(folder), "--", sys.executable, "-P", _script(folder, code)]
    return command([program, *shut, *inside], folder)


def command(line: list[str], folder: Path) -> Arm:
    """A program, run to its end."""
    environment = base_environment(find_interpreter(None), workspace=str(folder), home=str(folder))

    async def run() -> None:
        process = await asyncio.create_subprocess_exec(
            *line, env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if await process.wait():
            raise SystemExit(f"the cold process failed: {' '.join(line)}")

    return run


def _script(folder: Path, code: str) -> str:
    path = folder / f"step-{len(code)}.py"
    path.write_text(code)
    return str(path)
