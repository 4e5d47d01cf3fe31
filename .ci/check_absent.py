"""Fail if a library is installed that should not be.

python .ci/check_absent.py MODULE...
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]


def main(*modules: str) -> int:
    """Print those that are there; 1 if any is."""
    there = [module for module in modules if find_spec(module) is not None]
    print(f"installed, but should not be: {', '.join(there)}" if there else f"not installed: {', '.join(modules)}")
    return int(bool(there))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
