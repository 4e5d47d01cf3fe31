"""Calls of actors: how they are awaited and cancelled, and what it means when they fail.

What a sandbox itself raises far away (a missing file, a full workspace, a bad argument) is raised here as it is. All
that goes wrong with Ray is an ``InfraError``: never the fault of the code inside.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from sandmle.errors import InfraError
from sandmle.sandboxes._finish import finish

if TYPE_CHECKING:
    from ray import ObjectRef

__all__ = ["LostPlace", "answer", "translate"]


class LostPlace(InfraError):
    """The actor is gone: killed, or with its machine."""


async def answer(call: ObjectRef[Any]) -> Any:  # noqa: ANN401 - whatever the method returns
    """What the called method returns. Cancelled, it cancels the call, and waits until that has ended.

    Raises:
        LostPlace: the actor is gone.
        InfraError: Ray failed otherwise.
    """
    import ray

    future = asyncio.wrap_future(call.future())
    try:
        await asyncio.wait({future})
    except asyncio.CancelledError:
        ray.cancel(call)
        await finish(_settle(future))
        raise
    error = future.exception()
    if error is not None:
        raise translate(error) from None
    return future.result()


def translate(error: BaseException) -> BaseException:
    """The error of ours, or of the method itself, for one that Ray raised."""
    from ray import exceptions

    if isinstance(error, exceptions.RayTaskError):
        return error.cause if isinstance(error.cause, Exception) else InfraError(f"Ray: {_in_a_line(error)}")
    if isinstance(error, exceptions.RayActorError):
        return LostPlace(f"Ray lost a sandbox: {_in_a_line(error)}")
    if isinstance(error, exceptions.RayError):
        return InfraError(f"Ray: {_in_a_line(error)}")
    return error


def _in_a_line(error: BaseException) -> str:
    """Its text without the indented lines, which give ids and addresses."""
    lines = [line.strip() for line in str(error).splitlines() if not line.startswith(("\t", " "))]
    return " ".join(filter(None, lines))[-400:]


async def _settle(future: asyncio.Future[Any]) -> None:
    await asyncio.wait({future})
    future.exception()  # which counts as seen
