"""Policies against suites and scaffolds."""

from __future__ import annotations

import pytest

from sandmle.errors import BadInput
from sandmle.eval.report import matrix


@pytest.fixture
def run(make_run, make_summary):
    def make(folder, medals=("gold", None), *, rewards=(1.0, 0.4), policies=("openai:a",), scaffold="react", **changes):
        rows = [
            make_summary(policy, f"t{place}", 0, reward, medal=medal, scaffold=scaffold)
            for policy in policies
            for place, (medal, reward) in enumerate(zip(medals, rewards, strict=True))
        ]
        return make_run(rows, folder=folder, scaffolds=(scaffold,), **changes)

    return make


def test_rows_are_policies_or_names_and_columns_are_suites_and_scaffolds(run) -> None:
    found = matrix([("", run("a")), ("sandmle", run("b", (None, None), scaffold="aide"))])
    assert found.rows == ("openai:a", "sandmle")
    assert found.columns == (("synthetic:tasks", "react", "clean"), ("synthetic:tasks", "aide", "clean"))
    cell = found.at("openai:a", found.columns[0])
    assert cell is not None
    assert (cell.tasks, cell.episodes, cell.published) == (2, 2, None)
    assert cell.value is not None
    assert cell.value.mean == 0.5
    assert found.at("openai:a", found.columns[1]) is None


@pytest.mark.parametrize(("value", "mean"), [("reward", 0.7), ("any_medal", 0.5), ("human_rank", None)])
def test_the_cells_hold_what_is_asked_for(run, value, mean) -> None:
    (cell,) = matrix([("", run("a"))], value).cells
    assert (cell.value.mean if cell.value else None) == mean


def test_a_named_run_of_two_policies_keeps_both(run) -> None:
    assert matrix([("served", run("a", policies=("openai:a", "openai:b")))]).rows == (
        "served/openai:a",
        "served/openai:b",
    )


def test_two_runs_of_one_cell_are_refused(run) -> None:
    with pytest.raises(BadInput, match="RUN=NAME"):
        matrix([("", run("a")), ("", run("b"))])


@pytest.mark.parametrize(("protocol", "published"), [("paper", 0.227), ("clean", None)])
def test_published_figures_stand_beside_runs_by_the_same_rules_alone(run, make_run, protocol, published) -> None:
    made = run("a", protocol=protocol)
    settings = made.record.settings.model_copy(update={"suite": "mle-bench-lite"})
    lite = type(made)(made.folder, made.record.model_copy(update={"settings": settings}), made.episodes)
    (cell,) = matrix([("qwen3-8b/sandmle", lite)]).cells
    assert cell.published == published


def test_a_privileged_policy_is_marked(run) -> None:
    assert matrix([("", run("a", policies=("scripted:informed",)))]).rows == ("scripted:informed (privileged)",)
