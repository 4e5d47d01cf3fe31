# ruff: noqa: PTH103, PTH107, PTH110, PTH123, PTH208, TID251, TID252
"""Does one request, exactly once under its number, and prints the answer as JSON.

    request NUMBER -        the request lies in the uploads
    request NUMBER BASE64   the request itself

A request's lock file holds the process that does it, which keeps it locked to its end, and its answer lies beside it.
So a second process with the same number waits, and then prints the same answer; or says that the first was cut short.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import signal
import sys

from ..._guest import files, wire
from . import PRIVATE, UPLOADS, people
from .cells import run_cell
from .scripts import run_script
from .setup import CONFIGURATION, set_up
from .watching import listen_for_cancelling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["main"]

_REQUESTS = f"{PRIVATE}/requests"
_PRINTED = 1 << 17
"""Larger answers are left in their file, for the host to download."""


def main() -> None:
    """Do the request that the command line names."""
    number = int(sys.argv[1])
    os.makedirs(_REQUESTS, exist_ok=True)
    os.chmod(PRIVATE, 0o700)  # noqa: PTH101
    with open(f"{_REQUESTS}/{number}.lock", "a+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        answer = f"{_REQUESTS}/{number}.answer"
        if not os.path.exists(answer):
            _write(answer, _once(number, lock.fileno()))
    if os.path.getsize(answer) > _PRINTED:  # noqa: PTH202
        print(json.dumps({"file": answer}))
        return
    with open(answer) as stream:
        print(stream.read())


def _once(number: int, lock: int) -> dict[str, Any]:
    if os.fstat(lock).st_size:
        return {"problem": "the process that was doing this request was killed"}
    cancelled = listen_for_cancelling()
    os.write(lock, str(os.getpid()).encode())
    _forget_before(number - 1)
    request = _request(number)
    if request["op"] == "cancel":
        return _cancel(request["number"])
    if os.path.exists(f"{_REQUESTS}/{number}.cancelled"):
        return {"problem": "cancelled before it began"}
    if request["op"] == "setup":
        return set_up(request["configuration"])
    with open(CONFIGURATION) as stream:
        config = json.load(stream)
    if request["op"] == "run":
        return (run_cell if config["stateful"] else run_script)(config, request, cancelled)
    return _serve_file(config, request)


def _request(number: int) -> dict[str, Any]:
    if sys.argv[2] != "-":
        text = base64.b64decode(sys.argv[2])
    else:
        with open(f"{UPLOADS}/{number}", "rb") as stream:
            text = stream.read()
    request = json.loads(text)
    assert isinstance(request, dict)
    return request


def _cancel(number: int) -> dict[str, Any]:
    """End the request ``number``, or keep it from ever beginning, and wait until it is over."""
    with open(f"{_REQUESTS}/{number}.cancelled", "w"):
        pass
    with open(f"{_REQUESTS}/{number}.lock", "a+b") as lock:
        lock.seek(0)
        pid = lock.read()
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGTERM)
        fcntl.flock(lock, fcntl.LOCK_EX)
    return {}


def _serve_file(config: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    """Read, write or remove a file, in a child with code's rights."""
    data = base64.b64decode(request.get("data", ""))
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reader)
            people.become()
            wire.write_frame(writer, *files.attempt(config["workspace"], request, data))
        finally:
            os._exit(0)
    os.close(writer)
    try:
        answer, found = wire.read_frame(reader)
    except EOFError:
        return {"problem": "the file helper ended without an answer"}
    finally:
        os.waitpid(pid, 0)
    return {**answer, "data": base64.b64encode(found).decode()}


def _forget_before(number: int) -> None:
    """Remove what the host no longer asks for."""
    for folder in (_REQUESTS, UPLOADS):
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(folder):
                if (stem := name.partition(".")[0]).isdigit() and int(stem) < number:
                    os.remove(f"{folder}/{name}")


def _write(path: str, answer: dict[str, Any]) -> None:
    with open(f"{path}.new", "w") as stream:
        json.dump(answer, stream)
    os.rename(f"{path}.new", path)  # noqa: PTH104
