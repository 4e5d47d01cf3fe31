"""The turn-limit curve and the performance profiles as one SVG: the measured rows, a colour each.

Colours are those of Okabe and Ito, which people with any colour vision tell apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from sandmle.eval.report._record import Report, Row
from sandmle.eval.report._tables import name_of

__all__ = ["render_svg"]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
SIDE, TOP, LEFT, BETWEEN, FOOT, LINE = 320, 48, 52, 72, 56, 20
TICKS = 5

Curve = Sequence[tuple[float, float | None]]
"""Points: what stands along the axis, and a share."""


def render_svg(report: Report) -> str:
    """The picture; a panel stays empty where no row has its numbers."""
    rows = [row for row in report.rows if row.tasks and not row.privileged]
    coloured = list(zip(rows, cycle(COLOURS), strict=False))
    limit = max((len(row.curve) for row in rows), default=0) or 1
    turns, profiles = [], []
    for row, colour in coloured:
        held = [*((point.turns, point) for point in row.curve), *((limit, point) for point in row.curve[-1:])]
        turns.append(_drawn([(turn, point.valid) for turn, point in held], limit, colour))
        turns.append(_drawn([(turn, point.any_medal) for turn, point in held], limit, colour, dashed=True))
        steps = len(row.profile) - 1
        profiles.append(_drawn([(place / steps, share) for place, share in enumerate(row.profile)], 1, colour))
    foot = TOP + SIDE + FOOT
    return _template().render(
        width=LEFT + 2 * SIDE + BETWEEN + 24,
        height=foot + LINE * len(rows) + 8,
        top=TOP,
        side=SIDE,
        panels=[
            _panel(0, "Valid (lines) and any medal (dashes)", "turns", limit, turns),
            _panel(1, "Performance profiles", "units behind the best", 1, profiles),
        ],
        legend=[
            {"name": name_of(report, row), "colour": colour, "y": foot + LINE * place}
            for place, (row, colour) in enumerate(coloured)
        ],
        described="; ".join(_described(report, row) for row in rows),
    )


def _template() -> Template:
    loader = PackageLoader("sandmle.eval.report")
    found = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, autoescape=True)
    return found.get_template("curves.svg.j2")


def _panel(place: int, title: str, unit: str, end: float, lines: Sequence[dict[str, object]]) -> dict[str, object]:
    parts = [step / TICKS for step in range(TICKS + 1)]
    return {
        "left": LEFT + place * (SIDE + BETWEEN),
        "title": title,
        "unit": unit,
        "lines": lines,
        "up": [{"at": SIDE * (1 - part), "text": f"{100 * part:.0f} %"} for part in parts],
        "along": [{"at": SIDE * part, "text": f"{end * part:.3g}"} for part in parts],
    }


def _drawn(curve: Curve, end: float, colour: str, *, dashed: bool = False) -> dict[str, object]:
    """A curve as a polyline in a panel; shares that are not defined are left out."""
    points = [f"{SIDE * along / end:.1f},{SIDE * (1 - share):.1f}" for along, share in curve if share is not None]
    return {"points": " ".join(points), "colour": colour, "dashed": dashed}


def _described(report: Report, row: Row) -> str:
    last = f"{100 * row.valid:.0f} % valid" if row.valid is not None else "nothing"
    area = "" if row.aup is None else f", area under the profile {row.aup:.3f}"
    return f"{name_of(report, row)}: {last} in the end{area}"
