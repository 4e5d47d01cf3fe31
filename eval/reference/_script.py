"""The script that all baselines are: the frozen search, with the tuned baseline behind it."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from sandmle.eval.acceptance.search import search_script

__all__ = ["MODULES", "baseline_script"]

MODULES = ("pictures", "curves", "views", "machines", "main")
"""Each before those that use it."""
_PACKAGE = "sandmle.eval.reference.tuned"
_SEARCH = "sandmle.eval.acceptance.search"
_TAIL = """
from tuned_main import main as tuned

if __name__ == "__main__" and len(sys.argv) == 2:
    tuned(sys.argv[1])
"""


@cache
def baseline_script() -> str:
    """A script that stands alone: with FACTS and a number of ideas it is the search, with FACTS alone the tuned one."""
    return search_script() + "\n".join(map(_embedded, MODULES)) + _TAIL


def _embedded(name: str) -> str:
    source = files(_PACKAGE).joinpath(f"{name}.py").read_text(encoding="utf-8")
    source = source.replace(f"from {_PACKAGE}.", "from tuned_").replace(f"from {_SEARCH}.", "from search_")
    return f"define(\"tuned_{name}\", r'''{source}''')\n"
