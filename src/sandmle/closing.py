"""What is used in an ``async with`` block, and closed at its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

__all__ = ["Closing"]


class Closing(ABC):
    """Closes itself at the end of its block."""

    @abstractmethod
    async def aclose(self) -> None:
        """Give up all that is held; a second call does nothing."""

    async def __aenter__(self) -> Self:
        """Itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it, whatever was raised."""
        await self.aclose()
