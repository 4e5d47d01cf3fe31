"""``RepliesChat``: a chat model whose reply is a text that follows from the conversation."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

__all__ = ["RepliesChat"]


class RepliesChat(BaseChatModel):
    """The frame of scripted policies: a subclass says what it replies."""

    @abstractmethod
    def _reply(self, messages: list[BaseMessage]) -> str: ...

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - the base class's
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self._reply(messages)))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - the base class's
    ) -> ChatResult:
        return self._generate(messages)
