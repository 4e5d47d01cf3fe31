"""The traps that users of other trainers reported: docs/training.md names the test of each, and here they are found."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TRAPS = 25
ENTRY = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def table():
    """Trap and the tests that its line names."""
    section = (ROOT / "docs" / "training.md").read_text().split("\n## Traps\n")[1].split("\n## ")[0]
    lines = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| ")]
    return {trap.strip(): ENTRY.findall(tests) for trap, tests in lines if ENTRY.search(tests)}


def test_every_trap_has_a_test_that_exists():
    found = table()
    assert len(found) == TRAPS
    for path, name in (entry for entries in found.values() for entry in entries):
        defined = {node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if hasattr(node, "name")}
        assert name in defined, f"{path} has no {name}"
