"""Pairs of nodes: readings against plain loops, and one graph for all redraws."""

from __future__ import annotations

import math
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sandmle.agents.procedural._render import render_to
from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.kinds import get_kind
from sandmle.agents.procedural.kinds.links import OF_FEATURE, PLAIN, WORDS

Make = Any
EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (3, 5), (0, 5), (5, 6)]
SIZE = [4.0, 7.0, 5.5, 6.0, 3.0, 8.0, 5.0]
LEVELS = ["red", "red", "blue", "red", "blue", "blue", "red"]
NEAR = [sorted({b for a, b in EDGES if a == k} | {a for a, b in EDGES if b == k}) for k in range(7)]
PAIRS = [(a, b) for a in range(7) for b in range(7) if a != b]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Every reading of all pairs of a graph of seven nodes."""
    readings = [{"name": how, "how": how, "feature": "size" if how in (*PLAIN, *OF_FEATURE) else ""} for how in WORDS]
    feature = {"name": "size", "law": "normal", "center": 5.0, "scale": 2.0}
    content = {"features": [feature], "category": "colour", "readings": readings}
    path: Path = tmp_path_factory.mktemp("links") / "factors.py"
    render_to(path, "kinds/links/_factors.py.j2", content=content)
    path.write_text("import numpy as np\nimport pandas as pd\n" + path.read_text())
    nodes = pd.DataFrame({"size": SIZE, "colour": LEVELS})
    frame: pd.DataFrame = runpy.run_path(str(path))["factors_of"](nodes, np.array(EDGES).T, np.array(PAIRS).T)
    return frame


def test_readings_of_both_ends(read: pd.DataFrame) -> None:
    z = (np.array(SIZE) - 5) / 2
    near = np.array([z[around].mean() for around in NEAR])
    for (a, b), (_, row) in zip(PAIRS, read.iterrows(), strict=True):
        assert row["gap"] == pytest.approx(abs(z[a] - z[b]))
        assert row["sum"] == pytest.approx(z[a] + z[b])
        assert row["product"] == pytest.approx(z[a] * z[b])
        assert row["around"] == pytest.approx(abs(near[a] - near[b]))
        assert row["fit"] == pytest.approx((abs(z[a] - near[b]) + abs(z[b] - near[a])) / 2)
        assert row["count_sum"] == pytest.approx(math.log(len(NEAR[a]) * len(NEAR[b])))
        assert row["count_gap"] == pytest.approx(abs(math.log(len(NEAR[a]) / len(NEAR[b]))))
        assert row["same"] == ("yes" if LEVELS[a] == LEVELS[b] else "no")


def test_readings_of_what_lies_between(read: pd.DataFrame) -> None:
    reach = [np.mean([len(NEAR[other]) for other in around]) for around in NEAR]
    red = [np.mean([LEVELS[other] == "red" for other in around]) for around in NEAR]
    for (a, b), (_, row) in zip(PAIRS, read.iterrows(), strict=True):
        both = math.sqrt(len(NEAR[a]) * len(NEAR[b]))
        assert row["tied"] == ("yes" if b in NEAR[a] else "no")
        assert row["shared"] == pytest.approx(math.sqrt(len(set(NEAR[a]) & set(NEAR[b])) / both))
        ways = sum(far in NEAR[near] for near in NEAR[a] if near != b for far in NEAR[b] if far != a)
        assert row["bridges"] == pytest.approx(math.log1p(ways / both))
        assert row["hubs"] == pytest.approx(abs(math.log(reach[a] / reach[b])))
        assert row["mix"] == pytest.approx(abs(red[a] - red[b]))


def test_no_reading_depends_on_which_node_comes_first(read: pd.DataFrame) -> None:
    turned = read.iloc[[PAIRS.index((b, a)) for a, b in PAIRS]].reset_index(drop=True)
    pd.testing.assert_frame_equal(read, turned)


def test_informed_baseline_reads_what_the_generator_read(make: Make) -> None:
    made = make("links")
    seen = made.run("informed")["TEST_FACTORS"]
    drawn, _ = made.generator()["draw_items"](np.random.default_rng([made.plan.test_seed, 0]), 300 + 1000, "test")
    pd.testing.assert_frame_equal(seen, drawn.iloc[:300], check_dtype=False, rtol=1e-12)


def test_usual_values_are_those_of_drawn_graphs(make: Make) -> None:
    made = make("links")
    population, _ = made.generator()["draw_items"](np.random.default_rng(1), 5000, "test")
    for column in Blueprint.of(made.plan).table.numeric():
        scaled = column.scaled()
        z = (population[column.name] - scaled.center) / scaled.scale
        assert abs(z.mean()) < 0.6, column.name
        assert 0.5 < z.std() < 1.6, column.name


def test_another_training_draw_labels_other_pairs_of_the_same_graph(make: Make) -> None:
    made = make("links")
    seeds = made.plan.train_seeds
    other = type(made)(made.plan.model_copy(update={"train_seeds": seeds[::-1]}), made.root).generate("other")
    for name in ("nodes.csv", "edges.csv", "test.csv"):
        assert (other / "public" / name).read_bytes() == (made.public / name).read_bytes()
    for name in ("answers.csv", "bayes.csv"):
        assert (other / "private" / name).read_bytes() == (made.root / "draw/private" / name).read_bytes()
    train = (made.table("train.csv"), pd.read_csv(other / "public/train.csv"))
    test, nodes, edges = made.table("test.csv"), made.table("nodes.csv"), made.table("edges.csv")
    assert set(train[0]["pair_id"]) != set(train[1]["pair_id"])
    ends = list(edges.columns)
    pairs = [{frozenset(row) for row in table[ends].itertuples(index=False)} for table in (*train, test, edges)]
    assert len(pairs[2]) == len(test)
    assert not (pairs[0] | pairs[1]) & pairs[2]
    assert set().union(*pairs[0], *pairs[1], *pairs[2], *pairs[3]) == set(nodes.iloc[:, 0])
    assert 0.1 < len(pairs[2] & pairs[3]) / len(pairs[2]) < 0.5


def test_equal_seeds_give_equal_bytes(make: Make) -> None:
    made = make("links")
    again = made.generate("again")
    for path in sorted((made.root / "draw").rglob("*.csv")):
        assert path.read_bytes() == (again / path.relative_to(made.root / "draw")).read_bytes()


def test_brief_names_the_columns_of_the_files(make: Make) -> None:
    made = make("links")
    brief = get_kind("links").brief(Blueprint.of(made.plan))
    for name in ("nodes.csv", "edges.csv"):
        assert [column.name for column in brief.columns if column.file == name] == list(made.table(name).columns)
    own = [column.name for column in brief.columns if not column.file]
    assert list(made.table("test.csv").columns) == ["pair_id", *own]


def test_rungs_climb(make: Make) -> None:
    made = make("links")
    dummy, informed, bayes = made.score("dummy"), made.score("informed"), made.bayes()
    generic = max(made.score(rung) for rung in ("linear", "trees", "blend"))
    assert dummy < generic < informed <= bayes + 0.1 * abs(bayes - dummy)
