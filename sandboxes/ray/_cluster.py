"""What of Ray itself a backend uses: the connection, what the nodes hold, and actors that are places."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import socket
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from sandmle.errors import EnvironmentProblem
from sandmle.sandboxes.ray._calls import translate
from sandmle.sandboxes.ray._place import Arrival, Place
from sandmle.sandboxes.ray._watcher import watch

__all__ = ["connect", "dismiss", "hire", "require_ray", "reservable", "room"]

_KNOCK_S = 10.0
_connecting = threading.Lock()


def require_ray() -> None:
    """Refuse where the extra is missing.

    Raises:
        EnvironmentProblem: it is not installed.
    """
    if importlib.util.find_spec("ray") is None:
        raise EnvironmentProblem("Ray is not installed: pip install 'sandmle[ray]'")


def connect() -> None:
    """Join the cluster, unless this process has already.

    Raises:
        EnvironmentProblem: it can't be reached.
    """
    import ray

    with _connecting:
        if ray.is_initialized():
            return
        try:
            _knock(os.environ.get("RAY_ADDRESS", ""))
            ray.init(address="auto", log_to_driver=False, logging_level=logging.ERROR)
        except (OSError, RuntimeError, ValueError) as error:
            reason = str(error).partition("\n")[0].partition(". ")[0]
            raise EnvironmentProblem(
                f"no Ray cluster can be reached ({reason}): run `ray start --head`, or name one in RAY_ADDRESS"
            ) from error
        watch()
        # Ray prints the last 20 lines of the log of a node that is lost; it is our errors that tell of it.
        ray._private.worker._worker_logs_enabled = False


def room(gpus: float) -> int:
    """How many places of one core, with ``gpus`` each, the cluster has for us and others together."""
    needed = {"CPU": 1, "GPU": gpus} if gpus else {"CPU": 1}
    return sum(int(min(node.get(what, 0) / share for what, share in needed.items())) for node in _nodes())


def reservable(cpus: int, gpus: float) -> int:
    """How many of ``cpus`` cores a sandbox can reserve, beside its GPU: all of them, or those of the largest node.

    Raises:
        EnvironmentProblem: no node has a core and the GPU, whether or not they are in use.
    """
    nodes = _nodes()
    largest = max((int(node.get("CPU", 0)) for node in nodes if node.get("GPU", 0) >= gpus), default=0)
    if largest == 0:
        asked = "1 CPU" + (f" and {gpus:g} GPU" if gpus else "")
        there = "; ".join(f"{node.get('CPU', 0):g} CPU, {node.get('GPU', 0):g} GPU" for node in nodes)
        raise EnvironmentProblem(f"no node of the Ray cluster has the {asked} that a sandbox needs (nodes: {there})")
    return min(cpus, largest)


def hire(cpus: int, gpus: float, python: Path | None, allow_unisolated: bool) -> tuple[Any, Future[Arrival]]:
    """Start an actor that reserves so much.

    Returns:
        its handle, and what it tells when it is ready: as soon as the cluster has that free.
    """
    import ray

    kind = ray.remote(Place).options(num_cpus=cpus, num_gpus=gpus, max_concurrency=1000, scheduling_strategy="SPREAD")
    actor = kind.remote(cpus, python, allow_unisolated)
    arrival: Future[Arrival] = Future()

    def pass_on(done: Future[Arrival]) -> None:
        error = done.exception()
        if error is None:
            arrival.set_result(done.result())
        else:
            arrival.set_exception(translate(error))

    actor.arrive.remote().future().add_done_callback(pass_on)
    return actor, arrival


def dismiss(actor: Any) -> None:  # noqa: ANN401 - an actor's handle
    """End an actor, whether or not it has begun; soon, for Ray would hang if its own thread, which may call, waited."""
    import ray

    def kill() -> None:
        with contextlib.suppress(Exception):  # a cluster that is gone has ended it
            ray.kill(actor)

    threading.Thread(target=kill, name="sandmle-dismissal", daemon=True).start()


def _knock(address: str) -> None:
    """Try whether anybody listens there, if it is a host and port: Ray itself would try for ten minutes.

    Raises:
        OSError: nobody does.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_KNOCK_S).close()


def _nodes() -> list[dict[str, float]]:
    """What each living node has."""
    import ray

    return [node["Resources"] for node in ray.nodes() if node["Alive"]]
