# ruff: noqa: TID251
"""Who holds the variables of a stateful sandbox, as its init speaks to it: see ``notebook`` for the messages.

What is heard may be made up by code.
"""

from __future__ import annotations

import json
import socket

from .notebook import MESSAGE_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["State", "hear", "number", "process_id"]

_ADOPTION_S = 30.0
_LARGEST = 1 << 62
_LARGEST_PID = 1 << 22


class State:
    """A process that holds variables.

    Attributes:
        pid: its process id.
        line: our end of its socket.
        threads: how many it had at the last cell's end.
    """

    def __init__(self, pid: int, line: socket.socket) -> None:
        self.pid = pid
        self.line = line
        self.threads = 1

    def tell(self, message: dict[str, Any], descriptors: list[int]) -> None:
        """Send it a message.

        Raises:
            OSError: it is dead.
        """
        socket.send_fds(self.line, [json.dumps(message).encode()], descriptors)

    def branch(self, namespaces: list[int], index: int, join: list[int]) -> State:
        """Have it forked into ``namespaces``, that of users first, and a group to ``join``; to be called inside them.

        Raises:
            OSError: it did not come.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.settimeout(_ADOPTION_S)
        with theirs:
            self.tell({"op": "branch", "index": index, "join": len(join)}, [*join, *namespaces, theirs.fileno()])
        answer = hear(ours) or {"problem": "it has ended"}
        pid = process_id(answer)
        if answer.get("op") != "adopted" or not pid:
            ours.close()
            raise OSError(f"the interpreter could not be forked: {answer.get('problem')}")
        ours.settimeout(None)
        return State(pid, ours)


def hear(line: socket.socket) -> dict[str, Any] | None:
    """The next message, empty if it is none; None if the other side is gone."""
    try:
        text = line.recv(MESSAGE_BYTES)
    except OSError:
        return None
    if not text:
        return None
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def number(told: dict[str, Any], name: str) -> float:
    """A number that code may have made up: what is none, or can't be, is 0."""
    value = told.get(name)
    return value if isinstance(value, int | float) and 0 <= value < _LARGEST else 0


def process_id(told: dict[str, Any]) -> int:
    """A process id that code may have made up; 0 if it can't be that of a process of code's."""
    value = told.get("pid")
    return value if isinstance(value, int) and 1 < value <= _LARGEST_PID else 0
