"""OpenAI-compatible endpoints: OpenAI, vLLM, SGLang and others.

``EndpointChat`` is LangChain's ``ChatOpenAI`` with three additions:

- it keeps what ChatOpenAI drops and vLLM sends: ``reasoning`` (``reasoning_content`` in older versions), and the token
  ids and log-probabilities that training needs, as ``additional_kwargs["reasoning"]`` and ``["token_fields"]``;
- failures come in three kinds: ``ModelTimeout`` and other ``InfraError`` (after the client's own retries with
  exponential backoff on 408, 409, 429, 5xx and lost connections), ``ContextOverflow``, and ``EnvironmentProblem``
  where the user must act (refused key, unknown model);
- its HTTP client is its own, so models can be used on several event loops, one after the other, and every request of it
  keeps the pace of the endpoint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import openai
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from sandmle.agents.chat._faults import brief, explain
from sandmle.agents.chat._pace import Pace
from sandmle.errors import EnvironmentProblem, InfraError
from sandmle.settings import get_settings

__all__ = ["MAX_RETRIES", "EndpointChat", "endpoint_model"]

MAX_RETRIES = 6
"""Retries of one call; with exponential backoff from 0.5 s to 8 s they bridge about half a minute."""

REQUEST_SECONDS = 600.0
"""Limit of one request; the scaffold's own limit on the whole call is usually the shorter one."""


class EndpointChat(ChatOpenAI):
    """A chat model behind an OpenAI-compatible endpoint."""

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401 - the base class's
    ) -> ChatResult:
        try:
            return await super()._agenerate(messages, stop=stop, run_manager=run_manager, **kwargs)
        except openai.OpenAIError as error:
            raise explain(error, self._where, cast("float", self.request_timeout)) from error
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise InfraError(f"{self._where}: the answer is not a chat completion ({brief(error)})") from error

    def _create_chat_result(
        self, response: dict[str, Any] | openai.BaseModel, generation_info: dict[str, Any] | None = None
    ) -> ChatResult:
        result = super()._create_chat_result(response, generation_info)
        raw = response if isinstance(response, dict) else response.model_dump(warnings=False)
        if not result.generations:
            raise ValueError("no choices")
        for generation, choice in zip(result.generations, raw["choices"], strict=True):
            extras = generation.message.additional_kwargs
            reasoning = choice["message"].get("reasoning") or choice["message"].get("reasoning_content")
            if reasoning:
                extras["reasoning"] = reasoning
            fields = _token_fields(raw, choice)
            if fields:
                extras["token_fields"] = fields
        return result

    @property
    def _where(self) -> str:
        return f"endpoint {self.openai_api_base or 'api.openai.com'}, model {self.model_name}"


def endpoint_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    temperature: float | None = None,
    max_retries: int = MAX_RETRIES,
    timeout: float | None = None,
    max_tokens: int | None = None,
    pace: Pace | None = None,
    extra_body: Mapping[str, Any] | None = None,
) -> EndpointChat:
    """The chat model ``name`` behind an endpoint.

    Args:
        name: as the endpoint knows the model.
        base_url: see ``make_policy``, as for ``api_key`` and ``temperature``.
        api_key: the endpoint's key.
        temperature: None for the endpoint's own default.
        max_retries: of the client, for one call.
        timeout: seconds of one request; None for ``REQUEST_SECONDS``.
        max_tokens: of one reply; None for the endpoint's own limit.
        pace: see ``make_policy``.
        extra_body: further fields of each request.

    Raises:
        EnvironmentProblem: neither a key nor an address is known.
    """
    settings = get_settings()
    address = base_url or settings.base_url
    key = api_key or (settings.api_key.get_secret_value() if settings.api_key else None)
    if key is None and address is None:
        raise EnvironmentProblem(
            f"openai:{name} needs an endpoint: set OPENAI_API_KEY, or give the address of your own with --base-url"
        )
    return EndpointChat(
        model=name,
        base_url=address,
        api_key=SecretStr(key or "EMPTY"),
        temperature=temperature,
        max_retries=max_retries,
        timeout=timeout or REQUEST_SECONDS,
        max_completion_tokens=max_tokens,
        extra_body=dict(extra_body or {}) or None,
        http_async_client=openai.DefaultAsyncHttpxClient(event_hooks=(pace or Pace()).hooks),
        use_responses_api=False,
    )


def _token_fields(raw: dict[str, Any], choice: dict[str, Any]) -> dict[str, Any] | None:
    """Prompt ids, sampled ids and their log-probabilities, where the endpoint sent all three."""
    prompt, sampled = raw.get("prompt_token_ids") or choice.get("prompt_token_ids"), choice.get("token_ids")
    content = (choice.get("logprobs") or {}).get("content")
    if not (prompt and sampled and content) or len(sampled) != len(content):
        return None
    return {"prompt_ids": prompt, "completion_ids": sampled, "logprobs": [each["logprob"] for each in content]}
