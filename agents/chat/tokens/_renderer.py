"""Messages as token ids.

Each message is encoded on its own between special tokens, so the ids of a conversation are those of its messages, one
after the other: a longer conversation always begins with the ids of a shorter one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sandmle.agents.chat.tokens._reading import READINGS, Reading
from sandmle.errors import BadInput
from sandmle.trajectory import Message

__all__ = ["ChatMarkup", "Renderer", "TextCodec"]


class TextCodec(Protocol):
    """A tokenizer: plain text to ids and back; special tokens are asked for by name and never read out of text."""

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``, in which no special token is recognised."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ``ids``; special tokens are left out."""
        ...

    def special(self, name: str) -> int | None:
        """The id of the special token ``name``; None where there is none."""
        ...


class Renderer(Protocol):
    """A chat format."""

    @property
    def stop(self) -> int:
        """The id that ends a reply."""
        ...

    def message(self, message: Message) -> tuple[int, ...]:
        """One whole message that the policy did not write, borders included."""
        ...

    def prompt_end(self) -> tuple[int, ...]:
        """What stands before a reply."""
        ...

    def reply(self, ids: Sequence[int]) -> tuple[int, ...]:
        """A sampled reply as a later prompt repeats it, from its first id to the end of its message."""
        ...

    def reply_ids(self, text: str) -> tuple[int, ...]:
        """A reply that somebody else wrote, as if it had been sampled: with the stop id."""
        ...

    def text(self, ids: Sequence[int]) -> str:
        """The text of a sampled reply."""
        ...


class ChatMarkup:
    r"""ChatML, the format of Qwen and SmolLM: ``<|im_start|>role\ncontent<|im_end|>\n``."""

    def __init__(self, codec: TextCodec, reading: Reading = "whole") -> None:
        """A renderer for a tokenizer that knows ChatML's two special tokens.

        Args:
            codec: the tokenizer.
            reading: what of the messages the policy is shown.

        Raises:
            BadInput: the tokenizer does not know them.
        """
        start, stop = codec.special("<|im_start|>"), codec.special("<|im_end|>")
        if start is None or stop is None:
            raise BadInput("the tokenizer has no <|im_start|> and <|im_end|>; take a model whose chat format is ChatML")
        self._codec, self._start, self._stop = codec, start, stop
        self.reading: Reading = reading
        self._newline = tuple(codec.encode("\n"))

    @property
    def stop(self) -> int:
        """``<|im_end|>``."""
        return self._stop

    def message(self, message: Message) -> tuple[int, ...]:
        """The ids of one message; none of one that is not shown."""
        shown = READINGS[self.reading](message)
        if shown is None:
            return ()
        content = self._codec.encode(f"{message.role}\n{shown}")
        return (self._start, *content, self._stop, *self._newline)

    def prompt_end(self) -> tuple[int, ...]:
        """``<|im_start|>assistant`` and a line break."""
        return (self._start, *self._codec.encode("assistant\n"))

    def reply(self, ids: Sequence[int]) -> tuple[int, ...]:
        """The sampled ids; the end is added where the reply was cut off before it."""
        closed = () if ids and ids[-1] == self._stop else (self._stop,)
        return (*ids, *closed, *self._newline)

    def reply_ids(self, text: str) -> tuple[int, ...]:
        """The ids of ``text`` and the stop id."""
        return (*self._codec.encode(text), self._stop)

    def text(self, ids: Sequence[int]) -> str:
        """The text without the stop id."""
        return self._codec.decode([each for each in ids if each != self._stop])
