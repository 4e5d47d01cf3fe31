"""Addresses to listen at."""

from __future__ import annotations

import socket

from sandmle.errors import EnvironmentProblem

__all__ = ["bound", "free_port"]


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there.

    Raises:
        EnvironmentProblem: the address can't be had.
    """
    try:
        return socket.create_server((host, port))
    except OSError as error:
        raise EnvironmentProblem(f"{host}:{port}: {error.strerror}; choose another --port") from error


def free_port() -> int:
    """A port of the loopback device that nobody has at present."""
    with bound("127.0.0.1", 0) as probe:
        return int(probe.getsockname()[1])
