"""A setting: who asks, about what, and why. All that prose needs to know of a domain."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from sandmle.agents.procedural.lexicon._words import Text
from sandmle.record import Record

__all__ = ["Setting"]


class Setting(Record):
    """The world of a competition in words.

    Attributes:
        slug: unique, kebab case; the first part of a task's id.
        sector: the line of business.
        host: the invented organisation that runs the competition, one phrase.
        entity: what one row is, singular; ``entities`` is its plural.
        story: two to four sentences of background: what is measured and why.
        collection: one or two sentences on what is in the sample.
        figures: how the columns of the table were measured, where there is something to say; only for who sees them.
    """

    slug: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=24)]
    sector: Text
    host: Text
    entity: Text
    entities: Text
    story: Text
    collection: Text
    figures: Text | None = None
