"""Where the code of a recipe's episodes runs: on the machine of rLLM's driver, or on those of its Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

from sandmle.errors import BadInput
from sandmle.rl.rllm.recipe import Sandboxes
from sandmle.rl.trainer.sandboxes import local_backend
from sandmle.sandboxes import SandboxBackend
from sandmle.settings import get_settings

__all__ = ["LOCAL", "opener", "refuse_missing_cores"]


def opener(asked: Sandboxes, *, allow_unisolated: bool = False) -> Callable[[], SandboxBackend]:
    """What opens the sandboxes, in whichever process plays; it can be pickled."""
    if asked.backend == "ray":
        return partial(_on_ray, asked.gpus_each, allow_unisolated)
    return partial(local_backend, allow_unisolated)


LOCAL = opener(Sandboxes())
"""Opens sandboxes on this machine."""


def refuse_missing_cores(asked: Sandboxes) -> None:
    """Refuse more sandboxes at once than this machine has cores for; a Ray cluster lets them wait for a place.

    Raises:
        BadInput: it has fewer than the recipe says.
    """
    there = len(os.sched_getaffinity(0))
    if asked.backend == "local" and asked.cpus > there:
        raise BadInput(
            f"sandboxes.cpus = {asked.cpus}: this machine has {there} cores; lower it and sandboxes.count, or take"
            ' sandboxes.backend = "ray"'
        )


def _on_ray(gpus: float, allow_unisolated: bool) -> SandboxBackend:
    from sandmle.sandboxes.ray import RayBackend

    found = get_settings()
    return RayBackend(gpus=gpus, allow_unisolated=allow_unisolated or found.allow_unisolated, python=found.python)
