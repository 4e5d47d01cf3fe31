"""Joins the modules of the search into one script."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["MODULES", "search_script"]

MODULES = (
    "facts",
    "tables",
    "ideas",
    "models",
    "greedy",
    "targets",
    "scores",
    "forms",
    "finals",
    "texts",
    "pairs",
    "blobs",
    "images",
    "sounds",
    "series",
    "links",
    "graphs",
    "layout",
    "spoken",
    "aligning",
    "decisions",
    "rewriting",
    "masks",
    "main",
)
"""Each before those that use it."""
_PACKAGE = "sandmle.eval.acceptance.search"
_HEAD = """
import sys
import types


def define(name, source):
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(source, f"{name}.py", "exec"), module.__dict__)


"""
_TAIL = """
from search_main import main

if __name__ == "__main__" and len(sys.argv) > 2:
    main(sys.argv[1:])
"""


@cache
def search_script() -> str:
    """The source of the search, a script that stands alone; how to run it is told at the head of its last module.

    Without arguments it does nothing, so ``main([facts, budgets])`` can be called after it instead.
    """
    return _HEAD.lstrip() + "\n".join(_embedded(name) for name in MODULES) + _TAIL


def _embedded(name: str) -> str:
    """A module as a text in the script; its siblings are imported by the names that they have there."""
    source = files(_PACKAGE).joinpath(f"{name}.py").read_text(encoding="utf-8")
    if "'''" in source:
        raise ValueError(f"{name}.py holds three single quotes, which the script is quoted with")
    source = source.replace(f"from {_PACKAGE}.", "from search_")
    return f"define(\"search_{name}\", r'''{source}''')\n"
