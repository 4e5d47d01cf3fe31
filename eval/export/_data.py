"""A task's data as they leave: the public files as they are, and the answers without their canary."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path

from sandmle.canary import CANARY_COLUMN
from sandmle.files import write_text
from sandmle.task import Task

__all__ = ["write_data"]


def write_data(task: Task, prepared: Path) -> None:
    """Write ``prepared/public`` and ``prepared/private/answers.csv``."""
    shutil.copytree(task.public, prepared / "public")
    with task.answers.open(encoding="utf-8", newline="") as stream:
        rows = [{name: cell for name, cell in row.items() if name != CANARY_COLUMN} for row in csv.DictReader(stream)]
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(prepared / "private" / "answers.csv", text.getvalue())
