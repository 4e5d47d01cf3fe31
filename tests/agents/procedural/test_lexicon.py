"""The lexicon: what its files hold, what its schema refuses, and that no domain borrows from another."""

import copy
import io
import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
import yaml
from pydantic import ValidationError

from sandmle.agents import procedural
from sandmle.agents.procedural.lexicon import Domain, _library, get_domain, load_domains
from sandmle.agents.procedural.mutations.units import OTHERS as UNITS
from sandmle.errors import BadInput, SandmleError
from sandmle.seeds import list_seeds

DOMAINS = load_domains()
GOOD_FILE = Path(procedural.__file__).parent / "domains" / "orchard-blocks.yaml"
GOOD = yaml.safe_load(GOOD_FILE.read_text(encoding="utf-8"))
RESEMBLED_SEEDS = {
    "breast-cancer",
    "diabetes",
    "wine",
    "hitters",
    "orange-juice",
    "bike-share",
    "college",
    "auto",
    "wage",
}
RELATION_WORDS = re.compile(
    r"depend|driven by|correlat|predictor|explains?\b|the higher|the lower|the more|increase[sd]? with|interact|hidden"
)

UNIT_HEAD = re.compile(r"(Mean |Median )?(Seconds|Minutes|Hours|Days|Weeks|Months|Years|Kilo|Metres|Percent)")


def each_domain(function):
    return pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.slug)(function)


def words(name: str) -> set[str]:
    return {word for word in name.split("_") if len(word) > 3}


def sentences(text: str) -> int:
    return len(re.findall(r"[^.!?]+[.!?](?:\s|$)", text))


def all_targets(domain: Domain):
    media = domain.media
    own = [media.pair and media.pair.score, media.graph and media.graph.link]
    return (*domain.targets.all(), *(target for target in own if target))


def all_levels(domain: Domain) -> dict[str, tuple[str, ...]]:
    features = {column.name: column.levels for column in (*domain.categorical, *domain.ordinal)}
    labels = {target.column: target.labels for target in all_targets(domain) if hasattr(target, "labels")}
    return features | labels


def broken(**changes: object) -> dict:
    """The raw YAML of one good domain with ``path__to__key=value`` changes."""
    raw = copy.deepcopy(GOOD)
    for dotted, value in changes.items():
        *parents, last = [int(part) if part.isdigit() else part for part in dotted.split("__")]
        place = raw
        for part in parents:
            place = place[part]
        place[last] = value
    return raw


def test_at_least_thirty_domains_sorted_and_cached():
    slugs = [domain.slug for domain in DOMAINS]
    assert len(slugs) >= 30
    assert slugs == sorted(set(slugs))
    assert load_domains() is DOMAINS
    assert max(Counter(domain.sector for domain in DOMAINS).values()) <= 4


def test_get_domain_finds_each_and_names_the_choices():
    assert get_domain("tram-depot").entity == "tram trip"
    with pytest.raises(BadInput, match=r"no domain 'mars-base'.*orchard-blocks"):
        get_domain("mars-base")


@each_domain
def test_levels_survive_a_csv_round_trip(domain):
    for name, levels in all_levels(domain).items():
        frame = pd.DataFrame({"id": range(len(levels)), name: levels})
        back = pd.read_csv(io.StringIO(frame.to_csv(index=False)))
        assert back[name].tolist() == list(levels)
        for level in levels:
            alone = pd.read_csv(io.StringIO(pd.DataFrame({name: [level]}).to_csv(index=False)))
            assert alone[name].tolist() == [level]


@each_domain
def test_values_of_numeric_columns_survive_six_significant_digits(domain):
    for column in domain.numeric:
        for value in (column.low, column.high, (column.low + column.high) / 2):
            recorded = round(value, column.decimals)
            assert float(f"{recorded:.6g}") == recorded, column.name


@each_domain
def test_range_ends_can_be_recorded(domain):
    for column in domain.numeric:
        assert round(column.low, column.decimals) == column.low, column.name
        assert round(column.high, column.decimals) == column.high, column.name
        if column.unit == "%" and column.low >= 0:
            assert column.high <= 130, column.name


@each_domain
def test_no_description_of_a_number_begins_with_a_unit_that_a_task_may_change(domain):
    for column in domain.numeric:
        if column.unit in UNITS:
            assert not UNIT_HEAD.match(column.description), column.name


@each_domain
def test_no_feature_shares_a_word_with_a_target(domain):
    of_a_medium = (domain.targets.segmentation, domain.targets.forecast)
    for target in all_targets(domain):
        for feature in domain.feature_names if target not in of_a_medium else ():
            assert not words(target.column) & words(feature), (target.column, feature)


@each_domain
def test_no_level_of_a_feature_is_a_label(domain):
    labels = {label for target in all_targets(domain) for label in getattr(target, "labels", ())}
    for column in domain.ordinal:
        assert set(column.levels) != labels
    assert not labels <= {level for column in domain.categorical for level in column.levels}


@each_domain
def test_prose_is_plain_and_says_nothing_about_the_rule(domain):
    assert 2 <= sentences(domain.story) <= 4
    assert 1 <= sentences(domain.collection) <= 2
    assert domain.figures is None or sentences(domain.figures) == 1
    assert not RELATION_WORDS.search(f"{domain.story} {domain.collection} {domain.figures}".lower())
    for name in (*domain.feature_names, *(target.column for target in all_targets(domain))):
        if "_" in name:
            assert name not in domain.story


@each_domain
def test_titles_and_slug_fit_a_task_id(domain):
    for target in all_targets(domain):
        assert len(target.title) <= 70
        assert target.title.startswith(f"{all_targets(domain)[0].title.partition(':')[0]}: ")
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]*", f"{domain.slug}-0123abcd")
    assert len({target.title for target in all_targets(domain)}) == len(all_targets(domain))


def test_no_text_is_used_twice():
    texts = Counter()
    for domain in DOMAINS:
        texts.update([domain.host, domain.entity, domain.entities, domain.story, domain.collection, domain.id.prefix])
        texts.update([domain.figures] if domain.figures else [])
        columns = (*domain.numeric, *domain.categorical, *domain.ordinal, *domain.dates)
        texts.update(f"{column.name}: {column.description}" for column in columns)
        for target in all_targets(domain):
            texts.update([target.column, target.title, target.question, target.description])
    assert [text for text, count in texts.items() if count > 1] == []


def test_stories_share_no_run_of_eight_words():
    seen: dict[tuple[str, ...], str] = {}
    for domain in DOMAINS:
        tokens = re.findall(r"[a-z]+", f"{domain.story} {domain.collection} {domain.figures}".lower())
        for start in range(len(tokens) - 7):
            run = tuple(tokens[start : start + 8])
            assert seen.setdefault(run, domain.slug) == domain.slug, run


def test_seeds_that_a_domain_resembles_are_named_by_their_ids():
    named = {term for domain in DOMAINS for term in domain.related}
    assert {seed.id for seed in list_seeds()} >= RESEMBLED_SEEDS
    assert named >= RESEMBLED_SEEDS
    for term in named:
        assert sum(term in domain.related for domain in DOMAINS) <= len(DOMAINS) // 4


def test_multiclass_targets_come_ordered_and_unordered():
    orders = Counter(domain.targets.multiclass.ordered for domain in DOMAINS)
    assert min(orders.values()) >= 4
    assert len({len(domain.targets.multiclass.labels) for domain in DOMAINS}) == 3


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"numeric__0__name": "slope"}, "column names must be unique"),
        ({"targets__binary__column": "variety"}, "column names must be unique"),
        ({"groups__0__0": "sunlight"}, "no such numeric column: sunlight"),
        ({"groups__1__0": "leaf_index"}, "at most one"),
        ({"numeric__0__low": 0}, "lognormal column needs low > 0"),
        ({"numeric__9__high": 0.5}, "fewer than 10 distinct values"),
        ({"numeric__0__shape": "cauchy"}, "Input should be"),
        ({"categorical__1__levels__0": "N/A"}, "would be read back"),
        ({"categorical__1__levels__0": "None"}, "would be read back"),
        ({"categorical__1__levels__0": "1e5"}, "as a number"),
        ({"categorical__1__levels__0": "inf"}, "as a number"),
        ({"categorical__1__levels__0": "true"}, "would be read back"),
        ({"categorical__1__levels__0": "red, green"}, "comma"),
        ({"categorical__1__levels__0": ' "quoted"'}, "quote"),
        ({"categorical__1__levels__0": "Dwarf D26"}, "levels must differ"),
        ({"categorical__1__levels": [f"clone {letter}" for letter in "abcdefghijkl"]}, "more than 10 levels"),
        ({"ordinal__0__levels": ["open", "closed"]}, "at least 3"),
        ({"dates__0__end": "2021-04-13"}, "at least 90 days"),
        ({"targets__regression__center": 10}, "center >= 2"),
        ({"targets__binary__labels": ["no", "maybe", "yes"]}, "at most 2"),
        ({"targets__binary__question": "It will shed."}, "pattern"),
        ({"slug": "Orchard_Blocks"}, "pattern"),
        ({"soil": "loam"}, "Extra inputs"),
    ],
)
def test_schema_refuses(changes, complaint):
    with pytest.raises(ValidationError, match=complaint):
        Domain.model_validate(broken(**changes))


def test_the_unbroken_domain_is_accepted_and_frozen():
    domain = Domain.model_validate(broken())
    assert domain == get_domain("orchard-blocks")
    with pytest.raises(ValidationError, match="frozen"):
        domain.slug = "other"


def test_a_broken_file_is_named_with_its_first_fault(tmp_path, monkeypatch):
    folder = tmp_path / "domains"
    folder.mkdir()
    good = yaml.safe_dump(broken(), allow_unicode=True)
    monkeypatch.setattr(_library, "files", lambda package: tmp_path)
    for text, complaint in [
        ("slug: [", r"orchard\.yaml: not YAML"),
        (good.replace("sector: agriculture", "sector: ''"), r"orchard\.yaml: sector: "),
        (good, r"orchard\.yaml: its slug is 'orchard-blocks'"),
    ]:
        (folder / "orchard.yaml").write_text(text, encoding="utf-8")
        with pytest.raises(SandmleError, match=complaint):
            load_domains.__wrapped__()


@pytest.mark.parametrize("sentinel", sorted(set(map(str.lower, pd._libs.parsers.STR_NA_VALUES)) - {""}))
def test_every_word_that_pandas_reads_as_missing_is_refused(sentinel):
    with pytest.raises(ValidationError):
        Domain.model_validate(broken(categorical__1__levels__0=sentinel))
