"""Plain plots as SVG text: horizontal bars and box plots, one row a name.

Everything stands on a white ground and in two colours that people with any colour vision tell apart (blue and orange of
Okabe and Ito); every plot has a title and a description for screen readers, and prints its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import floor, log10

from jinja2 import Environment, PackageLoader, StrictUndefined

from sandmle.graphs.synthesis.card._record import Quartiles

__all__ = ["Bar", "bar_plot", "box_plot", "environment"]

COLOURS = ("#0072b2", "#d55e00")
WIDTH = 780
LEFT = 220
RIGHT = 160
TOP = 52
ROW = 26
BOTTOM = 44
PLOT = WIDTH - LEFT - RIGHT
MAX_NAME = 28
TICKS = 5


@dataclass(frozen=True)
class Bar:
    """One row of bars: a value a series, and what is printed beside it."""

    name: str
    values: tuple[float, ...]
    note: str


@cache
def environment() -> Environment:
    """The templates of the card; SVG is escaped, Markdown is not."""
    return Environment(
        loader=PackageLoader("sandmle.graphs.synthesis.card"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=lambda name: bool(name and name.endswith(".svg.j2")),
    )


def bar_plot(
    title: str, unit: str, bars: Sequence[Bar], *, series: Sequence[str] = (), limit: float | None = None
) -> str:
    """Horizontal bars from 0.

    Args:
        title: of the plot.
        unit: what the axis shows.
        bars: rows, top to bottom.
        series: names of the values of a row, at most two; a legend is drawn where there are two.
        limit: end of the axis; by default a round number above all values.
    """
    end = limit or _round_up(max((value for bar in bars for value in bar.values), default=1.0))
    thickness = (ROW - 8) / max(len(series), 1)
    rows = []
    for index, bar in enumerate(bars):
        top = TOP + ROW * index + 4
        shapes = [
            {"y": top + place * thickness, "width": PLOT * min(value / end, 1.0), "fill": COLOURS[place]}
            for place, value in enumerate(bar.values)
        ]
        rows.append({"name": _short(bar.name), "middle": top + (ROW - 8) / 2, "shapes": shapes, "note": bar.note})
    described = "; ".join(f"{bar.name}: {bar.note}" for bar in bars)
    frame = _frame(title, unit, described, len(bars), (0.0, end))
    legend = [{"name": name, "fill": COLOURS[place]} for place, name in enumerate(series)] if len(series) > 1 else []
    return environment().get_template("bars.svg.j2").render(rows=rows, thickness=thickness, legend=legend, **frame)


def box_plot(
    title: str, unit: str, boxes: Mapping[str, Quartiles], *, limits: tuple[float, float] | None = None
) -> str:
    """Horizontal box plots: whiskers from the least to the largest value, a box between the quartiles, the median.

    Args:
        title: of the plot.
        unit: what the axis shows.
        boxes: rows, top to bottom.
        limits: ends of the axis, which cut what lies beyond; by default 0 and a round number above all values.
    """
    low, high = limits or (0.0, _round_up(max((box.most for box in boxes.values()), default=1.0)))

    def place(value: float) -> float:
        return LEFT + PLOT * (min(max(value, low), high) - low) / (high - low)

    rows = []
    for index, (name, box) in enumerate(boxes.items()):
        ends = {edge: place(getattr(box, edge)) for edge in ("least", "lower", "median", "upper", "most")}
        middle = TOP + ROW * index + ROW / 2
        rows.append({"name": _short(name), "middle": middle, "note": f"median {box.median:.3g} (n={box.n})", **ends})
    described = "; ".join(
        f"{name}: median {box.median:.3g}, quartiles {box.lower:.3g} and {box.upper:.3g}, range {box.least:.3g}"
        f" to {box.most:.3g}"
        for name, box in boxes.items()
    )
    frame = _frame(title, unit, described, len(boxes), (low, high))
    return environment().get_template("boxes.svg.j2").render(rows=rows, fill=COLOURS[0], line=COLOURS[1], **frame)


def _frame(title: str, unit: str, described: str, rows: int, limits: tuple[float, float]) -> dict[str, object]:
    """What all plots share: sizes, texts and the ticks of the axis."""
    low, high = limits
    foot = TOP + ROW * rows + 4
    ticks = [low + (high - low) * step / TICKS for step in range(TICKS + 1)]
    return {
        "title": title,
        "unit": unit,
        "described": described,
        "width": WIDTH,
        "height": foot + BOTTOM,
        "left": LEFT,
        "right": LEFT + PLOT,
        "top": TOP,
        "foot": foot,
        "ticks": [{"x": LEFT + PLOT * step / TICKS, "text": f"{tick:.4g}"} for step, tick in enumerate(ticks)],
    }


def _round_up(value: float) -> float:
    """The least of 1, 2, 2.5 and 5 times a power of ten that is not below a positive value; 1 for none."""
    if value <= 0:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next((step * power for step in (1, 2, 2.5, 5) if value <= step * power), 10.0 * power)


def _short(name: str) -> str:
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…"
