"""How a model call can fail; everything else that an endpoint does wrong is a plain ``InfraError``."""

from __future__ import annotations

from sandmle.errors import InfraError, SandmleError

__all__ = ["ContextOverflow", "ModelTimeout"]


class ModelTimeout(InfraError):
    """The endpoint did not answer in time."""


class ContextOverflow(SandmleError):
    """The endpoint says that the prompt is longer than the model's context."""
