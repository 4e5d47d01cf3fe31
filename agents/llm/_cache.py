"""Replies on disk, one file each, so that no call is paid twice and a batch can be played again without a request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage

from sandmle.agents.roles import Role
from sandmle.files import write_text
from sandmle.record import Record, VersionedRecord, sha256_json

__all__ = ["CachedReply", "Reply", "ReplyCache", "Sample", "call_key"]


class Sample(Record):
    """Which of many possible replies to the same words is meant: what makes a call unique within a batch.

    Attributes:
        seed: of the batch.
        attempt: how often the role's work on this candidate came back.
        repair: how often the reply of this conversation came back.
    """

    role: Role
    seed: int
    candidate: int
    attempt: int
    repair: int = 0


class Reply(Record):
    """What a model said.

    Attributes:
        finish_reason: as the endpoint gives it; ``length`` for a reply that was cut.
        prompt_tokens: as the endpoint counts them, as ``completion_tokens``; 0 where it does not.
    """

    text: str
    reasoning: str = ""
    refusal: str = ""
    finish_reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0


class CachedReply(VersionedRecord):
    """A reply with the whole request that it answers."""

    key: str
    request: dict[str, Any]
    reply: Reply


def call_key(model: dict[str, Any], messages: Sequence[BaseMessage], sample: Sample) -> tuple[str, dict[str, Any]]:
    """Hex key of a call, and the request that it stands for: model, sampling, every word, and the sample."""
    request = {
        "model": model,
        "messages": [{"role": message.type, "content": message.content} for message in messages],
        "sample": sample.model_dump(mode="json"),
    }
    return sha256_json(request), request


class ReplyCache:
    """The replies in a folder, by key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, key: str) -> Reply | None:
        """The reply to a call that was answered before.

        Raises:
            BadInput: its file is broken; names it.
        """
        path = self._path(key)
        return CachedReply.read(path).reply if path.exists() else None

    def put(self, key: str, request: dict[str, Any], reply: Reply) -> None:
        """Keep a reply; whole or not at all."""
        write_text(self._path(key), CachedReply(key=key, request=request, reply=reply).to_text())

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"
