"""Texts, pairs of texts, and texts beside a table: the factors can be read back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds import get_kind
from sandmle.agents.procedural.kinds._prose import FRAMES
from sandmle.files import hash_tree

if TYPE_CHECKING:
    from conftest import Make

KINDS = ("text", "pair", "table_text")
QUICK = {("text", "ordinal"), ("pair", "binary"), ("table_text", "regression")}
TASKS = [
    task if task in QUICK else pytest.param(*task, marks=pytest.mark.slow)
    for task in ((kind, problem) for kind in KINDS for problem in get_kind(kind).problems)
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_factor_is_read_back_from_the_public_files(make: Make, kind: str) -> None:
    made = make(kind)
    seed, n = made.plan.test_seed, made.plan.n_test
    factors, _ = made.generator()["draw_items"](np.random.default_rng([seed, 0]), n, "test")
    observed = made.run("informed")["TEST_FACTORS"]
    told = Blueprint.of(made.plan).content["factors"] if kind == "table_text" else list(factors)
    assert len(told) >= 6
    for name in told:
        assert (observed[name].to_numpy() == factors[name].to_numpy()).mean() > 0.99, name


@pytest.mark.parametrize(("kind", "problem"), TASKS)
def test_every_rung_writes_a_valid_submission_and_the_informed_one_beats_the_constant(
    make: Make, kind: str, problem: str
) -> None:
    made = make(kind, problem, n_train=80, n_test=200)
    scores = {rung: made.score(rung) for rung in made.plan.rungs}
    assert scores["dummy"] < scores["informed"]
    assert made.bayes() > scores["dummy"]


@pytest.mark.parametrize("kind", KINDS)
def test_equal_seeds_give_equal_bytes(make: Make, kind: str) -> None:
    made = make(kind)
    assert hash_tree(made.generate("again")) == hash_tree(made.root / "draw")


@pytest.mark.parametrize("kind", KINDS)
def test_the_brief_names_every_column_and_no_factor_of_the_text(make: Make, kind: str) -> None:
    made = make(kind)
    blueprint = Blueprint.of(made.plan)
    brief = get_kind(kind).brief(blueprint)
    public = [name for name in made.table("test.csv").columns if name != made.plan.submission.id_column]
    assert {column.name for column in brief.columns} == set(public)
    assert not set(blueprint.content["factors"]) & set(public)


@pytest.mark.parametrize("kind", ["text", "table_text"])
def test_texts_are_sentences_that_differ(make: Make, kind: str) -> None:
    made = make(kind)
    texts = made.table("train.csv")[Blueprint.of(made.plan).content["column"]]
    assert texts.is_unique
    for text in texts:
        sentences = re.split(r"(?<=[.!?]) ", text)
        assert 4 <= len(sentences) <= 20
        assert all(re.fullmatch(r"[A-Z].*[.!?]", sentence) for sentence in sentences)
        assert not re.search(r"[{}]|  ", text)


def test_single_words_do_not_tell_what_is_denied(make: Make) -> None:
    """Every text denies two of four qualities, so no count of one word goes with denied praise."""
    made = make("text", "regression", n_train=400)
    generator = made.generator()
    rng = np.random.default_rng(5)
    factors, _ = generator["draw_items"](rng, 1500, "train")
    factors["denied_praise"] = rng.integers(0, 3, 1500)
    texts = generator["publish"](rng, factors, None, None, "train", None).iloc[:, 0].str.lower()
    words = {word for frame in FRAMES["denials"] for word in re.findall(r"[a-z]{2,}", frame)}
    for word in sorted(words):
        counts = texts.str.count(rf"\b{word}\b")
        if counts.std() > 0:
            assert abs(np.corrcoef(counts, factors["denied_praise"])[0, 1]) < 0.11, word


def test_agreeing_texts_of_a_pair_share_no_more_words_than_others(make: Make) -> None:
    made = make("pair", "regression")
    generator = made.generator()
    rng = np.random.default_rng(6)
    factors, _ = generator["draw_items"](rng, 1200, "train")
    agreed = [name for name in factors if name.startswith("agreed_")]
    pairs = generator["publish"](rng, factors, None, None, "train", None)
    words = pairs.map(lambda text: set(re.findall(r"[a-z]+", text.lower())))
    overlap = [len(left & right) / len(left | right) for left, right in words.itertuples(index=False)]
    for name in agreed:
        same = (factors[name] == "same").to_numpy(float)
        assert abs(np.corrcoef(same, overlap)[0, 1]) < 0.12, name
    assert np.corrcoef(factors["shared_words"], overlap)[0, 1] > 0.2
