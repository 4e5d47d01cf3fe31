"""What a reader sees, in every renderer."""

import io

import pytest
from rich.console import Console

from sandmle.eval.report import render_markdown, render_terminal, summarize


def terminal(report, width=80):
    console = Console(file=io.StringIO(), width=width, color_system=None)
    console.print(render_terminal(report))
    return console.file.getvalue()


@pytest.fixture
def report(make_run, make_summary):
    episodes = [
        make_summary(policy, task, 0, reward, medal=medal, leaked=policy == "scripted:linear" and task == "a")
        for policy, reward, medal in (
            ("scripted:dummy", 0.1, None),
            ("scripted:linear", 0.5, "bronze"),
            ("scripted:informed", 0.9, "gold"),
        )
        for task in "ab"
    ]
    return summarize([make_run(episodes, tasks=["a", "b", "c"])])


@pytest.mark.parametrize("render", [terminal, render_markdown])
def test_every_rendering_says_protocol_reward_isolation_privilege_leaks_and_progress(report, render):
    text = " ".join(render(report).split())
    assert "protocol clean · reward paper" in text
    assert "isolation tier A" in text
    assert "scripted:informed†" in text
    assert "was handed the hidden rule: a calibration, not a measurement" in text
    assert "LEAK: scripted:linear: 1 episode saw a canary" in text
    assert "unfinished: 6 of 9 episodes" in text
    assert "+0.400" in text


@pytest.mark.parametrize("render", [terminal, render_markdown])
def test_a_budget_that_is_not_the_default_is_said(make_run, make_summary, render):
    def text(**changes):
        return " ".join(render(summarize([make_run([make_summary("m", "a", 0, 0.5)], **changes)])).split())

    shown = text(budget={"turns": 3, "step_seconds": 0.5}).replace("\\", "")
    assert "temperature 1 · turns 3, step_seconds 0.5 · isolation" in shown
    assert "temperature 1 · isolation" in text()


@pytest.mark.parametrize("render", [terminal, render_markdown])
def test_privileged_policies_stand_apart(report, render):
    text = render(report)
    results, calibration = text.index("Results"), text.index("Calibration")
    assert results < text.index("scripted:linear") < calibration < text.index("scripted:informed")


def test_the_terminal_tables_fit_80_columns(report):
    lines = terminal(report).splitlines()
    assert max(map(len, lines)) <= 80
    row = next(line for line in lines if line.startswith("scripted:linear"))
    assert row.rstrip().endswith("0.500 [0.50, 0.50]")


@pytest.mark.parametrize("render", [terminal, render_markdown])
def test_no_episode_is_one_clear_line_and_no_table(make_run, render):
    text = render(summarize([make_run([], tasks=["a"], models=("scripted:dummy",))]))
    assert "no episode is finished yet" in text
    assert "Results" not in text


def test_markdown_tables_are_well_formed_even_with_a_bar_in_a_name(make_run, make_summary):
    text = render_markdown(summarize([make_run([make_summary("openai:a|b_c", "a", 0, 0.5)])]))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert any("openai:a\\|b\\_c" in row for row in rows)
    columns = {row.replace("\\|", "").count("|") for row in rows[:3]}
    assert len(columns) == 1
