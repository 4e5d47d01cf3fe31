# ruff: noqa: PTH120, TID251
"""Imported by the Python of a seeded script as it starts (see ``site``): starts the random generators.

Nobody else can: a script's Python is a new one, which has to run it as if nothing had run before.
"""

from __future__ import annotations

import os
import sys

SEED = "SANDMLE_SEED"
"""The variable that names the seed; the script does not see it."""


def _start() -> None:
    here = os.path.dirname(__file__)
    program = here.removesuffix("/sandboxes/e2b/_guest/seeding")
    sys.path[:] = [program, *(path for path in sys.path if path != here)]
    from sandboxes._guest.streams import begin

    sys.path.remove(program)
    for name in [name for name in sys.modules if name.partition(".")[0] == "sandboxes"]:
        del sys.modules[name]
    paths = os.environ["PYTHONPATH"].split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in paths if path != here)
    begin(os.environ.pop(SEED))


if SEED in os.environ:
    _start()
