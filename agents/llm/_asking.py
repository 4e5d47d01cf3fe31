"""Asking a role: a conversation that ends with a reply one can use, or with the role's failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from sandmle.agents.chat import ContextOverflow
from sandmle.agents.llm._cache import Reply, Sample
from sandmle.agents.llm._calls import ModelCalls
from sandmle.agents.llm._reading import Unusable
from sandmle.agents.llm._settings import ModelSettings
from sandmle.agents.roles import Role, RoleFailure
from sandmle.prompts import load_prompt

__all__ = ["RolePlayer", "written"]

T = TypeVar("T")
MAX_ECHO = 20_000
"""Characters of an unusable reply that stay in the conversation."""


async def written(prompt: str, **inputs: Any) -> str:  # noqa: ANN401 - any value a template can print
    """A prompt's text; it is read from disk in a thread, for the sake of a server's event loop."""
    return await asyncio.to_thread(lambda: load_prompt(prompt).render(**inputs))


@dataclass(frozen=True)
class RolePlayer:
    """One model in one role.

    Attributes:
        repairs: how often an unusable reply is asked for again.
        seed: of the batch.
    """

    role: Role
    model: ModelSettings
    calls: ModelCalls
    repairs: int
    seed: int

    async def ask(self, task: str, read: Callable[[str], T], *, candidate: int, attempt: int) -> T:
        """Give the role its contract and a task, and return what ``read`` makes of the first usable reply.

        Raises:
            RoleFailure: no reply could be used; says why the last one could not.
        """
        messages: list[BaseMessage] = [SystemMessage(await written(self.role)), HumanMessage(task)]
        problem = ""
        for repair in range(self.repairs + 1):
            sample = Sample(role=self.role, seed=self.seed, candidate=candidate, attempt=attempt, repair=repair)
            try:
                reply = await self.calls.call(self.model, messages, sample)
                return read(_usable(reply))
            except ContextOverflow as error:
                raise RoleFailure(f"the {self.role}'s prompt is longer than the model's context") from error
            except Unusable as fault:
                problem = str(fault)
            said = reply.text or reply.refusal
            messages += [AIMessage(said[:MAX_ECHO]), HumanMessage(await written("repair", problem=problem))]
        raise RoleFailure(f"the {self.role} gave no usable reply in {self.repairs + 1} tries: {_one_line(problem)}")


def _usable(reply: Reply) -> str:
    if reply.refusal:
        raise Unusable(f"you refused: {reply.refusal[:200]}")
    if reply.finish_reason == "length":
        raise Unusable("the reply was cut at the limit of its length; write a shorter one")
    if not reply.text.strip():
        raise Unusable("the reply was empty")
    return reply.text


def _one_line(problem: str) -> str:
    return " ".join(problem.split())[:300]
