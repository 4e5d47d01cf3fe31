r"""What a step printed: the head and the tail, bounded while it is read.

A line that a progress bar redraws with carriage returns keeps its last state alone; ``\r\n`` is a plain line end.
"""

from __future__ import annotations

import codecs

__all__ = ["OutputBuffer"]


class OutputBuffer:
    """Takes any number of bytes and holds a bounded number of them.

    Attributes:
        total_bytes: bytes taken in so far.
    """

    def __init__(self, limit: int, replacements: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        """Keep ``limit`` bytes, half of them from the start; ``replacements`` (old, new) are made in every line."""
        self.total_bytes = 0
        self._replacements = replacements
        self._head_limit = limit // 2
        self._tail_limit = limit - limit // 2
        self._line_limit = max(limit, 4096)
        self._line = b""
        self._head = bytearray()
        self._tail = bytearray()
        self._cut = False

    def add(self, data: bytes) -> None:
        """Take in the next bytes, cut anywhere."""
        self.total_bytes += len(data)
        data = self._line + data
        end = data.rfind(b"\n") + 1
        if end:
            self._keep(data[:end])
        line = data[end:]
        redrawn = line.rfind(b"\r", 0, len(line.rstrip(b"\r")))
        self._line = line[redrawn + 1 :]
        if len(self._line) > self._line_limit:
            self._keep(self._line)
            self._line = b""

    def finish(self) -> tuple[str, str]:
        """Head and tail as text, invalid bytes replaced; the tail is empty if nothing was left out."""
        self._keep(self._line.rstrip(b"\r"))
        self._line = b""
        if not self._cut:
            return (self._head + self._tail).decode("utf-8", "replace"), ""
        head = codecs.getincrementaldecoder("utf-8")("replace").decode(bytes(self._head))
        tail = bytes(self._tail)
        torn = next((i for i in range(min(4, len(tail))) if tail[i] & 0xC0 != 0x80), 0)
        return head, tail[torn:].decode("utf-8", "replace")

    def _keep(self, text: bytes) -> None:
        if b"\r" in text:
            text = _last_states(text)
        for old, new in self._replacements:
            text = text.replace(old, new)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += text[:room]
            text = text[room:]
        self._tail += text[-self._tail_limit - 1 :] if len(text) > self._tail_limit else text
        if len(self._tail) > self._tail_limit:
            self._cut = True
            del self._tail[: len(self._tail) - self._tail_limit]


def _last_states(text: bytes) -> bytes:
    """Every line as a terminal is left with it, in linear time: code chooses the text."""
    *lines, begun = text.split(b"\n")
    return b"\n".join([*(line.rstrip(b"\r").rpartition(b"\r")[2] for line in lines), begun.rpartition(b"\r")[2]])
