"""What an error of the ``openai`` client means for us."""

from __future__ import annotations

import re

import openai

from sandmle.agents.chat._errors import ContextOverflow, ModelTimeout, RateLimited
from sandmle.agents.chat._pace import MAX_PAUSE_S, asked_to_wait
from sandmle.errors import EnvironmentProblem, InfraError

__all__ = ["brief", "explain"]

_OVERFLOW = re.compile(r"context.?(?:length|window)|maximum.{0,20}(?:context|tokens)|prompt is too long", re.IGNORECASE)


def explain(error: openai.OpenAIError, where: str, seconds: float) -> Exception:
    """The error as one of ours.

    Args:
        error: after the client's own retries.
        where: the endpoint and the model.
        seconds: limit of one request.
    """
    if isinstance(error, openai.APITimeoutError):
        return ModelTimeout(f"{where}: no answer within {seconds:g} s")
    if isinstance(error, openai.RateLimitError) and error.code == "insufficient_quota":
        return EnvironmentProblem(f"{where}: the account has no money left ({brief(error)})")
    if isinstance(error, openai.RateLimitError):
        return _busy(error, where)
    if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
        return EnvironmentProblem(f"{where}: the key was refused; check OPENAI_API_KEY ({brief(error)})")
    if isinstance(error, openai.NotFoundError):
        return EnvironmentProblem(f"{where}: no such model or address ({brief(error)})")
    if isinstance(error, openai.BadRequestError) and _OVERFLOW.search(str(error)):
        return ContextOverflow(f"{where}: the prompt is longer than the model's context")
    return InfraError(f"{where}: {brief(error)}")


def _busy(error: openai.RateLimitError, where: str) -> Exception:
    wait_s = asked_to_wait(error.response.headers)
    if wait_s is not None and wait_s > MAX_PAUSE_S:
        return EnvironmentProblem(f"{where}: asks to wait {wait_s:.0f} s; run the same command again after that")
    return RateLimited(f"{where}: {brief(error)}", wait_s)


def brief(error: Exception) -> str:
    """An error in one line of at most 200 characters."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
