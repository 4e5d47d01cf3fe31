"""The Technical Writer as a model: the brief, written without knowing the rule."""

from __future__ import annotations

import asyncio
from pathlib import Path

from sandmle.agents.llm._asking import RolePlayer, written
from sandmle.agents.llm._plan_words import told_to_all
from sandmle.agents.llm._reading import read_files
from sandmle.agents.roles import Feedback, TaskPlan
from sandmle.files import write_text

__all__ = ["LlmWriter"]

NAME = "description.md"
HEAD_LINES = 4
MAX_LINE = 300
MANY = 20


class LlmWriter:
    """Asks for ``description.md``; it sees the public files, never the rule."""

    def __init__(self, player: RolePlayer) -> None:
        self._player = player

    async def write_brief(self, plan: TaskPlan, workdir: Path, feedback: Feedback | None) -> None:
        """Write ``prepared/public/description.md``, or mend it."""
        public = workdir / "prepared" / "public"
        path = public / NAME
        brief = await asyncio.to_thread(path.read_text, "utf-8") if feedback and path.exists() else ""
        told = told_to_all(plan)
        told.pop("presentation")  # how factors show is the rule's secret
        task = await written(
            "writer_task",
            **told,
            files=await asyncio.to_thread(_listing, public),
            shift=", ".join(plan.declared_shift),
            brief=brief,
            problem=feedback.problem if feedback else "",
        )
        found = await self._player.ask(
            task,
            lambda text: read_files(text, (NAME,)),
            candidate=plan.candidate,
            attempt=feedback.attempt if feedback else 0,
        )
        await asyncio.to_thread(write_text, path, found[NAME])


def _listing(public: Path) -> str:
    """The public files: tables with their first lines, folders with how many files they hold."""
    lines = []
    for path in sorted(public.iterdir()):
        if path.is_dir():
            lines.append(f"- `{path.name}/`: {sum(each.is_file() for each in path.rglob('*'))} files")
        elif path.name != NAME:
            head = path.read_text("utf-8", errors="replace").splitlines()[:HEAD_LINES]
            lines.append(f"- `{path.name}`, begins with\n" + "\n".join(f"      {line[:MAX_LINE]}" for line in head))
    return "\n".join(lines)
