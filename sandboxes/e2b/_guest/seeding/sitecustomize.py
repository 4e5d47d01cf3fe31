# ruff: noqa: PTH120
"""Imported by the Python of a seeded script as it starts (see ``site``): starts the random generators.

Nobody else can: a script's Python is a new one, which has to run it as if nothing had run before.
"""

from __future__ import annotations

import importlib
import os
import sys

SEED = "SANDMLE_SEED"
"""The variable that names the seed; it is taken out of the environment."""


def _start() -> None:
    here, given = os.path.dirname(__file__), os.environ["PYTHONPATH"].split(os.pathsep)
    program = here.removesuffix("/sandboxes/e2b/_guest/seeding")
    searched = [path for path in sys.path if path != here]
    sys.path[:] = [program, *(path for path in searched if path not in given)]  # no file of the workspace's
    importlib.import_module("sandboxes._guest.streams").begin(os.environ.pop(SEED))
    sys.path[:] = searched
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in given if path != here)
    for name in [name for name in sys.modules if name.partition(".")[0] == "sandboxes"]:
        del sys.modules[name]


if SEED in os.environ:
    _start()
