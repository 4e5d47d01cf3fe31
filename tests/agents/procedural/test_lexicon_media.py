"""What the lexicon knows beyond tables: every validator of targets and media, and the whole lexicon against them."""

import copy
import io
import json
import re
from collections import Counter
from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from sandmle.agents import procedural
from sandmle.agents.procedural.lexicon import Domain, load_domains, media_domains, parse_domain
from sandmle.agents.procedural.lexicon._vocabulary import content_words
from sandmle.agents.procedural.lexicon._words import Clause, DictionaryLine, Name, Phrase, Word
from sandmle.errors import SandmleError
from sandmle.record import Record
from sandmle.task import SubmissionFormat

KINDS = ("image", "audio", "text", "pair", "series", "graph", "rewrite")
DOMAINS = load_domains()
TEXT_DOMAINS = [domain for domain in DOMAINS if domain.media.text]
GOOD_FILE = Path(procedural.__file__).parent / "domains" / "orchard-blocks.yaml"
GOOD = yaml.safe_load(GOOD_FILE.read_text(encoding="utf-8"))
RELATION_WORDS = re.compile(
    r"\bdepends?\b|driven by|correlat|predictor|explains?\b|the (higher|lower|more)[^?]*, the|increases? with|interact"
)


class _Missing:
    """Stands for a part that is left out."""

    def __repr__(self) -> str:
        return "nothing"


DELETE = _Missing()


def each(domains):
    return pytest.mark.parametrize("domain", domains, ids=lambda domain: domain.slug)


def altered(*changes: tuple[str, object]) -> dict:
    """The raw YAML of a domain that has every medium, with ``path.to.key`` set or deleted."""
    raw = copy.deepcopy(GOOD)
    for dotted, value in changes:
        *parents, last = [int(part) if part.isdigit() else part for part in dotted.split(".")]
        place = raw
        for part in parents:
            place = place[part]
        if value is DELETE:
            del place[last]
        else:
            place[last] = value
    return raw


def strings_of(value: object) -> list[str]:
    """Every string inside a record."""
    if isinstance(value, Record):
        return [text for name in type(value).model_fields for text in strings_of(getattr(value, name))]
    if isinstance(value, tuple):
        return [text for item in value for text in strings_of(item)]
    return [value] if isinstance(value, str) else []


def counted_words(domain: Domain) -> list[str]:
    text = domain.media.text
    lists = [text.objects, text.actions, text.people, text.places, *(topic.words for topic in text.topics)]
    lists += [text.qualities.praise, text.qualities.blame, text.qualities.neutral]
    return [word for entries in lists for word in content_words(entries)]


@pytest.mark.parametrize("kind", KINDS)
def test_media_domains_are_those_that_have_the_medium(kind):
    found = media_domains(kind)
    assert found == tuple(domain for domain in DOMAINS if getattr(domain.media, kind) is not None)
    assert len(found) >= 10


@each(DOMAINS)
def test_every_domain_has_five_media_or_more_and_all_that_goes_with_them(domain):
    assert len(domain.media.kinds) >= 5
    assert (domain.targets.segmentation is None) == (domain.media.image is None)
    assert (domain.targets.forecast is None) == (domain.media.series is None)


@each(TEXT_DOMAINS)
def test_a_content_word_of_the_vocabulary_stands_in_one_list(domain):
    counts = Counter(counted_words(domain))
    assert [word for word, count in counts.items() if count > 1] == []
    text = domain.media.text
    around = content_words((*text.requests, *text.openers, text.quantity.noun, text.quantity.unit))
    assert around & counts.keys() == set()


@each(TEXT_DOMAINS)
def test_texts_built_from_the_vocabulary_survive_a_csv_round_trip(domain):
    text = domain.media.text
    lines = [
        f"the {person} {action} at the {place}."
        for person, action, place in zip(text.people, text.actions, text.places, strict=False)
    ]
    lines += [f"the {thing} was {quality}." for thing, quality in zip(text.objects, text.qualities.blame, strict=False)]
    lines += [*text.requests, *text.openers, *(word for topic in text.topics for word in topic.words)]
    frame = pd.DataFrame({text.column: lines})
    assert pd.read_csv(io.StringIO(frame.to_csv(index=False)))[text.column].tolist() == lines
    assert all(line.isascii() and line == line.lower() for line in lines)


@each(DOMAINS)
def test_prose_of_targets_and_media_says_nothing_about_the_rule(domain):
    for text in (*strings_of(domain.targets), *strings_of(domain.media)):
        assert not RELATION_WORDS.search(text.lower()), text


@each(DOMAINS)
def test_labels_of_a_multilabel_target_are_legal_in_a_submission(domain):
    goal = domain.targets.multilabel
    form = SubmissionFormat(
        id_column=domain.id.column, prediction_columns=goal.labels, kind="label_probabilities", classes=goal.labels
    )
    assert form.classes == goal.labels
    SubmissionFormat(
        id_column=domain.id.column, prediction_columns=(goal.column,), kind="label_set", classes=goal.labels
    )


@each([domain for domain in DOMAINS if domain.media.series])
def test_values_of_channels_can_be_recorded(domain):
    for channel in domain.media.series.channels:
        for value in (channel.low, channel.high):
            assert float(f"{round(value, channel.decimals):.6g}") == value, channel.name


@each([domain for domain in DOMAINS if domain.media.rewrite])
def test_rewriting_has_something_to_do_in_every_entry(domain):
    rewrite = domain.media.rewrite
    for written, spoken in [
        *((unit.written, unit.spoken) for unit in rewrite.units),
        *((entry.short, entry.long) for entry in rewrite.shortenings),
    ]:
        assert written.lower() not in spoken.split()


CALENDAR = {
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    *("january", "february", "march", "april", "june", "july", "august", "september", "october", "november"),
    "december",
}
NAMES = {
    level.lower()
    for domain in DOMAINS
    for column in domain.categorical
    for level in column.levels
    if re.fullmatch("[A-Z][a-z]{3,}", level)
}


@each(TEXT_DOMAINS)
def test_no_day_month_or_town_stands_in_lower_case(domain):
    text = domain.media.text
    used = {word for entry in (*text.requests, *text.openers, *text.actions) for word in re.findall("[a-z]+", entry)}
    assert {"ambleford", "ostrava", "italy"} <= NAMES
    assert not used & (CALENDAR | NAMES)


def test_vocabularies_differ_between_domains():
    vocabularies = {domain.slug: set(counted_words(domain)) for domain in TEXT_DOMAINS}
    for (slug, own), (other, words) in combinations(vocabularies.items(), 2):
        assert len(own & words) <= len(own) / 2, (slug, other)


def test_subjects_of_media_are_used_once():
    media = [getattr(domain.media, kind) for domain in DOMAINS for kind in domain.media.kinds]
    counts = Counter(medium.subject for medium in media if hasattr(medium, "subject"))
    assert [subject for subject, count in counts.items() if count > 1] == []


REFUSED = [
    ("targets.multilabel.labels", ["aphids", "scab", "mildew"], "at least 4"),
    ("targets.multilabel.labels.0", "green aphids", "targets.multilabel.labels.0"),
    ("targets.multilabel.labels.0", "none", "would be read back"),
    ("targets.multilabel.labels.0", "scab", "levels must differ"),
    ("targets.multilabel.labels.0", "slope", "column names must be unique; more than once: slope"),
    ("targets.ordinal.labels", ["low", "middle", "high"], "at least 4"),
    ("targets.ordinal.labels.0", "N/A", "would be read back"),
    ("targets.ordinal.question", "It needs thinning.", "targets.ordinal.question"),
    ("targets.ordinal.title", "Orchard Blocks: " + "thinning " * 7 + "now", "at most 70"),
    ("targets.ordinal.description", "Thinning that was ordered.", "without a punctuation mark"),
    ("targets.ranking.group.column", "variety", "column names must be unique"),
    ("targets.ranking.group.prefix", "BLK", "prefix BLK is that of the id"),
    ("targets.segmentation", DELETE, "targets.segmentation: goes with media.image"),
    ("targets.forecast", DELETE, "targets.forecast: goes with media.series"),
    ("targets.forecast.unit", "mm", "unit must be that of the first channel, '%'"),
    ("media.image", DELETE, "targets.segmentation: goes with media.image"),
    ("media.image.column", "usage", "'usage' is a column that task files use"),
    ("media.image.column", "Leaf Photo", "media.image.column"),
    ("media.image.column", "leaf_index", "column names must be unique"),
    ("media.image.subject", "A leaf", "media.image.subject"),
    ("media.image.source", "the crew.", "ends without a punctuation mark"),
    ("media.image.markings", "Spots, brown", "media.image.markings"),
    ("media.image.description", "photograph of a leaf", "media.image.description"),
    ("media.audio.event", "", "media.audio.event"),
    ("media.text", DELETE, "pair: needs the vocabulary of text"),
    ("media.text.objects", ["branch", "bark"], "at least 12"),
    ("media.text.objects.0", "Branch", "media.text.objects.0"),
    ("media.text.objects.0", "null", "would be read back"),
    ("media.text.objects.0", "bark", "levels must differ"),
    ("media.text.objects.0", "apple", "in both objects and topic fruit: apple"),
    ("media.text.objects.0", "pump handle", "in both objects and places: pump"),
    ("media.text.objects.0", "week", "in both requests and objects: week"),
    ("media.text.objects.0", "inspection", "in both openers and objects: inspection"),
    ("media.text.objects.0", "kilograms", "in both quantity and objects: kilograms"),
    ("media.text.qualities.blame.0", "sturdy", "in both qualities.praise and qualities.blame: sturdy"),
    ("media.text.actions.0", "fixed the net", "in both objects and actions: net"),
    ("media.text.people", ["scout"] * 6, "levels must differ"),
    ("media.text.places.0", "root cellar", "in both objects and places: root"),
    ("media.text.topics.0.words.0", "drought", "in both topic pests and topic water: drought"),
    ("media.text.topics.0.words", ["aphid"], "at least 8"),
    ("media.text.topics.0.name", "water", "names must be unique; more than once: water"),
    ("media.text.quantity.high", 30, "must span at least 20"),
    ("media.text.requests.0", "Please call us.", "media.text.requests.0"),
    ("media.text.requests.0", "please call us", "media.text.requests.0"),
    ("media.text.openers.0", "please let us know by tomorrow.", "requests and openers must be unique"),
    ("media.pair.right", "spring_note", "column names must be unique"),
    ("media.pair.score.question", "How alike are they", "media.pair.score.question"),
    ("media.series.channels.0.high", 6.5, "fewer than 10 distinct values"),
    ("media.series.channels", [], "at least 2"),
    ("media.series.channels.0.name", "soil_ph", "column names must be unique"),
    ("media.series.step", "every hour!", "media.series.step"),
    ("media.graph.features.0", "sunlight", "media.graph.features: no such numeric column: sunlight"),
    ("media.graph.features.0", "soil_ph", "names must be unique; more than once: soil_ph"),
    ("media.graph.edge_columns", ["block_a", "block_a"], "names must be unique; more than once: block_a"),
    ("media.graph.edge_columns.0", "block_id", "column names must be unique"),
    ("media.graph.link.question", "They share it.", "media.graph.link.question"),
    ("media.rewrite.units.0.written", "k g", "must hold no blank"),
    ("media.rewrite.units.0.written", "kg,", "must hold no blank, comma"),
    ("media.rewrite.units.0.written", "blk", "written forms must be unique; more than once: blk"),
    ("media.rewrite.units.0.spoken", "block", "full forms must be unique; more than once: block"),
    ("media.rewrite.shortenings.0.short", "litres", "a written form is also a full form: litres"),
    ("media.rewrite.shortenings.0.long", "Block", "media.rewrite.shortenings.0.long"),
    ("media.rewrite.target", "log_entry", "column names must be unique"),
    ("media.video", {}, "media.video: Extra inputs"),
    ("media", DELETE, "media: Field required"),
    ("targets.multilabel", DELETE, "targets.multilabel: Field required"),
    ("targets.ordinal", DELETE, "targets.ordinal: Field required"),
    ("targets.ranking", DELETE, "targets.ranking: Field required"),
]


@pytest.mark.parametrize(
    ("path", "value", "complaint"), REFUSED, ids=[f"{path}={value}"[:60] for path, value, _ in REFUSED]
)
def test_a_fault_is_refused_with_the_file_and_the_field(path, value, complaint):
    text = json.dumps(altered((path, value)), default=str, ensure_ascii=False)  # JSON is YAML
    with pytest.raises(SandmleError, match=re.escape(complaint)) as caught:
        parse_domain("orchard-blocks.yaml", text)
    message = str(caught.value)
    assert message.startswith("lexicon file orchard-blocks.yaml: ")
    assert "\n" not in message


def test_a_domain_with_four_media_is_refused():
    raw = altered(*((f"media.{kind}", DELETE) for kind in ("audio", "graph", "rewrite")))
    with pytest.raises(ValidationError, match=r"has 4 media \(image, text, pair, series\); needs 5 or more"):
        Domain.model_validate(raw)


def test_a_graph_may_bring_columns_of_its_own():
    own = {"name": "pipe_count", "label": "pipes", "unit": "", "low": 0, "high": 40, "shape": "uniform", "decimals": 0}
    raw = altered(("media.graph.features.0", {**own, "description": "Pipes that end in the block"}))
    graph = Domain.model_validate(raw).media.graph
    assert [feature.name for feature in graph.own_features] == ["pipe_count"]
    assert graph.link_question == graph.link.question
    raw["media"]["graph"]["features"][0]["name"] = "drip_rate"
    with pytest.raises(ValidationError, match="column names must be unique; more than once: drip_rate"):
        Domain.model_validate(raw)


def test_function_words_may_stand_in_several_lists():
    raw = altered(("media.text.actions.0", "went over the edge"), ("media.text.places.0", "edge-line of the field"))
    assert Domain.model_validate(raw).media.text.places[0] == "edge-line of the field"
    assert content_words(("went over the edge", "edge-line")) == {"went", "edge", "edge-line"}


@given(st.text(max_size=12))
def test_a_word_that_is_accepted_is_plain_and_survives_a_csv(text):
    try:
        word = TypeAdapter(Word).validate_python(text)
    except ValidationError:
        return
    assert re.fullmatch(r"[a-z]+([ -][a-z]+)*", word)
    assert pd.read_csv(io.StringIO(pd.DataFrame({"w": [word]}).to_csv(index=False)))["w"].tolist() == [word]


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (Name, ["leaf_photo", "x2"], ["Leaf", "2x", "a__b", "a-b", "", "step", "canary", "id", "null"]),
        (Word, ["hot spot", "left-handed"], ["Hot", "hot  spot", "spot ", "spots2", "na", "true", "café"]),
        (Phrase, ["the crew's camera", "a wall of 2 m"], ["The crew", "the crew.", "the crew, ", "the  crew", ""]),
        (DictionaryLine, ["Pixels of a leaf", "Share, in %"], ["pixels", "Pixels.", "Pixels ", ""]),
        (
            Clause,
            ["please call us soon.", "one long-standing wish."],
            ["please", "please call!", "call us, please.", "Call us."],
        ),
    ],
)
def test_kinds_of_text(kind, good, bad):
    adapter = TypeAdapter(kind)
    assert [adapter.validate_python(text) for text in good] == good
    for text in bad:
        with pytest.raises(ValidationError):
            adapter.validate_python(text)
