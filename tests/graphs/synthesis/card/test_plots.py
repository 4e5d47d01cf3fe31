"""Plots are well-formed SVG whose marks are as long as the numbers say, whatever names are in them."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandmle.graphs.synthesis.card._plots import COLOURS, LEFT, PLOT, Bar, _round_up, bar_plot, box_plot
from sandmle.graphs.synthesis.card._record import Quartiles

SVG = "{http://www.w3.org/2000/svg}"


def marks(text: str, tag: str, **wanted: str) -> list[ElementTree.Element]:
    found = ElementTree.fromstring(text).iter(SVG + tag)
    return [mark for mark in found if all(mark.get(name) == value for name, value in wanted.items())]


def texts(text: str) -> list[str | None]:
    return [mark.text for mark in marks(text, "text")]


def test_bars_are_as_long_as_their_values():
    plot = bar_plot("Kept", "tasks", [Bar("a", (20.0,), "20"), Bar("b", (50.0,), "50"), Bar("c", (0.0,), "0")])
    widths = [float(bar.get("width", "nan")) for bar in marks(plot, "rect", fill=COLOURS[0])]
    assert widths == pytest.approx([PLOT * 0.4, PLOT, 0.0], abs=0.1)
    assert {"Kept", "tasks", "a", "b", "c", "20", "50"} <= set(texts(plot))


def test_two_series_have_two_colours_and_a_legend():
    plot = bar_plot("Both", "n", [Bar("a", (1.0, 0.5), "")], series=("drawn", "kept"))
    assert {"drawn", "kept"} <= set(texts(plot))
    first, second = (marks(plot, "rect", fill=colour) for colour in COLOURS)
    assert len(first) == len(second) == 2
    assert float(second[1].get("width", "nan")) == pytest.approx(PLOT / 2, abs=0.1)
    assert "drawn" not in texts(bar_plot("One", "n", [Bar("a", (1.0,), "")], series=("drawn",)))


def test_boxes_stand_where_their_quartiles_are_and_are_cut_at_the_limits():
    box = Quartiles(n=5, least=-0.5, lower=0.25, median=0.5, upper=0.75, most=1.5)
    plot = box_plot("Shares", "share", {"a": box}, limits=(0.0, 1.0))
    (body,) = marks(plot, "rect", fill=COLOURS[0])
    assert float(body.get("x", "nan")) == pytest.approx(LEFT + PLOT / 4)
    assert float(body.get("width", "nan")) == pytest.approx(PLOT / 2)
    (whiskers,) = marks(plot, "line", stroke=COLOURS[0])
    assert (float(whiskers.get("x1", "nan")), float(whiskers.get("x2", "nan"))) == (LEFT, LEFT + PLOT)
    (median,) = marks(plot, "line", stroke=COLOURS[1])
    assert float(median.get("x1", "nan")) == pytest.approx(LEFT + PLOT / 2)
    assert "range -0.5 to 1.5" in (ElementTree.fromstring(plot).findtext(f"{SVG}desc") or "")


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Co")), min_size=1, max_size=60))
@settings(deadline=None, max_examples=30)
def test_any_name_is_escaped_and_kept_short(name):
    plot = bar_plot(name, name, [Bar(name, (1.0,), name)])
    shown = [text or "" for text in texts(plot)]
    assert name in shown
    assert any(text in (name, name[:27] + "…") for text in shown)


@pytest.mark.parametrize(("value", "end"), [(0.0, 1.0), (0.03, 0.05), (0.07, 0.1), (1.0, 1.0), (21, 25), (800, 1000)])
def test_the_axis_ends_at_a_round_number(value, end):
    assert _round_up(value) == pytest.approx(end)
