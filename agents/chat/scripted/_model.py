"""The chat model of a scripted policy: decides each turn purely from the conversation so far."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from sandmle.agents.chat.scripted._plan import PROFILE_MARK, Plan, make_plan, profile_script, read_profile, script

__all__ = ["ScriptedChat"]

_WRITTEN = re.compile(r"^submission\.csv: \d+ rows written$", re.MULTILINE)
_STOPPED = re.compile(r"^\[the step (?:failed|hit|printed too much|was stopped)", re.MULTILINE)
_SCORE = '{"name": "Score", "arguments": {}}'


class ScriptedChat(BaseChatModel):
    """Speaks the turn protocol of the ReAct scaffold; the same conversation always gets the same reply.

    Attributes:
        thought: what the policy says it does.
        ladder: script templates, each tried after the one before has failed.
        handed: code to run before the ladder, empty for a policy that knows only the conversation.
        seed: random state of the scripts.
    """

    thought: str
    ladder: tuple[str, ...]
    handed: str = ""
    seed: int = 0

    @property
    def _llm_type(self) -> str:
        return "sandmle-scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - the base class's
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self._next_turn(messages)))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - the base class's
    ) -> ChatResult:
        return self._generate(messages)

    def _next_turn(self, messages: list[BaseMessage]) -> str:
        said = [str(message.text) for message in messages if message.type == "ai"]
        heard = [str(message.text) for message in messages if message.type == "human"]
        description, last = heard[0], heard[-1] if said else ""
        profile = next((found for found in map(read_profile, heard) if found), None)
        if profile is None:
            return self._look(asked=sum(PROFILE_MARK in reply for reply in said))
        tries = sum("<code>" in reply and PROFILE_MARK not in reply for reply in said)
        if _SCORE in said[-1]:
            if "[submission: invalid" not in last:
                return _answer("The submission is in place.")
            return self._try(tries, make_plan(profile, description))
        if tries and self._worked(last, tries):
            return _call("The script wrote a submission; I check it.", _SCORE)
        return self._try(tries, make_plan(profile, description))

    def _look(self, asked: int) -> str:
        if asked >= 2:
            return _answer("The public folder can't be read, so there is nothing that I can do.")
        return _run("I look at the files first.", profile_script())

    def _worked(self, observation: str, tries: int) -> bool:
        """Whether the last script ran well; one that was handed prints what it likes."""
        says_so = bool(_WRITTEN.search(observation)) or (bool(self.handed) and tries == 1)
        return says_so and not _STOPPED.search(observation)

    def _try(self, tries: int, plan: Plan) -> str:
        """The script after ``tries`` others, or the answer if there is none left."""
        scripts = [*([self.handed] if self.handed else []), *self.ladder]
        if tries >= len(scripts):
            return _answer("None of my scripts works here.")
        seen = f"The target {plan.target!r} asks for a {plan.kind.replace('_', ' ')}, scored by {plan.metric or '?'}."
        thought = self.thought if not tries else "That did not work, so I try something simpler."
        code = scripts[tries] if self.handed and not tries else script(scripts[tries], plan, self.seed)
        return _run(f"{seen} {thought}", code)


def _run(thought: str, code: str) -> str:
    return _call(thought, f"python\n<code>\n{code.strip()}\n</code>")


def _call(thought: str, call: str) -> str:
    return f"<think>\n{thought}\n</think>\n<tool_call>\n{call}\n</tool_call>"


def _answer(thought: str) -> str:
    return f"<think>\n{thought}\n</think>\n<answer>submission</answer>"
