"""Where the code of a policy in training runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sandmle.errors import EnvironmentProblem
from sandmle.sandboxes import LocalBackend, SandboxBackend
from sandmle.settings import get_settings

__all__ = ["borrowed", "local_backend"]


@asynccontextmanager
async def borrowed(backend: SandboxBackend | None, allow_unisolated: bool) -> AsyncIterator[SandboxBackend]:
    """The caller's sandboxes, or our own, which are then closed."""
    if backend is not None:
        yield backend
        return
    own = local_backend(allow_unisolated)
    try:
        yield own
    finally:
        await own.aclose()


def local_backend(allow_unisolated: bool) -> LocalBackend:
    """Sandboxes here for code that a policy wrote.

    Raises:
        EnvironmentProblem: this machine offers no isolation, and that was not allowed.
    """
    allowed = allow_unisolated or get_settings().allow_unisolated
    backend = LocalBackend(allow_unisolated=allowed, python=get_settings().python)
    if backend.capabilities.tier == "D" and not allowed:
        raise EnvironmentProblem(
            f"this machine can't isolate the policy's code ({backend.capabilities.detail}); use another machine, or"
            " accept the risk with --allow-unisolated"
        )
    return backend
