"""``python -m sandmle.eval.reference [SEED ...]``: measure members of the suite ``bundled`` anew, for maintainers.

Writes ``measured.json`` beside this file after each; takes about a minute of CPU time a member.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
from pathlib import Path

from sandmle.eval.reference import MeasuredTasks, measure, published
from sandmle.eval.suites.bundled import MEMBERS
from sandmle.files import write_text
from sandmle.sandboxes import LocalBackend
from sandmle.seeds import get_seed, real_task

__all__: list[str] = []


async def measure_all(names: list[str]) -> None:
    """Measure the members called ``names``, one after the other."""
    backend = LocalBackend(allow_unisolated=True)
    try:
        for name in names:
            real = real_task(get_seed(name))
            with tempfile.TemporaryDirectory(prefix="sandmle-measure-") as scratch:
                found = await measure(backend, real, Path(scratch))
            own = re.compile(f"{name}-[0-9a-f]{{8}}")
            others = {key: known for key, known in published().tasks.items() if not own.fullmatch(key)}
            tasks = MeasuredTasks(tasks=dict(sorted({**others, real.manifest.id: found}.items())))
            write_text(Path(__file__).with_name("measured.json"), tasks.to_text())
            print(real.manifest.id, found.scores, found.thresholds().model_dump(), flush=True)
    finally:
        await backend.aclose()


if __name__ == "__main__":
    asyncio.run(measure_all(sys.argv[1:] or list(MEMBERS)))
