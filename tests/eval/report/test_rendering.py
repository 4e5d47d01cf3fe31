"""What a reader sees, in every renderer."""

import csv
import io
from xml.etree import ElementTree

import pytest
from rich.console import Console

from sandmle.eval.report import render_csv, render_markdown, render_svg, render_terminal, summarize
from sandmle.eval.runs import Scale
from sandmle.trajectory import Chosen, Price


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


def test_what_the_reward_masks_for_its_timeouts_is_counted_by_its_reason(make_run, make_summary):
    slow = make_summary("scripted:linear", "a", 0, 0.0, status="step_timeouts", timed_out=1)
    run = make_run([slow, make_summary("scripted:linear", "b", 0, 0.4)], reward="released")
    (row,) = summarize([run]).rows
    assert (row.masked, row.reward.mean) == (1, 0.4)
    text = terminal(summarize([run]))
    assert "masked: scripted:linear: 1 step_timeouts." in text
    assert "infrastructure failed" not in text


def test_the_terminal_tables_fit_80_columns(report):
    lines = terminal(report).splitlines()
    assert max(map(len, lines)) <= 80
    row = next(line for line in lines if line.startswith("scripted:linear"))
    assert row.rstrip().endswith("0.500 [0.50, 0.50]")


@pytest.fixture
def rich_report(make_run, make_summary):
    """A report with every number, of long names."""
    history = (Chosen(turn=1, score=0.4), Chosen(turn=11, score=0.7, medal="bronze"))
    episodes = [
        make_summary(
            policy, task, 0, 0.5, medal="bronze", turns=20, history=history, pruned=2, scaffold=scaffold,
            id=f"{scaffold}-{policy}-{task}", score=0.7, public_score=0.75, human_rank=0.5,
        )
        for scaffold in ("mle-agent", "react")
        for policy in ("openai:some/model-8B", "scripted:informed")
        for task in "ab"
    ]  # fmt: skip
    return summarize(
        [
            make_run(
                episodes,
                scaffolds=("mle-agent", "react"),
                scales={"a": Scale(dummy=0.5, bayes=0.9), "b": Scale(dummy=0.5, bayes=1.0)},
                prices={"openai:some/model-8B": Price(input=100.0, output=1000.0)},
            )
        ]
    )


def test_every_number_fits_110_columns(rich_report):
    lines = [line.rstrip() for line in terminal(rich_report, width=110).splitlines()]
    assert max(map(len, lines)) <= 110
    scores = lines[lines.index("Scores") + 3].split()
    assert " ".join(scores[2:]) == "0.450 [0.40, 0.50] 0.500 [0.50, 0.50] 1.000 +0.113 [+0.10, +0.13]"
    title = "After so many turns: valid / any medal, %"
    assert lines[lines.index(title) + 1].split() == ["policy", "1", "2", "4", "6", "8", "13", "20"]
    assert lines[lines.index(title) + 3].split()[2:] == ["0/0", *["100/0"] * 4, *["100/100"] * 2]
    behaviour = lines[lines.index("Behaviour, mean an episode") + 3].split()
    assert behaviour[4] == "100%"
    assert behaviour[-1] == "0.0050"


@pytest.mark.parametrize("render", [terminal, render_markdown])
def test_a_number_that_no_row_has_is_not_shown(report, render):
    text = render(report)
    assert "HumanRank" not in text
    assert "cost |" not in text
    assert "After so many turns" not in text


def test_csv_has_one_line_a_row_and_every_number(rich_report):
    lines = list(csv.DictReader(io.StringIO(render_csv(rich_report))))
    assert [(line["scaffold"], line["policy"], line["privileged"]) for line in lines] == [
        ("mle-agent", "openai:some/model-8B", "False"),
        ("mle-agent", "scripted:informed", "True"),
        ("react", "openai:some/model-8B", "False"),
        ("react", "scripted:informed", "True"),
    ]
    first, row = lines[0], rich_report.rows[0]
    assert (first["protocol"], first["reward_preset"], first["masked_by"]) == ("clean", "paper", "")
    assert float(first["headroom"]) == row.headroom.mean
    assert float(first["headroom_low"]) == row.headroom.low
    assert float(first["reward"]) == row.reward.mean
    assert float(first["money"]) == rich_report.timing[0].money
    assert lines[1]["money"] == lines[1]["aup"] == ""


def test_the_picture_shows_measured_rows_at_the_right_places(rich_report):
    picture = ElementTree.fromstring(render_svg(rich_report))
    lines = [line.get("points") for line in picture.iter("{http://www.w3.org/2000/svg}polyline")]
    assert len(lines) == 6  # valid and medal of two rows, and their profiles
    side = 320
    first = [tuple(map(float, point.split(","))) for point in lines[0].split()]
    assert first[:2] == [(side / 20, side), (2 * side / 20, 0)]
    assert [tuple(map(float, point.split(",")))[1] for point in lines[1].split()] == [side] * 11 + [0] * 10
    assert lines[4].split()[0] == "0.0,0.0"
    named = " ".join(text.text for text in picture.iter("{http://www.w3.org/2000/svg}text"))
    assert "react openai:some/model-8B" in named
    assert "informed" not in named


def test_the_picture_of_nothing_is_empty(make_run):
    report = summarize([make_run([], tasks=["a"], models=("scripted:dummy",))])
    assert "<polyline" not in render_svg(report)


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
