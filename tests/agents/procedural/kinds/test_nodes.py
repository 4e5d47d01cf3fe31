"""Nodes of a graph: readings against plain loops, and one graph for all redraws."""

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
from sandmle.agents.procedural.kinds.nodes import OF_FEATURE, OF_PLACE

Make = Any
EDGES = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 5), (3, 5), (0, 5), (5, 6)]
SIZE = [4.0, 7.0, 5.5, 6.0, 3.0, 8.0, 5.0]
LEVELS = ["red", "red", "blue", "red", "blue", "blue", "red"]
NEAR = [sorted({b for a, b in EDGES if a == k} | {a for a, b in EDGES if b == k}) for k in range(7)]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Every reading of a graph of seven nodes."""
    readings = [
        {"name": how, "how": how, "feature": "size" if how in OF_FEATURE else ""} for how in (*OF_FEATURE, *OF_PLACE)
    ]
    feature = {"name": "size", "law": "normal", "center": 5.0, "scale": 2.0}
    content = {"features": [feature], "category": "colour", "readings": readings}
    path: Path = tmp_path_factory.mktemp("nodes") / "factors.py"
    render_to(path, "kinds/nodes/_factors.py.j2", content=content)
    path.write_text("import numpy as np\nimport pandas as pd\n" + path.read_text())
    nodes = pd.DataFrame({"size": SIZE, "colour": LEVELS})
    a, b = np.array(EDGES).T
    frame: pd.DataFrame = runpy.run_path(str(path))["factors_of"](nodes, a, b)
    return frame


def test_readings_of_the_neighbours(read: pd.DataFrame) -> None:
    z = (np.array(SIZE) - 5) / 2
    for node, near in enumerate(NEAR):
        around = z[near]
        row = read.iloc[node]
        assert row["neighbour_count"] == len(near)
        assert row["mean"] == pytest.approx(around.mean())
        assert row["top"] == around.max()
        assert row["share"] == pytest.approx((around > 0).mean())
        assert row["contrast"] == pytest.approx(around.mean() - z[node])
        assert row["variety"] == pytest.approx(around.std(), abs=1e-7)
        assert row["two_steps"] == pytest.approx(np.mean([z[NEAR[other]].mean() for other in near]))


def test_readings_of_the_place(read: pd.DataFrame) -> None:
    for node, near in enumerate(NEAR):
        pairs = [(a, b) for a in near for b in near if a < b]
        closed = sum(b in NEAR[a] for a, b in pairs) / max(len(pairs), 1)
        row = read.iloc[node]
        assert row["triangles"] == pytest.approx(math.sqrt(closed))
        assert row["hub"] == pytest.approx(math.log(max(len(NEAR[other]) for other in near)))
        assert row["same_level"] == pytest.approx(np.mean([LEVELS[other] == LEVELS[node] for other in near]))


def test_informed_baseline_reads_what_the_generator_read(make: Make) -> None:
    for problem in get_kind("nodes").problems:
        made = make("nodes", problem)
        seen = made.run("informed")["TEST_FACTORS"]
        drawn, _ = made.generator()["draw_items"](np.random.default_rng([made.plan.test_seed, 0]), 300 + 1000, "test")
        order = np.random.default_rng([made.plan.test_seed, 6]).permutation(1300)[:300]
        pd.testing.assert_frame_equal(seen, drawn.iloc[order].reset_index(drop=True), check_dtype=False, rtol=1e-12)


def test_usual_values_are_those_of_drawn_graphs(make: Make) -> None:
    for problem in get_kind("nodes").problems:
        made = make("nodes", problem)
        population, _ = made.generator()["draw_items"](np.random.default_rng(1), 5000, "test")
        for column in Blueprint.of(made.plan).table.numeric():
            scaled = column.scaled()
            values = np.log(population[column.name]) if scaled.log else population[column.name]
            z = (values - scaled.center) / scaled.scale
            assert abs(z.mean()) < 0.6, column.name
            assert 0.5 < z.std() < 1.6, column.name


def test_another_training_draw_labels_other_nodes_of_the_same_graph(make: Make) -> None:
    made = make("nodes", "binary")
    seeds = made.plan.train_seeds
    other = type(made)(made.plan.model_copy(update={"train_seeds": seeds[::-1]}), made.root).generate("other")
    for name in ("nodes.csv", "edges.csv", "test.csv"):
        assert (other / "public" / name).read_bytes() == (made.public / name).read_bytes()
    for name in ("answers.csv", "bayes.csv"):
        assert (other / "private" / name).read_bytes() == (made.root / "draw/private" / name).read_bytes()
    ids = made.plan.submission.id_column
    nodes, test = set(made.table("nodes.csv")[ids]), set(made.table("test.csv")[ids])
    first, second = set(made.table("train.csv")[ids]), set(pd.read_csv(other / "public/train.csv")[ids])
    assert len(nodes) == 1300
    assert first != second
    assert first | second | test <= nodes
    assert not (first | second) & test


def test_equal_seeds_give_equal_bytes(make: Make) -> None:
    made = make("nodes", "regression")
    again = made.generate("again")
    for path in sorted((made.root / "draw").rglob("*.csv")):
        assert path.read_bytes() == (again / path.relative_to(made.root / "draw")).read_bytes()


def test_edges_are_single_and_reach_every_node(make: Make) -> None:
    made = make("nodes", "multiclass")
    nodes, edges = made.table("nodes.csv"), made.table("edges.csv")
    pairs = [frozenset(row) for row in edges.itertuples(index=False)]
    assert len(set(pairs)) == len(pairs)
    assert all(len(pair) == 2 for pair in pairs)
    assert set().union(*pairs) == set(nodes[made.plan.submission.id_column])


def test_brief_names_the_columns_of_the_files(make: Make) -> None:
    made = make("nodes", "binary")
    brief = get_kind("nodes").brief(Blueprint.of(made.plan))
    assert {file.name for file in brief.files} == {path.name for path in made.public.iterdir()} & {
        "nodes.csv",
        "edges.csv",
    }
    for name in ("nodes.csv", "edges.csv"):
        assert [column.name for column in brief.columns if column.file == name] == list(made.table(name).columns)


@pytest.mark.parametrize("problem", sorted(get_kind("nodes").problems))
def test_rungs_climb(make: Make, problem: str) -> None:
    made = make("nodes", problem)
    dummy, informed, bayes = made.score("dummy"), made.score("informed"), made.bayes()
    generic = max(made.score(rung) for rung in ("linear", "trees", "blend"))
    assert dummy < generic < informed <= bayes + 0.1 * abs(bayes - dummy)
