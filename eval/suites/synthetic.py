"""``synthetic:DIR``: the task folders in DIR, or the one task that DIR is."""

from __future__ import annotations

from pathlib import Path

from sandmle.errors import BadInput
from sandmle.eval.suites._kind import SuiteKind
from sandmle.task import Task, load_tasks

__all__ = ["Synthetic"]


class Synthetic(SuiteKind):
    """Any folder of tasks, such as ``sandmle synthesize`` makes."""

    name = "synthetic"
    about = "task folders of your own, such as `sandmle synthesize` makes"
    place = "DIR"

    def load(self, place: str) -> tuple[Task, ...]:
        """The tasks in the folder ``place``.

        Raises:
            BadInput: it holds none, or names the home of a user that there is not.
        """
        try:
            folder = Path(place).expanduser()
        except RuntimeError as error:
            raise BadInput(f"{place}: there is no such user; write the folder in full") from error
        return tuple(load_tasks(folder))
