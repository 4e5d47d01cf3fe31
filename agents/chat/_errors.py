"""How a model call can fail; everything else that an endpoint does wrong is a plain ``InfraError``."""

from __future__ import annotations

from sandmle.errors import InfraError, SandmleError

__all__ = ["ContextOverflow", "ModelTimeout", "RateLimited"]


class ModelTimeout(InfraError):
    """The endpoint did not answer in time."""


class ContextOverflow(SandmleError):
    """The endpoint says that the prompt is longer than the model's context."""


class RateLimited(InfraError):
    """The endpoint asks us to slow down; ``wait_s`` is for how long, None where it does not say."""

    def __init__(self, message: str, wait_s: float | None = None) -> None:
        super().__init__(message)
        self.wait_s = wait_s
