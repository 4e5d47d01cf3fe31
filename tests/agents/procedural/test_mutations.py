"""Mutations: each does what it says, its undo copes from public data alone, and the brief tells what must be told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.developer import ProceduralDeveloper
from sandmle.agents.procedural.kinds import get_kind
from sandmle.agents.procedural.mutations import Mutation, draw_mutations, mutation_kinds, published
from sandmle.agents.procedural.mutations.codes import LevelCodes
from sandmle.agents.procedural.mutations.imbalance import Imbalance
from sandmle.agents.procedural.mutations.label_noise import LabelNoise
from sandmle.agents.procedural.mutations.missing import Missing
from sandmle.agents.procedural.mutations.outliers import Outliers
from sandmle.agents.procedural.mutations.redundant import Duplicate, NearConstant
from sandmle.agents.procedural.mutations.shift import Shift
from sandmle.agents.procedural.mutations.units import Units
from sandmle.agents.procedural.problems import Link, Problem
from sandmle.agents.procedural.rules import HiddenRule, Signal
from sandmle.agents.procedural.rules._rule import WeightedTerm
from sandmle.agents.procedural.rules.levels import LevelSlope
from sandmle.agents.procedural.rules.main_effects import Linear
from sandmle.agents.procedural.rules.pairs import Interaction
from sandmle.agents.procedural.schema import CategoricalColumn, NumericColumn, TableSchema
from sandmle.agents.procedural.strategist import ProceduralStrategist
from sandmle.agents.procedural.writer import ProceduralWriter
from sandmle.agents.roles import TaskPlan
from sandmle.eval.acceptance.brief import check_brief
from sandmle.eval.grading import read_answers, read_submission
from sandmle.eval.metrics import get_metric
from sandmle.seeds import get_seed

Run = Callable[..., None]

HEAT = NumericColumn(name="heat", unit="°C", description="d", low=-5, high=35, shape="normal", decimals=1)
MASS = NumericColumn(name="mass", unit="kg", description="d", low=10, high=60, shape="uniform", decimals=2)
STAY = NumericColumn(name="stay", unit="h", description="d", low=2, high=50, shape="uniform", decimals=1)
REGION = CategoricalColumn(
    name="region", description="d", levels=("north", "east", "south", "west"), weights=(0.25,) * 4
)
TABLE = TableSchema(id_column="row_id", id_prefix="R", columns=(HEAT, MASS, STAY, REGION))
PROBLEMS = {
    link: Problem(
        type=problem,
        link=link,
        metric=metric,
        target="outcome",
        title="t",
        question="q?",
        description="d",
        labels=labels,
    )
    for link, problem, metric, labels in (
        ("gaussian", "regression", "rmse", ()),
        ("binary", "binary", "roc_auc", ("no", "yes")),
    )
}
ALL: tuple[Mutation, ...] = (
    Duplicate(column="mass", error=0.5, decimals=2),
    Imbalance(share=0.12),
    LabelNoise(share=0.1),
    LevelCodes(column="region", codes=("A1", "B2", "C3", "D4", "E5")),
    Missing(column="mass", share=0.12),
    Missing(column="mass", cause="heat", cut=18.0, share=0.4),
    Missing(column="mass", cause="mass", cut=42.0, share=0.4),
    NearConstant(after="heat", name="form_version", levels=("v2", "v1"), description="d", share=0.03),
    Outliers(column="mass", scale=14.4, share=0.05, decimals=2),
    Shift(ends={"heat": 35.0}, decimals={"heat": 1}, part=0.3),
    Units(column="heat", unit="°C", other="°F", factor=1.8, offset=32.0, share=0.3, told=True),
    Units(column="stay", unit="h", other="min", factor=60.0, offset=0.0, share=0.3, told=False, limit=80.0),
)
TABLED = [mutation for mutation in ALL if mutation.on_table()]
NAMES = [f"{mutation.kind}-{index}" for index, mutation in enumerate(ALL)]


def clean(n: int = 4000) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    columns = {
        "heat": np.round(np.clip(15 + 6.67 * rng.standard_normal(n), -5, 35), 1),
        "mass": np.round(rng.uniform(10, 60, n), 2),
        "stay": np.round(rng.uniform(2, 50, n), 1),
        "region": rng.choice(list(REGION.levels), n).astype(object),
    }
    return pd.DataFrame(columns)


def pick(rng: np.random.Generator, n: int, levels: list[str], weights: list[float]) -> np.ndarray:
    return rng.choice(np.array(levels, dtype=object), n, p=np.array(weights) / sum(weights))


def damaged(mutation: Mutation, df: pd.DataFrame) -> pd.DataFrame:
    space = {"np": np, "pd": pd, "pick": pick, "rng": np.random.default_rng(2), "split": "train", "df": df.copy()}
    exec("\n".join(mutation.on_table()), space)
    return space["df"]


def repaired(mutation: Mutation, table: pd.DataFrame) -> pd.DataFrame:
    space = {"np": np, "pd": pd, "table": table.copy(), "train": table}
    exec("\n".join(mutation.undo()), space)
    return space["table"]


def test_all_kinds_are_tried_here() -> None:
    assert {type(mutation) for mutation in ALL} == set(mutation_kinds())


def test_units_come_back_to_what_was_measured() -> None:
    df = clean()
    for mutation in ALL[-2:]:
        assert isinstance(mutation, Units)
        table = damaged(mutation, df)
        changed = ~np.isclose(table[mutation.column], df[mutation.column])
        assert 0.25 < changed.mean() < 0.35
        np.testing.assert_allclose(repaired(mutation, table)[mutation.column], df[mutation.column], atol=1e-9)
    assert damaged(ALL[-2], df)["heat_unit"].value_counts(normalize=True)["°F"] == pytest.approx(0.3, abs=0.03)


def test_units_without_a_column_are_told_by_size_alone() -> None:
    for seed in range(300):
        found = Units.draw(np.random.default_rng(seed), TABLE, PROBLEMS["gaussian"])
        assert found is not None
        if not found.told:
            column = next(column for column in TABLE.numeric() if column.name == found.column)
            assert column.high < found.limit < found.factor * column.low + found.offset


def test_codes_multiply_levels_and_come_off_again() -> None:
    df, mutation = clean(), ALL[3]
    table = damaged(mutation, df)
    assert table["region"].nunique() == 20
    pd.testing.assert_series_equal(repaired(mutation, table)["region"], df["region"], check_dtype=False)
    for seed in range(20):
        drawn = LevelCodes.draw(np.random.default_rng(seed), TABLE, PROBLEMS["gaussian"])
        assert drawn is not None
        assert len(published(TABLE, (drawn,)).categorical()[0].levels) >= 20


def test_missing_cells_follow_their_mechanism() -> None:
    df = clean()
    random, other, own = (damaged(mutation, df)["mass"].isna() for mutation in ALL[4:7])
    assert random.mean() == pytest.approx(0.12, abs=0.02)
    assert not other[df["heat"] <= 18].any()
    assert other[df["heat"] > 18].mean() == pytest.approx(0.4, abs=0.05)
    assert not own[df["mass"] <= 42].any()
    assert own[df["mass"] > 42].mean() == pytest.approx(0.4, abs=0.05)
    filled = repaired(ALL[6], damaged(ALL[6], df))["mass"]
    assert (filled - df["mass"])[own].abs().mean() < (df["mass"].median() - df["mass"])[own].abs().mean() / 2


def test_outliers_lie_far_out_and_are_found() -> None:
    df, mutation = clean(), ALL[8]
    table = damaged(mutation, df)
    thrown = table["mass"] != df["mass"]
    assert thrown.mean() == pytest.approx(0.05, abs=0.015)
    mended = repaired(mutation, table)["mass"]
    assert mended[~thrown].equals(df["mass"][~thrown])
    assert mended[thrown].isna().mean() > 0.9


def test_redundant_columns_tell_nothing_new() -> None:
    df = clean()
    copy = damaged(ALL[0], df)
    assert np.corrcoef(copy["mass"], copy["mass_repeat"])[0, 1] > 0.99
    exact = damaged(Duplicate(column="mass", error=0.0, decimals=2), df)
    assert exact["mass_repeat"].equals(exact["mass"])
    assert damaged(ALL[7], df)["form_version"].value_counts(normalize=True)["v2"] > 0.94


@pytest.mark.parametrize("mutation", TABLED, ids=lambda mutation: mutation.kind)
def test_the_published_schema_names_the_columns_that_are_there(mutation: Mutation) -> None:
    table = damaged(mutation, clean())
    schema = published(TABLE, (mutation,))
    assert [column.name for column in schema.columns] == list(table.columns)
    for column in schema.categorical():
        assert set(table[column.name]) <= set(column.levels)
    untouched = [name for name in clean().columns if name not in mutation.columns()]
    pd.testing.assert_frame_equal(table[untouched], clean()[untouched])


def test_mutations_of_a_task_differ_in_kind_and_columns() -> None:
    counts = set()
    for seed in range(150):
        found = draw_mutations(np.random.default_rng(seed), TABLE, PROBLEMS["binary"], keep=("stay",))
        columns = [name for mutation in found for name in mutation.columns()]
        assert len(set(columns)) == len(columns)
        assert "stay" not in columns
        assert len({mutation.kind for mutation in found}) == len(found)
        counts.add(len(found))
    assert counts == {0, 1, 2, 3}


def test_imbalance_and_label_noise_suit_classes_alone() -> None:
    rng = np.random.default_rng(0)
    for kind in (Imbalance, LabelNoise):
        assert kind.draw(rng, TABLE, PROBLEMS["gaussian"]) is None
        assert kind.draw(rng, TABLE, PROBLEMS["binary"]) is not None


def planned(link: Link, mutation: Mutation) -> TaskPlan:
    """A task over ``TABLE`` whose rule reads every column that a mutation may hit."""
    strategist = ProceduralStrategist(batch_seed=5, settings_hash="tests", n_train=200, n_test=2000)
    plan = asyncio.run(strategist.plan(get_seed("diabetes"), 0))
    heat, mass, stay = (column.scaled() for column in TABLE.numeric())
    easy = (WeightedTerm(term=Linear(x=heat), weight=1.0), WeightedTerm(term=Linear(x=stay), weight=0.7))
    signs = {"north": 1.0, "east": -1.0, "south": 1.0, "west": -1.0}
    hidden = (
        WeightedTerm(term=Interaction(x=mass, y=heat), weight=1.0),
        WeightedTerm(term=LevelSlope(x=stay, by="region", signs=signs), weight=1.0),
    )
    rule = mutation.changed(
        HiddenRule(
            link=link,
            signals=(Signal(easy=easy, hidden=hidden, easy_share=0.5),),
            noise=0.25,
            shares=(0.4,) if link == "binary" else (),
        )
    )
    problem = PROBLEMS[link]
    blueprint = Blueprint(
        domain=Blueprint.of(plan).domain, kind="tabular", problem=problem, table=TABLE, rule=rule, mutations=(mutation,)
    )
    update = {
        "problem_type": problem.type,
        "metric": problem.metric,
        "target": problem.target,
        "submission": problem.submission(TABLE.id_column),
        "declared_shift": mutation.shifted(),
        "rule_terms": tuple(term.readable() for term in rule.terms()),
        "details": blueprint.model_dump(mode="json"),
    }
    return plan.model_copy(update=update)


@pytest.mark.parametrize("index", range(len(ALL)), ids=NAMES)
def test_the_informed_baseline_copes_and_the_brief_tells(index: int, run_script: Run, tmp_path: Path) -> None:
    mutation = ALL[index]
    plan = planned("binary" if isinstance(mutation, Imbalance | LabelNoise) else "gaussian", mutation)
    asyncio.run(ProceduralDeveloper().develop(plan, tmp_path, None))
    out, provenance = tmp_path / "prepared", tmp_path / "provenance"
    seeds = ("--train-seed", "1", "--test-seed", "2", "--n-train", "200", "--n-test", "2000")
    run_script(provenance / "generate.py", tmp_path, *seeds, "--out", str(out))
    (tmp_path / "input").symlink_to(out / "public")
    metric, form = get_metric(plan.metric), plan.submission
    key = read_answers(out / "private" / "answers.csv", form)
    scores = {
        "bayes": metric.score(
            key.truth, read_submission(out / "private" / "bayes.csv", form, key, domain=metric.domain)
        )
    }
    for rung in ("dummy", "informed"):
        run_script(provenance / "baselines" / f"{rung}.py", tmp_path)
        found = read_submission(tmp_path / "submission.csv", form, key, domain=metric.domain)
        scores[rung] = metric.score(key.truth, found)
    headroom = (scores["informed"] - scores["dummy"]) / (scores["bayes"] - scores["dummy"])
    assert 0.7 <= headroom <= 1.02, scores

    asyncio.run(ProceduralWriter().write_brief(plan, tmp_path, None))
    text = (out / "public" / "description.md").read_text()
    verdict = check_brief(
        text,
        out / "public",
        metric=metric,
        submission=form,
        target=plan.target,
        rule_terms=plan.rule_terms,
        declared_shift=plan.declared_shift,
    )
    assert verdict.passed, verdict.reason
    assert mutation.words() in text
    assert all(f"`{column.name}`" in text for column in get_kind("tabular").brief(Blueprint.of(plan)).columns)


def test_a_rare_class_is_as_rare_as_asked(run_script: Run, tmp_path: Path) -> None:
    plan = planned("binary", Imbalance(share=0.12))
    asyncio.run(ProceduralDeveloper().develop(plan, tmp_path, None))
    seeds = ("--train-seed", "1", "--test-seed", "2", "--n-train", "200", "--n-test", "2000")
    run_script(tmp_path / "provenance" / "generate.py", tmp_path, *seeds, "--out", str(tmp_path / "prepared"))
    answers = pd.read_csv(tmp_path / "prepared" / "private" / "answers.csv")
    assert (answers["outcome"] == "yes").mean() == pytest.approx(0.12, abs=0.02)


def test_a_shift_moves_the_test_rows_alone(run_script: Run, tmp_path: Path) -> None:
    plan = planned("gaussian", ALL[9])
    assert plan.declared_shift == ("heat",)
    asyncio.run(ProceduralDeveloper().develop(plan, tmp_path, None))
    seeds = ("--train-seed", "1", "--test-seed", "2", "--n-train", "2000", "--n-test", "2000")
    run_script(tmp_path / "provenance" / "generate.py", tmp_path, *seeds, "--out", str(tmp_path / "prepared"))
    train, test = (pd.read_csv(tmp_path / "prepared" / "public" / f"{name}.csv") for name in ("train", "test"))
    assert test["heat"].mean() - train["heat"].mean() == pytest.approx(0.3 * (35 - 15), abs=0.6)
    assert test["mass"].mean() == pytest.approx(train["mass"].mean(), abs=1.5)
    assert test["heat"].max() <= 35
