"""The pipelines as one script that stands alone: the frozen search's modules, and theirs behind."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from sandmle.eval.acceptance import search_script

__all__ = ["pipelines_script"]

_TAIL = """
from validity_pipelines import run

if __name__ == "__main__" and len(sys.argv) == 2:
    run(sys.argv[1])
"""


@cache
def pipelines_script() -> str:
    """Its source; how to run it is told at the head of ``pipelines``."""
    source = files("sandmle.eval.validity").joinpath("pipelines.py").read_text(encoding="utf-8")
    source = source.replace("from sandmle.eval.acceptance.search.", "from search_")
    return f"{search_script()}\ndefine(\"validity_pipelines\", r'''{source}''')\n{_TAIL}"
