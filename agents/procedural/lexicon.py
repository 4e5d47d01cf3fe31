"""The lexicon of the procedural team: the domains that synthetic tasks are set in.

Vocabulary:
    domain     one invented organisation with its entity, columns, units, plausible ranges and possible targets;
               one YAML file under ``domains/``, named by its slug
    group      numeric columns that plausibly share a common cause (several measures of one thing)
    target     what a competition in this domain may ask for: one of each problem type
    related    ids and terms of seeds that a domain resembles, so that no seed is dressed up as itself

A domain knows words and ranges only. It says nothing about how a feature relates to a target: the hidden rule does.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal, Self

import yaml
from pydantic import AfterValidator, Field, ValidationError, model_validator

from sandmle.errors import BadInput, SandmleError
from sandmle.record import Record, first_problem

__all__ = [
    "BinaryTarget",
    "CategoricalColumn",
    "DateColumn",
    "Domain",
    "IdColumn",
    "MulticlassTarget",
    "NumericColumn",
    "OrdinalColumn",
    "RegressionTarget",
    "Targets",
    "get_domain",
    "load_domains",
]

READ_AS_MISSING = re.compile(r"#?n/a|#n/a n/a|#?na|<na>|-?nan|null|none|-?1\.#(ind|qnan)", re.IGNORECASE)
READ_AS_BOOLEAN = re.compile(r"true|false", re.IGNORECASE)


def _one_line(text: str) -> str:
    if text != " ".join(text.split()):
        raise ValueError("must be one line without doubled, leading or trailing blanks")
    return text


def _survives_csv(level: str) -> str:
    """Refuse a level that a CSV round trip through pandas would change or turn into another type."""
    if re.search(r"[,\"'\n\r\t;]", level) or level != level.strip():
        raise ValueError(f"{level!r} has a comma, a quote, a semicolon or an outer blank")
    if READ_AS_MISSING.fullmatch(level) or READ_AS_BOOLEAN.fullmatch(level) or not re.search(r"[A-Za-z]", level):
        raise ValueError(f"{level!r} would be read back from CSV as missing, as a boolean or as a number")
    try:
        float(level)
    except ValueError:
        return level
    raise ValueError(f"{level!r} would be read back from CSV as a number")


def _distinct(levels: tuple[str, ...]) -> tuple[str, ...]:
    if len({level.lower() for level in levels}) != len(levels):
        raise ValueError("levels must differ, also when case is ignored")
    return levels


Text = Annotated[str, Field(min_length=1), AfterValidator(_one_line)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$", max_length=40)]
Question = Annotated[str, Field(pattern=r"^[A-Z][^.!?]*\?$"), AfterValidator(_one_line)]
Level = Annotated[str, Field(min_length=1, max_length=40), AfterValidator(_survives_csv)]
Levels = Annotated[tuple[Level, ...], AfterValidator(_distinct)]
Decimals = Annotated[int, Field(ge=0, le=3)]


class IdColumn(Record):
    """The column that names an entity; ``prefix`` starts each of its values."""

    column: Name
    prefix: Annotated[str, Field(pattern=r"^[A-Z]{1,4}$")]


class NumericColumn(Record):
    """A measured quantity.

    Attributes:
        label: the name in running text.
        unit: unit of the values, empty for counts, indices and ratios without one.
        low: lower end of the plausible range; above 0 for ``lognormal``.
        high: upper end of the plausible range.
        shape: how values spread over the range.
        decimals: digits after the point in the data, 0 to 3.
        description: the line of the data dictionary.
    """

    name: Name
    label: Text
    unit: str
    low: Annotated[float, Field(allow_inf_nan=False)]
    high: Annotated[float, Field(allow_inf_nan=False)]
    shape: Literal["normal", "uniform", "lognormal"]
    decimals: Decimals
    description: Text

    @model_validator(mode="after")
    def _range_is_sane(self) -> Self:
        if self.high - self.low < 10 * 10.0**-self.decimals:
            raise ValueError(f"{self.name}: range {self.low} to {self.high} has fewer than 10 distinct values")
        if self.shape == "lognormal" and self.low <= 0:
            raise ValueError(f"{self.name}: a lognormal column needs low > 0")
        return self


class CategoricalColumn(Record):
    """A column of unordered levels (4 to 20 of them)."""

    name: Name
    levels: Annotated[Levels, Field(min_length=4, max_length=20)]
    description: Text


class OrdinalColumn(Record):
    """A column of 3 to 5 levels in ascending order."""

    name: Name
    levels: Annotated[Levels, Field(min_length=3, max_length=5)]
    description: Text


class DateColumn(Record):
    """A day between ``start`` and ``end``, both included."""

    name: Name
    start: date
    end: date
    description: Text

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if (self.end - self.start).days < 90:
            raise ValueError(f"{self.name}: needs a span of at least 90 days")
        return self


class _Target(Record):
    """What every competition says about what it asks for.

    Attributes:
        column: the target's name in the data.
        title: the competition's title.
        question: the task in one sentence.
        description: the line of the data dictionary.
    """

    column: Name
    title: Text
    question: Question
    description: Text


class BinaryTarget(_Target):
    """Two labels, the negative one first."""

    labels: Annotated[Levels, Field(min_length=2, max_length=2)]


class MulticlassTarget(_Target):
    """Three to five labels, ascending where ``ordered``."""

    labels: Annotated[Levels, Field(min_length=3, max_length=5)]
    ordered: bool


class RegressionTarget(_Target):
    """A number: about ``center`` plus or minus ``spread`` (one standard deviation), in ``unit``.

    ``positive`` targets can't be negative; their center lies at least 2 spreads above 0.
    """

    unit: str
    center: Annotated[float, Field(allow_inf_nan=False)]
    spread: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    positive: bool
    decimals: Decimals

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.positive and self.center < 2 * self.spread:
            raise ValueError(f"{self.column}: a positive target needs center >= 2 * spread")
        if self.spread < 10 * 10.0**-self.decimals:
            raise ValueError(f"{self.column}: spread is too small for {self.decimals} decimals")
        return self


class Targets(Record):
    """One target of each problem type; a task uses one and knows nothing of the others."""

    binary: BinaryTarget
    multiclass: MulticlassTarget
    regression: RegressionTarget


class Domain(Record):
    """One world that a synthetic task may be set in.

    Attributes:
        slug: unique, kebab case; the name of the YAML file and the first part of a task's id.
        sector: the line of business.
        host: the invented organisation that runs the competition, one phrase.
        entity: what one row is, singular; ``entities`` is its plural.
        story: two to four sentences of background: what is measured and why.
        collection: one or two sentences on how the data were collected.
        groups: one or two lists of 3 to 4 numeric columns with a plausible common cause.
        related: ids and terms of seeds that this domain resembles.
    """

    slug: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=24)]
    sector: Text
    host: Text
    entity: Text
    entities: Text
    story: Text
    collection: Text
    id: IdColumn
    numeric: Annotated[tuple[NumericColumn, ...], Field(min_length=12, max_length=16)]
    groups: Annotated[tuple[tuple[Name, ...], ...], Field(min_length=1, max_length=2)]
    categorical: Annotated[tuple[CategoricalColumn, ...], Field(min_length=4, max_length=6)]
    ordinal: Annotated[tuple[OrdinalColumn, ...], Field(min_length=2, max_length=2)]
    dates: Annotated[tuple[DateColumn, ...], Field(min_length=1, max_length=1)]
    targets: Targets
    related: Annotated[tuple[Text, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        targets = (self.targets.binary, self.targets.multiclass, self.targets.regression)
        counts = Counter([self.id.column, *self.feature_names, *(target.column for target in targets)])
        twice = sorted(name for name, count in counts.items() if count > 1)
        if twice:
            raise ValueError(f"column names must be unique; more than once: {', '.join(twice)}")
        return self

    @model_validator(mode="after")
    def _groups_name_columns(self) -> Self:
        members = [name for group in self.groups for name in group]
        unknown = sorted(set(members) - {column.name for column in self.numeric})
        if unknown:
            raise ValueError(f"groups: no such numeric column: {', '.join(unknown)}")
        if len(set(members)) != len(members) or any(not 3 <= len(group) <= 4 for group in self.groups):
            raise ValueError("groups: each has 3 or 4 columns, and a column is in at most one")
        return self

    @model_validator(mode="after")
    def _one_wide_categorical(self) -> Self:
        if sum(len(column.levels) > 10 for column in self.categorical) > 1:
            raise ValueError("categorical: at most one column may have more than 10 levels")
        return self

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of all columns that can be features, in the order of the lexicon."""
        columns: tuple[NumericColumn | CategoricalColumn | OrdinalColumn | DateColumn, ...]
        columns = (*self.numeric, *self.categorical, *self.ordinal, *self.dates)
        return tuple(column.name for column in columns)


@cache
def load_domains() -> tuple[Domain, ...]:
    """All domains of the lexicon, sorted by slug.

    Raises:
        SandmleError: a file of the lexicon is broken; names it and its first fault.
    """
    folder = files(__package__).joinpath("domains")
    sources = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".yaml")), key=lambda e: e.name)
    return tuple(_parse(entry.name, entry.read_text(encoding="utf-8")) for entry in sources)


def get_domain(slug: str) -> Domain:
    """The domain named ``slug``.

    Raises:
        BadInput: there is none; lists those there are.
    """
    domains = {domain.slug: domain for domain in load_domains()}
    if slug not in domains:
        raise BadInput(f"no domain {slug!r} in the lexicon; choose one of: {', '.join(domains)}")
    return domains[slug]


def _parse(file_name: str, text: str) -> Domain:
    try:
        domain = Domain.model_validate(yaml.safe_load(text))
    except ValidationError as error:
        raise SandmleError(f"lexicon file {file_name}: {first_problem(error)}") from error
    except yaml.YAMLError as error:
        raise SandmleError(f"lexicon file {file_name}: not YAML: {error}") from error
    if f"{domain.slug}.yaml" != file_name:
        raise SandmleError(f"lexicon file {file_name}: its slug is {domain.slug!r}; name the file after it")
    return domain
