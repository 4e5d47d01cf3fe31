"""Writing the card: ``dataset.json``, the plots, and the page for people."""

from __future__ import annotations

import shutil
from pathlib import Path

from sandmle.files import disk_errors, write_text
from sandmle.graphs.synthesis.card._collect import collect
from sandmle.graphs.synthesis.card._measured import Cost, Measured, measure
from sandmle.graphs.synthesis.card._plots import Bar, bar_plot, box_plot, environment
from sandmle.graphs.synthesis.card._record import DIMENSIONS, DatasetCard, Dimension, Group
from sandmle.graphs.synthesis.card._summary import summarize_dataset
from sandmle.task import TIERS

__all__ = ["write_card"]

MARK = "<!-- Written by `sandmle card`; it will be written anew. -->"
MOST_ROWS = 45
"""Longest plot; the tables and dataset.json hold the rest."""


def write_card(batch_folder: Path) -> Path:
    """Write ``dataset.json``, the plots and the page of a folder of tasks; equal contents give equal bytes.

    Returns:
        The page: ``README.md``, or ``CARD.md`` where somebody else's ``README.md`` is already there.

    Raises:
        BadInput: the folder holds no tasks, tasks without provenance, or a file that can't be read.
        EnvironmentProblem: the disk is full, or the folder can't be written.
    """
    found = collect(batch_folder)
    card, measured = summarize_dataset(found), measure(found)
    plots = {**_plots(card), **_measured_plots(measured)}
    template = environment().get_template("card.md.j2")
    text = template.render(mark=MARK, card=card, measured=measured, plots=plots, tiers=[tier.value for tier in TIERS])
    with disk_errors(batch_folder):
        shutil.rmtree(batch_folder / "card", ignore_errors=True)
        for name, (_, plot) in plots.items():
            write_text(batch_folder / "card" / f"{name}.svg", plot)
        write_text(batch_folder / "dataset.json", card.to_text())
        page = _page(batch_folder)
        write_text(page, text)
    return page


def _page(folder: Path) -> Path:
    """Where the page goes: another's README is left alone."""
    readme = folder / "README.md"
    ours = not readme.exists() or readme.read_text(encoding="utf-8", errors="replace").startswith(MARK)
    return readme if ours else folder / "CARD.md"


Plots = dict[str, tuple[str, str]]
"""Title and SVG text by file name."""


def _plots(card: DatasetCard) -> Plots:
    plots: Plots = {}

    def bars(name: str, title: str, unit: str, rows: list[Bar], limit: float | None = None, *series: str) -> None:
        if rows:
            plots[name] = title, bar_plot(title, unit, rows, series=series, limit=limit)

    if card.funnel is not None:
        rows = [Bar(stage.replace("_", "-"), (count,), str(count)) for stage, count in card.funnel.stages.items()]
        bars("funnel", "How far candidates came", "candidates", rows)
    for dimension in DIMENSIONS:
        title, unit = _yield_words(card, dimension)
        rows = [_yield_bar(group) for group in card.groups[dimension][:MOST_ROWS]]
        bars(f"yield-{dimension}", title, unit, rows, 100.0 if card.funnel else None)
    rows = [
        Bar(f"{third.low:.2f} to {third.high:.2f}", (third.drawn, third.kept), f"{third.kept} of {third.drawn}")
        for third in card.thirds
    ]
    bars("difficulty", "Thirds of estimated difficulty", "candidates", rows, None, "drawn", "kept")
    rows = [
        Bar(name, (variety.distinct, variety.effective), f"{variety.distinct}, effective {variety.effective:.1f}")
        for name, variety in card.variety.items()
    ]
    bars("diversity", "Distinct and effective numbers", "number", rows, None, "distinct", "effective")
    rows = [Bar(_ideas(ideas), (count,), str(count)) for ideas, count in card.ideas_to_gold.items()]
    bars("ideas", "Ideas until the public search earns gold", "tasks", rows)
    way, scale = "share of the way from dummy (0) to Bayes (1)", (0.0, 1.0)
    for name, title, boxes in (
        ("thresholds", "Where the thresholds stand", card.thresholds),
        ("headroom", "What baselines reach", card.headroom),
    ):
        if boxes:
            plots[name] = title, box_plot(title, way, boxes, limits=scale)
    if card.nearest is not None:
        title = "Similarity to the nearest other task"
        plots["nearest"] = title, box_plot(title, "0 nothing in common, 1 the same", {"": card.nearest}, limits=scale)
    return plots


def _yield_words(card: DatasetCard, dimension: Dimension) -> tuple[str, str]:
    if card.funnel is None:
        return f"Tasks by {dimension}", "tasks"
    return f"Yield by {dimension}", "kept of drawn candidates, %"


def _yield_bar(group: Group) -> Bar:
    if group.drawn is None:
        return Bar(group.name, (group.kept,), str(group.kept))
    share = 100.0 * group.kept / group.drawn if group.drawn else 0.0
    return Bar(group.name, (share,), f"{group.kept} of {group.drawn} ({share:.0f} %)")


def _ideas(name: str) -> str:
    return "no gold" if name == "none" else f"{name} {'idea' if name == '1' else 'ideas'}"


def _measured_plots(measured: Measured | None) -> Plots:
    """Their names begin with ``measured-``: only these differ from machine to machine."""
    plots: Plots = {}
    if measured is None:
        return plots
    for dimension in DIMENSIONS:
        rows = [_cost_bar(cost) for cost in measured.costs[dimension][:MOST_ROWS]]
        title = f"CPU seconds per kept task by {dimension}"
        plots[f"measured-cost-{dimension}"] = title, bar_plot(title, "CPU seconds", rows)
    if measured.rungs:
        title = "CPU seconds of baselines"
        plots["measured-rungs"] = title, box_plot(title, "CPU seconds", measured.rungs)
    return plots


def _cost_bar(cost: Cost) -> Bar:
    note = "none kept" if cost.per_kept is None else f"{cost.per_kept:.1f} ({cost.kept} kept)"
    return Bar(cost.name, (cost.per_kept or 0.0,), note)
