"""As root: run a command as an unprivileged user who can reach some folders, ``as_nobody.py FOLDER... -- COMMAND...``.

In a mount namespace of its own, so that nothing of the machine changes: every folder that bars others on the way to one
of the given folders is covered by an empty one in which only the given folders are shown.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sandmle.sandboxes._guest import linux

NOBODY = 65534


def barred(folder: Path) -> Path | None:
    """The topmost folder on the way to ``folder``, itself included, that others may not enter."""
    return next((step for step in [*reversed(folder.parents), folder] if not step.stat().st_mode & 1), None)


def show(folders: list[Path]) -> None:
    linux.unshare(linux.CLONE_NEWNS)
    linux.mount_private()
    blocks = {folder: block for folder in folders if (block := barred(folder)) and block != folder}
    held = {folder: os.open(folder, os.O_PATH) for folder in blocks}
    for block in set(blocks.values()):
        linux.mount_tmpfs(str(block), mib=1, mode=0o755)
    for folder, fd in held.items():
        folder.mkdir(parents=True)
        linux.bind(f"/proc/self/fd/{fd}", str(folder))
        os.close(fd)


def main() -> None:
    split = sys.argv.index("--")
    show([Path(name).resolve() for name in sys.argv[1:split]])
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    command = sys.argv[split + 1 :]
    os.execvp(command[0], command)


main()
