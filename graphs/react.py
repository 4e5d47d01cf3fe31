"""The ReAct scaffold: one thought and one action a turn, in tags (``sandmle.graphs.parsing``), until the answer.

The conversation's loop is that of ``sandmle.graphs.conversation``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sandmle.agents.session import AgentSession, ToolResult
from sandmle.graphs.conversation import ConversationScaffold, Manner
from sandmle.graphs.episode import Live
from sandmle.graphs.parsing import FormatFault, parse_reply
from sandmle.graphs.scaffold import register
from sandmle.prompts import load_prompt
from sandmle.trajectory import Action, Message, Turn

__all__ = ["ReAct", "graph", "react"]


class ReAct(Manner):
    """System prompt and task, then replies and responses."""

    async def opening(self, bound: Live) -> tuple[Message, ...]:
        """The turn format and the limits; the task's brief."""
        session, limits = bound.session, bound.session.task.manifest.limits
        prompt = (await asyncio.to_thread(load_prompt, "react")).render(
            turns=bound.budget.turns,
            step_seconds=f"{session.step_seconds:g}",
            memory_mib=limits.memory_mib,
            protocol=session.protocol,
            score_calls=session.submissions.score_calls_left,
        )
        task = await asyncio.to_thread(lambda: session.description)
        return Message(role="system", content=prompt), Message(role="user", content=task)

    def parse(self, text: str) -> Action | FormatFault:
        """By the turn format."""
        return parse_reply(text)

    async def carry_out(self, session: AgentSession, turns: Sequence[Turn], action: Action) -> ToolResult:
        """Run the code, or ask for the score."""
        match action.kind:
            case "python":
                return await session.python(action.code)
            case "score":
                return await session.score()
            case _:
                return ToolResult("")


react = ConversationScaffold("react", ReAct())
graph = react.graph
register(react)
