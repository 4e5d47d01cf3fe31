"""Fail if a process that came from a virtual environment still runs: a sandbox, a fork server, a command.

    python .ci/check_processes.py VENV

A process counts if its command line or a file that it has mapped (its program, a library) lies in VENV. Forked children
keep their mappings, so a changed command line hides nothing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

__all__ = ["left_behind", "main"]


def left_behind(folder: Path, proc: Path = Path("/proc")) -> dict[int, str]:
    """Command line by pid of every other process that lives off ``folder``, as far as this user may look."""
    found = {}
    for entry in proc.iterdir():
        if entry.name.isdigit() and int(entry.name) not in (os.getpid(), os.getppid()):
            texts = [_read(entry / name) for name in ("cmdline", "maps")]
            if any(f"{folder}/" in text for text in texts):
                found[int(entry.name)] = texts[0].replace("\0", " ").strip() or "(no command line)"
    return found


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""


def main(folder: str) -> int:
    """Print what is left; 1 if anything is."""
    found = left_behind(Path(folder).resolve())
    for pid, command in sorted(found.items()):
        print(f"LEFT BEHIND  {pid}  {command}")
    print(f"{len(found)} processes left behind")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
