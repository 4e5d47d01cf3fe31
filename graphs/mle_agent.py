"""The MLE-Agent scaffold: MLE-Dojo's action loop, one JSON object a reply.

One prompt holds rules, brief and files. A reply that is no action gets a correction; up to three repairs in a row are
asked for, and none of them stays in the conversation once an action came. There is no action that ends an episode: it
lasts as long as its budget. Actions and the repair loop are those of MLE-Dojo's own agent; the words are ours.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from sandmle.agents.observation import escape_control, plain_text
from sandmle.agents.session import AgentSession, ToolResult
from sandmle.graphs.conversation import ConversationScaffold, Manner
from sandmle.graphs.episode import Live
from sandmle.graphs.parsing import FormatFault, after_thinking
from sandmle.graphs.scaffold import register
from sandmle.prompts import load_prompt
from sandmle.trajectory import Action, Message, Turn

__all__ = ["MleAgent", "graph", "mle_agent", "parse_action"]

KINDS = {
    "request_info": "info",
    "validate_code": "validate",
    "execute_code": "python",
    "get_history": "history",
    "reset": "reset",
}
TOPICS = ("overview", "sample_submission", "data_structure", "data_path", "output_path")
FORM = 'Reply with one JSON object {"action": NAME, "params": {...}} and nothing else.'
MAX_LISTED = 60
SAMPLE_LINES = 5
HISTORY_CHARS = 300
"""Characters of a past observation that ``get_history`` repeats."""
_FENCE = re.compile(r"\A```\w*\n(.*)\n```\Z", re.DOTALL)


def parse_action(text: str) -> Action | FormatFault:
    """The action in a reply; a thinking block before it and a Markdown fence around it are taken off. Never raises."""
    body = after_thinking(text).strip()
    fenced = _FENCE.match(body)
    try:
        found = json.loads(fenced.group(1) if fenced else body)
    except (ValueError, RecursionError) as error:
        return FormatFault(f"The reply is no JSON object ({str(error)[:100]}). {FORM}")
    if not isinstance(found, dict) or set(found) - {"action", "params"}:
        return FormatFault(f"The object has other keys than action and params. {FORM}")
    name, params = found.get("action"), found.get("params", {})
    if not isinstance(name, str) or name not in KINDS:
        return FormatFault(f"There is no action {str(name)[:40]!r}; it is one of {', '.join(KINDS)}. {FORM}")
    if not isinstance(params, dict):
        return FormatFault(f"The params of {name} are no object. {FORM}")
    return _with_params(name, params)


def _with_params(name: str, params: dict[str, Any]) -> Action | FormatFault:
    """An action of a known name, if its parameters are right."""
    wanted = {"request_info": {"info_type"}, "validate_code": {"code"}, "execute_code": {"code"}}.get(name, set())
    if set(params) != wanted:
        return FormatFault(f"The params of {name} are {', '.join(sorted(wanted)) or 'empty'}. {FORM}")
    if name == "request_info":
        topic = params["info_type"]
        if topic not in TOPICS:
            return FormatFault(f"There is no info_type {str(topic)[:40]!r}; it is one of {', '.join(TOPICS)}. {FORM}")
        return Action(kind="info", topic=topic)
    if not wanted:
        return Action(kind="history" if name == "get_history" else "reset")
    code = params["code"]
    if not isinstance(code, str) or not code.strip():
        return FormatFault(f"The code of {name} is no text, or empty. {FORM}")
    if "\0" in code or any("\ud800" <= letter <= "\udfff" for letter in code):
        return FormatFault("The code holds characters that a Python file can't.")
    return Action(kind="python" if name == "execute_code" else "validate", code=code.rstrip() + "\n")


class MleAgent(Manner):
    """One prompt, then actions and feedback."""

    faults_in_a_row: ClassVar[int] = 4
    forgets_faults: ClassVar[bool] = True

    @staticmethod
    def respond(observation: str) -> Message:
        """Feedback is a plain user message."""
        return Message(role="user", content=f"Feedback:\n{observation}")

    async def opening(self, bound: Live) -> tuple[Message, ...]:
        """Rules, brief and files."""
        session = bound.session
        text = (await asyncio.to_thread(load_prompt, "mle_agent")).render(
            turns=bound.budget.turns,
            step_seconds=f"{session.step_seconds:g}",
            memory_mib=session.task.manifest.limits.memory_mib,
            protocol=session.protocol,
            score_calls=session.submissions.score_calls_left,
            description=await asyncio.to_thread(lambda: session.description),
            listing=await asyncio.to_thread(list_files, session.task.public),
        )
        return (Message(role="user", content=text),)

    def parse(self, text: str) -> Action | FormatFault:
        """As JSON."""
        return parse_action(text)

    async def carry_out(self, session: AgentSession, turns: Sequence[Turn], action: Action) -> ToolResult:
        """Run code, or tell."""
        match action.kind:
            case "python":
                return await session.python(action.code, tell=True)
            case "validate":
                return await session.python(action.code, submit=False)
            case "info":
                return ToolResult(await asyncio.to_thread(_info, session, action.topic))
            case "history":
                return ToolResult(_history(turns))
            case "reset":
                emptied = await session.clean_workspace()
                folder = "the working folder is empty" if emptied else "some files could not be removed"
                return ToolResult(f"[reset: the history is forgotten; {folder}]")
            case _:
                return ToolResult("")

    def ends_with(self, action: Action) -> bool:
        """No action ends an episode."""
        return False


def list_files(public: Path) -> str:
    """The public files with their sizes in bytes; a folder as a whole."""
    lines = []
    for path in sorted(public.iterdir()):
        if path.is_dir():
            lines.append(f"input/{path.name}/ ({sum(each.is_file() for each in path.rglob('*'))} files)")
        else:
            lines.append(f"input/{path.name} ({path.stat().st_size} bytes)")
    more = [f"... and {len(lines) - MAX_LISTED} more"] if len(lines) > MAX_LISTED else []
    return escape_control(plain_text("\n".join(lines[:MAX_LISTED] + more)))


def _info(session: AgentSession, topic: str) -> str:
    match topic:
        case "overview":
            return session.description
        case "sample_submission":
            path = session.task.public / "sample_submission.csv"
            if not path.exists():
                return "[there is no sample_submission.csv]"
            with path.open(encoding="utf-8", errors="replace") as stream:
                head = [line[:1_000] for line, _ in zip(stream, range(SAMPLE_LINES), strict=False)]
            return escape_control(plain_text("".join(head)))
        case "data_structure":
            return list_files(session.task.public)
        case "data_path":
            return "/workspace/input"
        case _:
            return "/workspace/submission.csv"


def _history(turns: Sequence[Turn]) -> str:
    """The actions since the last reset, each with the beginning of its feedback."""
    names = {kind: name for name, kind in KINDS.items()}
    done = [turn for turn in turns if turn.action is not None]
    resets = [place for place, turn in enumerate(done) if turn.action is not None and turn.action.kind == "reset"]
    lines = [
        f"{names[turn.action.kind]}: {turn.observation[:HISTORY_CHARS]}"
        for turn in done[(resets[-1] + 1 if resets else 0) :]
        if turn.action is not None
    ]
    return "\n".join(lines) or "[nothing was done yet]"


mle_agent = ConversationScaffold("mle-agent", MleAgent())
graph = mle_agent.graph
register(mle_agent)
