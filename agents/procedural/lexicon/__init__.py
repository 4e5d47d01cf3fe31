"""The lexicon of the procedural team: the domains that synthetic tasks are set in.

Vocabulary:
    domain     one invented organisation with its entity, columns, units, plausible ranges and possible targets;
               one YAML file under ``domains/``, named by its slug
    group      numeric columns that plausibly share a common cause (several measures of one thing)
    target     what a competition in this domain may ask for: one of each problem type
    medium     what a domain can show of an entity besides a table: image, audio, text, pair of texts, series,
               graph, lines to rewrite
    related    ids and terms of seeds that a domain resembles, so that no seed is dressed up as itself

A domain knows words and ranges only. It says nothing about how a feature relates to a target: the hidden rule does.
"""

from sandmle.agents.procedural.lexicon._columns import (
    CategoricalColumn,
    DateColumn,
    IdColumn,
    NumericColumn,
    OrdinalColumn,
)
from sandmle.agents.procedural.lexicon._domain import Domain
from sandmle.agents.procedural.lexicon._library import get_domain, load_domains, media_domains, parse_domain
from sandmle.agents.procedural.lexicon._media import (
    AudioMedium,
    Channel,
    GraphMedium,
    ImageMedium,
    Media,
    MediaKind,
    PairMedium,
    RewriteMedium,
    SeriesMedium,
    Shortening,
    SpokenUnit,
)
from sandmle.agents.procedural.lexicon._setting import Setting
from sandmle.agents.procedural.lexicon._targets import (
    BinaryTarget,
    ForecastTarget,
    LinkTarget,
    MulticlassTarget,
    MultilabelTarget,
    OrdinalTarget,
    RankedTogether,
    RankingTarget,
    RegressionTarget,
    ScoreTarget,
    SegmentationTarget,
    Target,
    Targets,
)
from sandmle.agents.procedural.lexicon._vocabulary import Qualities, Quantity, TextMedium, Topic
from sandmle.agents.procedural.lexicon._words import DictionaryLine, Level, Name, Question, Text, require_unique

__all__ = [
    "AudioMedium",
    "BinaryTarget",
    "CategoricalColumn",
    "Channel",
    "DateColumn",
    "DictionaryLine",
    "Domain",
    "ForecastTarget",
    "GraphMedium",
    "IdColumn",
    "ImageMedium",
    "Level",
    "LinkTarget",
    "Media",
    "MediaKind",
    "MulticlassTarget",
    "MultilabelTarget",
    "Name",
    "NumericColumn",
    "OrdinalColumn",
    "OrdinalTarget",
    "PairMedium",
    "Qualities",
    "Quantity",
    "Question",
    "RankedTogether",
    "RankingTarget",
    "RegressionTarget",
    "RewriteMedium",
    "ScoreTarget",
    "SegmentationTarget",
    "SeriesMedium",
    "Setting",
    "Shortening",
    "SpokenUnit",
    "Target",
    "Targets",
    "Text",
    "TextMedium",
    "Topic",
    "get_domain",
    "load_domains",
    "media_domains",
    "parse_domain",
    "require_unique",
]
