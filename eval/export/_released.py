"""The layout of the tasks that the SandMLE authors released, but with nothing hidden among the public files.

    OUT/ok_competitions_sanity.json           the ids, as their loader wants them
    OUT/SHA256SUMS                            of every file, as ``sha256sum -c`` reads them
    OUT/<id>/prepared/public/                 the public files as they are
    OUT/<id>/prepared/private/answers.csv     without canary
    OUT/<id>/evaluator/evaluator.py           as in the task; looks for the answers where they are

Theirs keep ``evaluator.py`` and ``answer.csv`` in ``prepared/public``, where an agent can read both. What calls the
evaluator must look for it in its new place; how it is called and what it prints are the same.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from sandmle.errors import BadInput
from sandmle.eval.export._data import write_data
from sandmle.files import (
    clear_leftovers,
    disk_errors,
    folder_lock,
    hash_tree,
    publish_folder,
    scratch_folder,
    write_text,
)
from sandmle.task import Task

__all__ = ["LISTED", "SUMS", "export_released"]

LISTED = "ok_competitions_sanity.json"
SUMS = "SHA256SUMS"
EVALUATOR = Path("evaluator") / "evaluator.py"


def export_released(tasks: Sequence[Task], out: Path) -> None:
    """Write every task in the released layout; those that are there already are replaced.

    Raises:
        BadInput: a task has no thresholds or evaluator; names it. Nothing is written then.
        EnvironmentProblem: ``out`` can't be written.
    """
    for task in tasks:
        if task.manifest.thresholds is None or not (task.provenance / "evaluator.py").exists():
            raise BadInput(f"{task.id} has no thresholds and no evaluator: only synthetic tasks can be exported")
    with disk_errors(out), folder_lock(out):
        clear_leftovers(out)
        for task in tasks:
            with scratch_folder(out) as scratch:
                folder = scratch / task.id
                write_data(task, folder / "prepared")
                (folder / EVALUATOR).parent.mkdir()
                shutil.copyfile(task.provenance / "evaluator.py", folder / EVALUATOR)
                publish_folder(folder, out / task.id)
        ids = sorted(path.parent.parent.name for path in out.glob("[!.]*/prepared/public"))
        write_text(out / LISTED, json.dumps(ids, indent=1) + "\n")
        hashes = {name: digest for name, digest in hash_tree(out).items() if name != SUMS and name[0] != "."}
        write_text(out / SUMS, "".join(f"{digest}  {name}\n" for name, digest in hashes.items()))
