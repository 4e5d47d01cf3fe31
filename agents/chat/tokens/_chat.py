"""``TokenChat``: a chat model over an engine, one for each episode."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from sandmle.agents.chat._errors import ContextOverflow
from sandmle.agents.chat.tokens._engine import Engine, Sample, SamplingSettings
from sandmle.agents.chat.tokens._renderer import Renderer
from sandmle.trajectory import Message

__all__ = ["TokenChat"]

_ROLES = {"system": "system", "human": "user", "ai": "assistant"}


class TokenChat(BaseChatModel):
    """The policy of one episode. It remembers the ids of its own replies and repeats them in later prompts.

    A reply carries ``additional_kwargs["token_fields"]`` and ``["weight_version"]``.

    Attributes:
        engine: samples.
        renderer: writes the prompts.
        sampling: how a reply is sampled.
        key: names the episode; with the engine's seed it fixes every draw.
    """

    engine: Any
    renderer: Any
    sampling: SamplingSettings = SamplingSettings()
    key: str = ""
    _sampled: dict[str, list[tuple[int, ...]]] = PrivateAttr(default_factory=dict)
    _calls: int = PrivateAttr(default=0)

    def fresh(self) -> TokenChat:
        """The policy before its episode: it remembers no reply, and its draws are those of this one's episode."""
        return TokenChat(engine=self.engine, renderer=self.renderer, sampling=self.sampling, key=self.key)

    @property
    def _llm_type(self) -> str:
        return "sandmle-tokens"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - the base class's
    ) -> ChatResult:
        raise NotImplementedError("a TokenChat is asked with ainvoke")

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - the base class's
    ) -> ChatResult:
        prompt, room = self.prompt_ids(messages), self.sampling.max_tokens
        if len(prompt) >= room:
            raise ContextOverflow(f"a prompt of {len(prompt)} tokens leaves no room in a context of {room}")
        settings = self.sampling.model_copy(
            update={"max_new_tokens": min(self.sampling.max_new_tokens, room - len(prompt))}
        )
        engine: Engine = self.engine
        self._calls += 1
        sample = await engine.sample(prompt, settings, self._renderer.stop, key=f"{self.key}/{self._calls}")
        text = self._renderer.text(sample.ids)
        self._sampled.setdefault(text, []).append(sample.ids)
        return ChatResult(generations=[ChatGeneration(message=_reply(text, prompt, sample))])

    @property
    def _renderer(self) -> Renderer:
        renderer: Renderer = self.renderer
        return renderer

    def prompt_ids(self, messages: list[BaseMessage]) -> tuple[int, ...]:
        """The prompt: replies of this episode as they were sampled, all else as the renderer writes it."""
        ids: list[int] = []
        seen: dict[str, int] = defaultdict(int)
        for message in messages:
            role, text = _ROLES[message.type], str(message.text)
            sampled = self._sampled.get(text) if role == "assistant" else None
            if sampled:
                again = sampled[min(seen[text], len(sampled) - 1)]
                ids += (*self._renderer.prompt_end(), *self._renderer.reply(again))
                seen[text] += 1
            else:
                ids += self._renderer.message(Message.model_validate({"role": role, "content": text}))
        return (*ids, *self._renderer.prompt_end())


def _reply(text: str, prompt: tuple[int, ...], sample: Sample) -> AIMessage:
    fields = {"prompt_ids": prompt, "completion_ids": sample.ids, "logprobs": sample.logprobs}
    return AIMessage(
        content=text,
        additional_kwargs={"token_fields": fields, "weight_version": sample.weight_version},
        usage_metadata={
            "input_tokens": len(prompt),
            "output_tokens": len(sample.ids),
            "total_tokens": len(prompt) + len(sample.ids),
        },
    )
