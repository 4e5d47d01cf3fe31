"""Prose: the words and sentence frames that the texts of one task are written with, and the factors that they carry.

A text is an opener, five or more clauses about objects, and sentences for whatever else the task speaks of. Every text
praises twice, is neutral twice and denies two of these four: so the number of denials says nothing, and what they deny
says it all. The same holds for who acts (both people always do), for the number of digits and so on.

    plain     words of blame and of each topic, exclamation marks, questions, asides in brackets, remarks, courtesies;
              the opener, the place, the witness
    hidden    denied praise, different objects, the place of the request, two quantities; whether the first and the last
              object agree, whether blame comes before praise, who did a deed, who acted first
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from sandmle.agents.procedural.lexicon import Domain, TextMedium
from sandmle.agents.procedural.rules import Part, RuleGrammar
from sandmle.agents.procedural.schema import CategoricalColumn, Column, NumericColumn
from sandmle.record import Record

__all__ = [
    "FRAMES",
    "HIDDEN_KINDS",
    "PLAIN_KINDS",
    "Prose",
    "draw_prose",
    "draw_some",
    "grammar_of",
    "medium_of",
    "text_factors",
]

T = TypeVar("T")

FRAMES: dict[str, tuple[str, ...]] = {
    "statements": (
        "the {o} was {q}",
        "the {o} seemed {q}",
        "i found the {o} {q}",
        "the {o} looked {q} to me",
        "i would call the {o} {q}",
        "the {o} turned out {q}",
        "everyone thought the {o} {q}",
        "the {o} was really {q}",
        "the {o} struck me as {q}",
        "as for the {o}, it was {q}",
        "to my mind the {o} was {q}",
    ),
    "denials": (
        "the {o} was not {q}",
        "the {o} was hardly {q}",
        "i did not find the {o} {q}",
        "the {o} was anything but {q}",
        "the {o} was far from {q}",
        "i would not call the {o} {q}",
        "the {o} never seemed {q}",
        "the {o} was by no means {q}",
        "not everyone thought the {o} {q}",
        "as for the {o}, it was not {q}",
    ),
    "topics": (
        "i also have to mention {list}",
        "some of it concerns {list}",
        "a word about {list}",
        "it was about {list} as well",
        "people spoke of {list}",
    ),
    "orders": (
        "first {a} and then {b}",
        "{a} before {b}",
        "after {a}, {b}",
        "{b} after {a}",
        "before {b}, {a}",
        "{b}, but earlier {a}",
        "{a}, and only later {b}",
    ),
    "deeds": (
        "the {p} {d}",
        "the {p} {d} this time",
        "the {p} once again {d}",
        "the {p} {d} once again",
    ),
    "quantities": (
        "the {n} was {x} {u} this time and {y} {u} the last time",
        "from {y} {u} the {n} went to {x} {u}",
        "last time the {n} was {y} {u}, now it is {x} {u}",
        "the {n} is {x} {u} now, compared with {y} {u} last time",
        "with {x} {u} the {n} is not what it was: {y} {u}",
    ),
    "places": (
        "all this was at the {p}",
        "i write this at the {p}",
        "we saw it at the {p}",
        "most of it took place at the {p}",
    ),
    "witnesses": (
        "the {p} can confirm it",
        "the {p} was there as well",
        "you may ask the {p}",
        "the {p} saw it too",
    ),
    "scenes": (
        "the {w} saw it at the {p}",
        "the {w} was with us at the {p}",
        "i met the {w} at the {p}",
        "at the {p} the {w} came along",
    ),
    "remarks": (
        "so much for today",
        "the rest can wait",
        "more on that another day",
        "this is how it went",
        "i keep it short",
        "there is little to add",
    ),
    "questions": (
        "what do you think",
        "is that all right",
        "who would have thought it",
        "could it be my fault",
        "do you know more",
    ),
    "asides": ("as usual", "more or less", "see above", "i think", "so they say", "at long last"),
    "courtesies": (
        "thanks to everyone who helped",
        "your patience is appreciated",
        "i appreciate the effort",
        "help is always welcome",
    ),
}
"""Frames: o object, q quality, p person or place, w person, d deed, a earlier and b later deed, n x y u a quantity."""
KEPT = {"statements": 7, "denials": 7, "orders": 6, "remarks": 4, "courtesies": 3, "asides": 4, "questions": 4}
"""How many frames of each list one task uses, where it does not use all."""
CUES = frozenset({"first", "then", "after", "before", "earlier", "later", "from", "last", "with"})
EASY_SHARE = (0.4, 0.75)
"""Words are harder to see than numbers in a table, so easy parts weigh a little more."""
PLAIN_KINDS = ("linear", "hinge", "level_effect")
HIDDEN_KINDS = (
    "band",
    "difference",
    "extreme",
    "gate",
    "interaction",
    "level_effect",
    "level_optimum",
    "level_slope",
    "linear",
    "optimum",
    "sign_agreement",
)


class Prose(Record):
    """The vocabulary of one task.

    Attributes:
        column: the text column.
        factors: names of the factors that the texts carry.
        pair: the two people whose deeds are told; ``deeds`` are what they may have done, the first one matters.
        witnesses: other people.
        topics: two topics, each a factor's name and its words.
        quantity: noun and unit, ``numbers`` its range, all with the same number of digits.
        frames: sentence frames by role, see ``FRAMES``.
    """

    column: str
    factors: tuple[str, ...]
    objects: tuple[str, ...]
    praise: tuple[str, ...]
    blame: tuple[str, ...]
    neutral: tuple[str, ...]
    pair: tuple[str, str]
    deeds: tuple[str, ...]
    witnesses: tuple[str, ...]
    places: tuple[str, ...]
    topics: tuple[tuple[str, tuple[str, ...]], ...]
    quantity: tuple[str, str]
    numbers: tuple[int, int]
    openers: tuple[str, ...]
    requests: tuple[str, ...]
    frames: dict[str, tuple[str, ...]]


def medium_of(domain: Domain) -> TextMedium:
    """The domain's vocabulary of texts; only domains that have one are drawn."""
    if domain.media.text is None:
        raise ValueError(f"domain {domain.slug} has no texts")
    return domain.media.text


def draw_prose(rng: np.random.Generator, medium: TextMedium, plain: int, hidden: int) -> tuple[Prose, list[Column]]:
    """Words, frames, and ``plain`` + ``hidden`` factors or more."""
    people = draw_some(rng, medium.people, 6)
    places, openers = draw_some(rng, medium.places, 4), draw_some(rng, medium.openers, 4)
    topics = tuple(
        (f"words_on_{topic.name.replace(' ', '_').replace('-', '_')}", draw_some(rng, _free(topic.words), 5))
        for topic in draw_some(rng, medium.topics, 2)
    )
    deeds = tuple(deed for deed in medium.actions if not CUES & set(deed.split()))
    prose = Prose(
        column=medium.column,
        factors=(),
        objects=draw_some(rng, _free(medium.objects), 9),
        praise=draw_some(rng, _free(medium.qualities.praise), 6),
        blame=draw_some(rng, _free(medium.qualities.blame), 5),
        neutral=draw_some(rng, _free(medium.qualities.neutral), 6),
        pair=(people[0], people[1]),
        deeds=draw_some(rng, deeds, 5),
        witnesses=people[2:],
        places=places,
        topics=topics,
        quantity=(medium.quantity.noun, medium.quantity.unit),
        numbers=_same_digits(medium.quantity.low, medium.quantity.high),
        openers=openers,
        requests=medium.requests,
        frames={role: draw_some(rng, frames, KEPT.get(role, len(frames))) for role, frames in FRAMES.items()},
    )
    columns = _draw_factors(rng, prose, plain, hidden)
    return prose.model_copy(update={"factors": tuple(column.name for column in columns)}), columns


def text_factors(prose: Prose) -> tuple[dict[str, Column], dict[str, Column]]:
    """All plain and all hidden factors that texts with these words can carry."""
    plain: list[Column] = [
        _number("blame_words", "Words of blame", 1, 4),
        *(_number(name, f"Words from the field of {name[9:]}", 0, 3) for name, _ in prose.topics),
        _number("exclamations", "Exclamation marks", 0, 3),
        _number("questions", "Questions", 0, 3),
        _number("asides", "Asides in brackets", 0, 3),
        _number("remarks", "Remarks that say nothing", 0, 2),
        _number("courtesies", "Words of thanks", 0, 2),
        _choice("opener", "How the text begins", prose.openers),
        _choice("place", "The place that is mentioned", prose.places),
        _choice("witness", "The third person that is mentioned", prose.witnesses),
    ]
    hidden: list[Column] = [
        _number("denied_praise", "Words of praise that are denied", 0, 2),
        _number("different_objects", "Different objects in the text", 2, 4),
        _number("request_position", "Sentences before the request", 1, 4),
        _number("quantity", f"The {prose.quantity[0]} of now", *prose.numbers),
        _number("quantity_before", f"The {prose.quantity[0]} of the last time", *prose.numbers),
        _choice("same_object", "Whether the first and the last object agree", ("same", "other")),
        _choice("begins_with", "What comes first, praise or blame", ("praise", "blame")),
        _choice("doer", f"Who {prose.deeds[0]}", prose.pair),
        _choice("acted_first", "Who acted before the other", prose.pair),
    ]
    return {column.name: column for column in plain}, {column.name: column for column in hidden}


def grammar_of(plain: Iterable[str], hidden: Iterable[str], most: int) -> RuleGrammar:
    """Easy terms over plain factors, up to ``most`` hidden terms over hidden ones."""
    return RuleGrammar(
        easy=Part(share="easy", count=(2, 3), columns=tuple(plain), kinds=PLAIN_KINDS),
        hidden=Part(share="hidden", count=(1, most), columns=tuple(hidden), kinds=HIDDEN_KINDS),
        easy_share=EASY_SHARE,
    )


def _draw_factors(rng: np.random.Generator, prose: Prose, plain: int, hidden: int) -> list[Column]:
    """Two plain numbers or more, so that easy terms can be drawn, and three hidden numbers or more."""
    plains, hiddens = text_factors(prose)
    chosen = set(draw_some(rng, tuple(plains), plain))
    numbers = tuple(name for name, column in hiddens.items() if isinstance(column, NumericColumn))
    levels = tuple(name for name in hiddens if name not in numbers)
    found = {*draw_some(rng, numbers, max(hidden - 1, 2)), *draw_some(rng, levels, max(hidden - 2, 1))}
    if found & {"quantity", "quantity_before"}:
        found |= {"quantity", "quantity_before"}
    return [column for name, column in {**plains, **hiddens}.items() if name in chosen | found]


def _number(name: str, description: str, low: int, high: int) -> NumericColumn:
    return NumericColumn(name=name, unit="", description=description, low=low, high=high, shape="uniform", decimals=0)


def _choice(name: str, description: str, levels: tuple[str, ...]) -> CategoricalColumn:
    weights = tuple(round(1 / len(levels), 6) for _ in levels)
    return CategoricalColumn(name=name, description=description, levels=levels, weights=weights)


def _same_digits(low: int, high: int) -> tuple[int, int]:
    """The widest part of the range whose numbers all have the same number of digits."""
    ranges = [(max(low, 10**digits), min(high, 10 ** (digits + 1) - 1)) for digits in range(1, len(str(high)))]
    return max(ranges, key=lambda span: (span[1] - span[0]) / span[0])


def _free(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words that no frame uses."""
    used = {word for frames in FRAMES.values() for frame in frames for word in re.findall(r"[a-z]+", frame)}
    return tuple(word for word in words if not used & set(re.findall(r"[a-z]+", word)))


def draw_some(rng: np.random.Generator, items: tuple[T, ...], count: int) -> tuple[T, ...]:
    """Up to ``count`` different items in random order."""
    return tuple(items[int(index)] for index in rng.permutation(len(items))[:count])
