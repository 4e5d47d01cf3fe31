"""The paper's 60 seeds as facts: the same ids as MLE-bench's table, with metrics that suit their problems."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

from sandmle.eval.metrics import get_metric
from sandmle.seeds import get_seed, list_seeds, select_seeds

TABLE = Path(__file__).with_name("mlebench_competitions.tsv")


def test_they_are_mlebench_without_lite() -> None:
    with TABLE.open(encoding="utf-8") as stream:
        ids = {row["id"] for row in csv.DictReader(stream, delimiter="\t") if row["split"] != "low"}
    assert {seed.id for seed in select_seeds(["paper"])} == ids
    assert len(ids) == 60


def test_metrics_suit_the_problems() -> None:
    for seed in select_seeds(["paper"]):
        metric = get_metric(seed.metric)
        assert seed.problem_type in metric.problem_types, seed.id
        assert seed.lower_is_better == metric.lower_is_better
        assert not seed.has_data


def test_about_half_are_images() -> None:
    counts = Counter(seed.modality for seed in select_seeds(["paper"]))
    assert set(counts) == {"image", "tabular", "text", "multimodal", "graph", "audio", "series"}
    assert counts["image"] == 29


def test_they_are_listed_and_found_by_id() -> None:
    assert get_seed("tgs-salt-identification-challenge").problem_type == "segmentation"
    assert len({seed.id for seed in list_seeds()}) == len(list_seeds())
