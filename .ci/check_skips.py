"""Print the tests that were skipped and fail on one that nobody expects.

    python .ci/check_skips.py JUNIT_XML EXPECTED_SKIPS...

A line of EXPECTED_SKIPS is ``pattern # reason``: a skip is expected if ``test id: message`` contains a pattern.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

__all__ = ["expected_skips", "main", "skipped_tests"]

_WHOLE_FILE = "collection skipped"
"""The message where a whole file skips itself; its reason stands in the text."""


def expected_skips(path: Path) -> dict[str, str]:
    """Reason by pattern.

    Raises:
        SystemExit: a line has no pattern or no reason.
    """
    reasons = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, _, reason = line.partition(" # ")
        if not pattern.strip() or not reason.strip():
            raise SystemExit(f"{path}:{number}: write `pattern # reason`")
        reasons[pattern.strip()] = reason.strip()
    return reasons


def skipped_tests(path: Path) -> list[str]:
    """``test id: message`` of every skipped test in a JUnit XML report (expected failures are not skips)."""
    skips = []
    for case in ElementTree.parse(path).iter("testcase"):
        for skip in case.iter("skipped"):
            if skip.get("type") != "pytest.xfail":
                where = f"{case.get('classname')}.{case.get('name')}".strip(".")
                message = skip.get("message")
                skips.append(f"{where}: {skip.text if message == _WHOLE_FILE else message}")
    return skips


def main(report: str, *expected: str) -> int:
    """Print expected skips counted by reason and the others one by one; 1 if there are others."""
    reasons = {pattern: reason for path in expected for pattern, reason in expected_skips(Path(path)).items()}
    counts: Counter[str] = Counter()
    unexpected = []
    for skip in skipped_tests(Path(report)):
        pattern = next((pattern for pattern in reasons if pattern in skip), None)
        if pattern is None:
            unexpected.append(skip)
        else:
            counts[pattern] += 1
    for pattern, count in sorted(counts.items()):
        print(f"{count} skipped: {pattern}  [{reasons[pattern]}]")
    for skip in unexpected:
        print(f"SKIP NOT EXPECTED  {skip}")
    print(f"{len(unexpected)} skips that nobody expects")
    return int(bool(unexpected))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
