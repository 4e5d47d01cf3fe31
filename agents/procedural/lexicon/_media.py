"""What a domain can show besides a table: pictures, sounds, texts, pairs of texts, series, a graph, lines to rewrite.

Each medium belongs to one entity of the domain (one picture of one orchard block), so that the domain's own targets can
be asked of it. A medium says what is seen or heard and by whom it was taken, never what it has to do with a target.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from sandmle.agents.procedural.lexicon._columns import NumericColumn
from sandmle.agents.procedural.lexicon._targets import LinkTarget, ScoreTarget
from sandmle.agents.procedural.lexicon._vocabulary import TextMedium
from sandmle.agents.procedural.lexicon._words import (
    Decimals,
    DictionaryLine,
    Name,
    Phrase,
    Question,
    Text,
    Word,
    require_room,
    require_unique,
)
from sandmle.record import Record

__all__ = [
    "AudioMedium",
    "Channel",
    "GraphMedium",
    "ImageMedium",
    "Media",
    "MediaKind",
    "PairMedium",
    "RewriteMedium",
    "SeriesMedium",
    "Shortening",
    "SpokenUnit",
]

MediaKind = Literal["image", "audio", "text", "pair", "series", "graph", "rewrite"]


def _writable(token: str) -> str:
    if re.search(r"[\s,;\"'0-9]", token):
        raise ValueError(f"{token!r} must hold no blank, comma, semicolon, quote or digit")
    return token


Token = Annotated[str, Field(min_length=1, max_length=12), AfterValidator(_writable)]


class ImageMedium(Record):
    """A picture of an entity.

    Attributes:
        column: the column that holds the path of the picture.
        subject: what one picture shows, with its article.
        source: who or what makes it, with its article.
        description: the line of the data dictionary.
        markings: singular noun for a visible mark ("stain", "cell", "pit").
    """

    column: Name
    subject: Phrase
    source: Phrase
    description: DictionaryLine
    markings: Word


class AudioMedium(Record):
    """A recording of an entity; ``event`` is the singular noun for a pulse in it ("knock"), else as in an image."""

    column: Name
    subject: Phrase
    source: Phrase
    description: DictionaryLine
    event: Word


class PairMedium(Record):
    """Two texts about one entity, written with the vocabulary of the domain's ``text``.

    Attributes:
        left: column of the first text.
        right: column of the second text.
        subject: what the two are, with an article ("a fault report and the repair note that answers it").
        left_description: the line of the data dictionary for the first.
        right_description: the line of the data dictionary for the second.
        score: what is asked of a pair.
    """

    left: Name
    right: Name
    subject: Phrase
    left_description: DictionaryLine
    right_description: DictionaryLine
    score: ScoreTarget


class Channel(Record):
    """One value that a series records at each step, between ``low`` and ``high``."""

    name: Name
    unit: str
    low: Annotated[float, Field(allow_inf_nan=False)]
    high: Annotated[float, Field(allow_inf_nan=False)]
    decimals: Decimals
    description: DictionaryLine

    @model_validator(mode="after")
    def _range_is_sane(self) -> Self:
        require_room(self.name, self.low, self.high, self.decimals)
        return self


class SeriesMedium(Record):
    """A series of values of an entity.

    Attributes:
        step: the singular noun for the time between two rows ("hour", "stroke").
        channels: what is recorded at each step; the first is the one that a forecast asks for.
        subject: what one series is, with its article.
        source: what records it, with its article.
        description: what the file of series holds, as a line of a data dictionary.
    """

    step: Word
    channels: Annotated[tuple[Channel, ...], Field(min_length=2, max_length=3)]
    subject: Phrase
    source: Phrase
    description: DictionaryLine


class GraphMedium(Record):
    """The entities as nodes of one graph, so that the id column names a node.

    Attributes:
        node: short singular noun for the entity; ``nodes`` is its plural.
        edge: a contact of just two nodes, with its article ("a call from one farm to the other"); what many nodes share
            would make cliques.
        edge_columns: the two columns of the edge file that name nodes.
        features: 3 to 5 columns of the node file: names of numeric columns of the domain, or columns of their own.
        link: what is asked of two nodes.
        description: what the graph is, as a line of a data dictionary.
    """

    node: Word
    nodes: Word
    edge: Phrase
    edge_columns: tuple[Name, Name]
    features: Annotated[tuple[Name | NumericColumn, ...], Field(min_length=3, max_length=5)]
    link: LinkTarget
    description: DictionaryLine

    @property
    def link_question(self) -> str:
        """The question of a link task."""
        return self.link.question

    @property
    def own_features(self) -> tuple[NumericColumn, ...]:
        """The features that are no column of the domain's table."""
        return tuple(feature for feature in self.features if isinstance(feature, NumericColumn))

    @model_validator(mode="after")
    def _features_differ(self) -> Self:
        names = [feature if isinstance(feature, str) else feature.name for feature in self.features]
        require_unique((*names, *self.edge_columns), "features and edge_columns: names")
        return self


class SpokenUnit(Record):
    """A unit as it is written after a number and as it is read aloud."""

    written: Token
    spoken: Word


class Shortening(Record):
    """A code, name or abbreviation as it is written and in full."""

    short: Token
    long: Word


class RewriteMedium(Record):
    """Short lines to be written out in full.

    Attributes:
        source: column of the line as it was written.
        target: column of the line in full.
        title: the competition's title.
        subject: what one line is, with its article.
        description: the line of the data dictionary for the source.
        target_description: the line of the data dictionary for the target.
        question: the task in one sentence.
        units: 5 or more units that occur in the lines.
        shortenings: 8 or more codes, names or abbreviations that occur in the lines.
    """

    source: Name
    target: Name
    title: Annotated[Text, Field(max_length=70)]
    subject: Phrase
    description: DictionaryLine
    target_description: DictionaryLine
    question: Question
    units: Annotated[tuple[SpokenUnit, ...], Field(min_length=5)]
    shortenings: Annotated[tuple[Shortening, ...], Field(min_length=8)]

    @model_validator(mode="after")
    def _one_reading_each(self) -> Self:
        written = [*(unit.written for unit in self.units), *(entry.short for entry in self.shortenings)]
        spoken = [*(unit.spoken for unit in self.units), *(entry.long for entry in self.shortenings)]
        require_unique((token.lower() for token in written), "units and shortenings: written forms")
        require_unique(spoken, "units and shortenings: full forms")
        same = sorted({token.lower() for token in written} & set(spoken))
        if same:
            raise ValueError(f"units and shortenings: a written form is also a full form: {', '.join(same)}")
        return self


class Media(Record):
    """The media a domain offers, five or more; ``pair`` uses the vocabulary of ``text``."""

    image: ImageMedium | None = None
    audio: AudioMedium | None = None
    text: TextMedium | None = None
    pair: PairMedium | None = None
    series: SeriesMedium | None = None
    graph: GraphMedium | None = None
    rewrite: RewriteMedium | None = None

    @model_validator(mode="after")
    def _pair_has_words(self) -> Self:
        if self.pair and not self.text:
            raise ValueError("pair: needs the vocabulary of text")
        return self

    @model_validator(mode="after")
    def _five_or_more(self) -> Self:
        if len(self.kinds) < 5:
            raise ValueError(f"has {len(self.kinds)} media ({', '.join(self.kinds)}); needs 5 or more")
        return self

    @property
    def kinds(self) -> tuple[MediaKind, ...]:
        """The media the domain has."""
        kinds: tuple[MediaKind, ...] = ("image", "audio", "text", "pair", "series", "graph", "rewrite")
        return tuple(kind for kind in kinds if getattr(self, kind) is not None)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Every column that a medium brings, targets of its own included, shared columns of the table left out."""
        names: list[str] = [medium.column for medium in (self.image, self.audio, self.text) if medium]
        if self.pair:
            names += [self.pair.left, self.pair.right, self.pair.score.column]
        if self.series:
            names += [channel.name for channel in self.series.channels]
        if self.graph:
            own = [feature.name for feature in self.graph.own_features]
            names += [*self.graph.edge_columns, *own, self.graph.link.column]
        if self.rewrite:
            names += [self.rewrite.source, self.rewrite.target]
        return tuple(names)
