"""The words that texts of a domain are built from.

A renderer puts them into sentences such as "The {person} {action} at the {place}.", "The {object} was {quality}." and
"The {quantity.noun} was 12 {quantity.unit}.", between an opener and a request. An informed reader counts them back, so
a content word stands in one list only: "filter" can't be an object and part of the action "replaced the filter".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Annotated, Self

from pydantic import Field, model_validator

from sandmle.agents.procedural.lexicon._words import Clause, DictionaryLine, Name, Phrase, Word, Words, require_unique
from sandmle.record import Record

__all__ = ["Qualities", "Quantity", "TextMedium", "Topic"]

FUNCTION_WORDS = frozenset(
    """
    a about after all an and any are as at back be been before but by can could did do down for from had has
    have he her here him his if in into is it its just last let may me more my near next no not now of off on
    once one or our out over own please she so some soon than thank thanks that the their them then there they
    this through to too two under until up us very was we were what when where whether which who will with
    without would you your
    """.split()  # noqa: SIM905 - a word a line is no easier to read
)


class Qualities(Record):
    """Adjectives that praise, blame or do neither; eight or more of each, usable after "was"."""

    praise: Annotated[Words, Field(min_length=8)]
    blame: Annotated[Words, Field(min_length=8)]
    neutral: Annotated[Words, Field(min_length=8)]


class Topic(Record):
    """Something that texts of the domain are about, with eight or more nouns that speak of it and of no other topic."""

    name: Word
    words: Annotated[Words, Field(min_length=8)]


class Quantity(Record):
    """A whole number that a text mentions: "the ``noun`` was 12 ``unit``", between ``low`` and ``high``."""

    noun: Word
    unit: Word
    low: Annotated[int, Field(ge=0)]
    high: int

    @model_validator(mode="after")
    def _spread(self) -> Self:
        if self.high - self.low < 20:
            raise ValueError(f"{self.noun}: low {self.low} to high {self.high} must span at least 20")
        return self


class TextMedium(Record):
    """A text column and the vocabulary of its texts. Every word is lower-case ASCII.

    Attributes:
        column: the column's name in the data.
        subject: what one text is and whose, with its article ("the operator's note on one press run").
        description: the line of the data dictionary.
        objects: 12 or more singular nouns without article; used as "the {object}".
        qualities: adjectives.
        actions: 8 or more past-tense verb phrases; used as "the {person} {action}".
        people: 6 or more roles without article; used as "the {person}".
        places: 6 or more nouns without article; used as "at the {place}".
        topics: 4 to 6 topics with their own content words.
        quantity: a number that a text may mention.
        requests: 4 or more polite closing sentences.
        openers: 4 or more opening sentences.
    """

    column: Name
    subject: Phrase
    description: DictionaryLine
    objects: Annotated[Words, Field(min_length=12)]
    qualities: Qualities
    actions: Annotated[Words, Field(min_length=8)]
    people: Annotated[Words, Field(min_length=6)]
    places: Annotated[Words, Field(min_length=6)]
    topics: Annotated[tuple[Topic, ...], Field(min_length=4, max_length=6)]
    quantity: Quantity
    requests: Annotated[tuple[Clause, ...], Field(min_length=4)]
    openers: Annotated[tuple[Clause, ...], Field(min_length=4)]

    @model_validator(mode="after")
    def _a_word_stands_in_one_list(self) -> Self:
        require_unique((topic.name for topic in self.topics), "topics: names")
        require_unique((*self.requests, *self.openers), "requests and openers")
        lists = {name: content_words(entries) for name, entries in self._counted_lists()}
        framing = {
            "requests": content_words(self.requests),
            "openers": content_words(self.openers),
            "quantity": content_words((self.quantity.noun, self.quantity.unit)),
        }
        pairs = [*combinations(lists.items(), 2), *((one, other) for one in framing.items() for other in lists.items())]
        for (first, words), (second, others) in pairs:
            if words & others:
                shared = ", ".join(sorted(words & others))
                raise ValueError(f"a word stands in one list only; in both {first} and {second}: {shared}")
        return self

    def _counted_lists(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        yield "objects", self.objects
        yield "qualities.praise", self.qualities.praise
        yield "qualities.blame", self.qualities.blame
        yield "qualities.neutral", self.qualities.neutral
        yield "actions", self.actions
        yield "people", self.people
        yield "places", self.places
        yield from ((f"topic {topic.name}", topic.words) for topic in self.topics)


def content_words(entries: Iterable[str]) -> set[str]:
    """The words of ``entries`` less function words; a hyphenated word is one word."""
    return {word for entry in entries for word in re.findall(r"[a-z]+(?:-[a-z]+)*", entry)} - FUNCTION_WORDS
