"""The table of formats, against the list of all competitions and against the registry of metrics."""

import csv
from pathlib import Path

from sandmle.eval.metrics import get_metric
from sandmle.eval.suites.mle_bench import competitions
from sandmle.submission import COLUMN_PER_CLASS

TABLE = Path(__file__).parents[3] / "seeds" / "mlebench_competitions.tsv"
DOCS = Path(__file__).parents[4] / "docs" / "mle-bench.md"


def test_all_82_competitions_are_there_with_their_splits():
    with TABLE.open() as stream:
        splits = {row["id"]: row["split"] for row in csv.DictReader(stream, delimiter="\t")}
    assert {name: found.split for name, found in competitions().items()} == splits


def test_metric_format_and_problem_suit_each_other():
    for found in competitions().values():
        if not found.metric:
            assert not found.classes
            continue
        metric = get_metric(found.metric)
        assert found.problem in metric.problem_types, found.id
        assert found.id_column, found.id
        if metric.prediction not in COLUMN_PER_CLASS:
            assert len(found.columns) == 1, found.id
        assert not found.classes or metric.prediction == "label", found.id
        assert not found.sums_to_one or metric.prediction == "class_probabilities", found.id


def test_all_of_lite_but_one_has_a_metric_of_ours():
    lite = [found for found in competitions().values() if found.split == "low"]
    assert len(lite) == 22
    assert [found.id for found in lite if not found.metric] == ["nomad2018-predict-transparent-conductors"]
    assert all(found.metric for found in competitions().values() if found.split == "dev")


def test_the_docs_have_a_line_on_every_competition_of_lite():
    lines = DOCS.read_text().splitlines()
    for found in competitions().values():
        if found.split == "low":
            (line,) = [line for line in lines if line.startswith(f"| {found.id} ")]
            assert (f"`{found.metric}`" if found.metric else "original") in line
