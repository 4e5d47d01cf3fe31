"""``TokenEndpoint``: an engine behind ``/v1/completions``, as vLLM and ``sandmle serve`` offer it.

Prompts go out as lists of ids and replies come back as ids with their log-probabilities, so no text is ever encoded
again. Whatever would bend the distribution away from the one whose log-probabilities are reported is switched off by
name, since vLLM takes it from the model's folder by default: top-k, top-p, min-p and the repetition penalty.

rLLM's model gateway hands on only what OpenAI's protocol knows, which leaves ids out; so each token is asked for by its
id too, as ``token_id:N``, and read from there where ids are missing.
"""

from __future__ import annotations

import hashlib
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import openai

from sandmle.agents.chat._faults import brief, explain
from sandmle.agents.chat._pace import Pace
from sandmle.agents.chat.openai import MAX_RETRIES, REQUEST_SECONDS
from sandmle.agents.chat.tokens._engine import Sample, SamplingSettings
from sandmle.errors import InfraError
from sandmle.settings import get_settings

__all__ = ["TokenEndpoint"]

_PLAIN = {
    "top_k": -1,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "return_token_ids": True,
    "return_tokens_as_token_ids": True,
}
"""Fields that the protocol of OpenAI does not have."""

_NAMED = "token_id:"


class TokenEndpoint:
    """Samples from a model behind an endpoint; one event loop uses it at a time.

    Attributes:
        weight_version: of the weights there, for endpoints that don't say it themselves, as vLLM does not; whoever
            renews the weights sets it.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        seed: int = 0,
        api_key: str | None = None,
        max_retries: int = MAX_RETRIES,
        timeout: float = REQUEST_SECONDS,
        pace: Pace | None = None,
    ) -> None:
        """An engine whose connections are opened when they are needed.

        Args:
            model: as the endpoint knows it.
            base_url: address that ends in ``/v1``.
            seed: with the key of a call it fixes every draw, where the endpoint keeps to seeds.
            api_key: None for the one in the settings, if there is one.
            max_retries: of the client, for one call.
            timeout: seconds of one request.
            pace: how fast the endpoint is asked.
        """
        known = get_settings().api_key
        self.weight_version: int | None = None
        self._model, self._seed, self._timeout = model, seed, timeout
        self._where = f"endpoint {base_url}, model {model}"
        self._client = openai.AsyncOpenAI(
            base_url=base_url,
            api_key=api_key or (known.get_secret_value() if known else "EMPTY"),
            max_retries=max_retries,
            timeout=timeout,
            http_client=openai.DefaultAsyncHttpxClient(event_hooks=(pace or Pace()).hooks),
        )

    def player(self) -> AbstractContextManager[None]:
        """See ``sandmle.agents.chat.tokens.Engine``; the endpoint fills its batches itself."""
        return nullcontext()

    async def sample(self, prompt: tuple[int, ...], settings: SamplingSettings, stop: int, *, key: str) -> Sample:
        """See ``sandmle.agents.chat.tokens.Engine``.

        Raises:
            ContextOverflow: the prompt is longer than the model's context.
            ModelTimeout: no answer in time.
            InfraError: the endpoint failed, or its answer lacks ids or log-probabilities.
            EnvironmentProblem: the user must act: a refused key, an unknown model.
        """
        digest = hashlib.sha256(f"{self._seed} {key}".encode()).digest()
        version = self.weight_version
        try:
            answer = await self._client.completions.create(
                model=self._model,
                prompt=list(prompt),
                max_tokens=settings.max_new_tokens,
                temperature=settings.temperature,
                top_p=1.0,
                logprobs=1,
                seed=int.from_bytes(digest[:4], "big"),
                extra_body={**_PLAIN, "stop_token_ids": [stop]},
            )
            return _read(answer.model_dump(warnings=False), prompt, version)
        except openai.OpenAIError as error:
            raise explain(error, self._where, self._timeout) from error
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise InfraError(
                f"{self._where}: the answer holds no token ids with log-probabilities, as vLLM and `sandmle serve` send"
                f" them for return_token_ids and logprobs ({brief(error)})"
            ) from error

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()


def _read(raw: dict[str, Any], prompt: tuple[int, ...], version: int | None) -> Sample:
    """The sample in an answer.

    Raises:
        ValueError, TypeError, KeyError, IndexError: it is not there whole, or is about another prompt.
    """
    choice = raw["choices"][0]
    seen = choice.get("prompt_token_ids") or raw.get("prompt_token_ids")
    if seen is not None and tuple(seen) != prompt:
        raise ValueError("the endpoint was sent one prompt and answers another")
    ids = tuple(int(each) for each in choice.get("token_ids") or _named_ids(choice["logprobs"]["tokens"]))
    logprobs = tuple(float(each) for each in choice["logprobs"]["token_logprobs"])
    if not ids or len(ids) != len(logprobs):
        raise ValueError(f"{len(ids)} ids with {len(logprobs)} log-probabilities")
    return Sample(ids, logprobs, raw.get("weight_version", version))


def _named_ids(tokens: list[str]) -> list[str]:
    if not all(token.startswith(_NAMED) for token in tokens):
        raise ValueError("tokens come as text, not by their ids")
    return [token.removeprefix(_NAMED) for token in tokens]
