"""The rewards of all trainings, update by update, as a PNG."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import isfinite, nan
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from sandmle.files import write_bytes

__all__ = ["draw_curves", "rewards_of"]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Those of Okabe and Ito, which people with any colour vision tell apart."""
_FINE = 3
"""The picture is drawn this many times as large and then made smaller, so that lines are smooth."""
WIDTH, HEIGHT, LEFT, TOP, LINE = (_FINE * size for size in (720, 420, 60, 40, 22))


def rewards_of(training: Path) -> list[float]:
    """Mean reward of each update of a training; nan where it is not known."""
    path = training / "metrics-grpo.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rewards = [json.loads(line)["reward"] for line in lines]
    return [nan if reward is None else float(reward) for reward in rewards]


def draw_curves(curves: Mapping[str, Sequence[float]], path: Path) -> None:
    """Draw one line a training, rewards from 0 to 1 over updates; the seeds of an arm, among other arms, look alike.

    Args:
        curves: mean rewards by the training's name; updates whose reward is not known are left out.
        path: of the PNG.
    """
    lines = _lines(curves)
    colours = {line: COLOURS[place % len(COLOURS)] for place, line in enumerate(dict.fromkeys(lines.values()))}
    room = 50 * _FINE
    picture = Image.new("RGB", (LEFT + WIDTH + room, TOP + HEIGHT + room + LINE * len(colours)), "white")
    pen = ImageDraw.Draw(picture)
    longest = max([1, *map(len, curves.values())])
    _draw_axes(pen, longest)
    for name, rewards in curves.items():
        step = WIDTH / max(longest - 1, 1)
        points = [
            (LEFT + step * number, TOP + HEIGHT * (1 - reward))
            for number, reward in enumerate(rewards)
            if isfinite(reward)
        ]
        if points:
            pen.line(points, colours[lines[name]], 3 * _FINE, "curve")
    for place, (line, colour) in enumerate(colours.items()):
        y = TOP + HEIGHT + room + LINE * (place - 0.5)
        pen.line([(LEFT, y), (LEFT * 1.5, y)], colour, 3 * _FINE)
        pen.text((LEFT * 1.7, y), line, "black", _font(), anchor="lm")
    written = io.BytesIO()
    picture.reduce(_FINE).save(written, "PNG")
    write_bytes(path, written.getvalue())


def _lines(names: Iterable[str]) -> dict[str, str]:
    """What the legend calls each training: by its arm, or, where there is one arm alone, by its whole name."""
    arms = {name: name.partition(", seed ")[0] for name in names}
    return arms if len(set(arms.values())) > 1 else {name: name for name in arms}


def _draw_axes(pen: ImageDraw.ImageDraw, longest: int) -> None:
    pen.text((LEFT, 10 * _FINE), "Mean reward of the rollouts of each update", "black", _font())
    for tick in range(6):
        y = TOP + HEIGHT * (1 - tick / 5)
        pen.line([(LEFT, y), (LEFT + WIDTH, y)], "#dddddd", _FINE)
        pen.text((LEFT / 3, y), f"{tick / 5:.1f}", "black", _font(), anchor="lm")
    pen.text((LEFT + WIDTH, TOP + HEIGHT + LINE / 2), f"update {longest}", "black", _font(), anchor="rm")


@cache
def _font() -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(14 * _FINE)
