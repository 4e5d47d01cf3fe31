"""The rewards of all trainings, update by update, as a PNG."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from sandmle.files import write_bytes

__all__ = ["draw_curves", "rewards_of"]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Those of Okabe and Ito, which people with any colour vision tell apart."""
WIDTH, HEIGHT, LEFT, TOP, LINE = 720, 420, 60, 40, 22


def rewards_of(training: Path) -> list[float]:
    """Mean reward of each update of a training."""
    path = training / "metrics-grpo.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [float(json.loads(line)["reward"]) for line in lines]


def draw_curves(curves: Mapping[str, Sequence[float]], path: Path) -> None:
    """Draw one line a training, rewards from 0 to 1 over updates.

    Args:
        curves: mean rewards by the training's name.
        path: of the PNG.
    """
    font = ImageFont.load_default(14)
    picture = Image.new("RGB", (LEFT + WIDTH + 30, TOP + HEIGHT + 50 + LINE * len(curves)), "white")
    pen = ImageDraw.Draw(picture)
    longest = max(map(len, curves.values()), default=1)
    pen.text((LEFT, 10), "Mean reward of the rollouts of each update", "black", font)
    for tick in range(6):
        y = TOP + HEIGHT * (1 - tick / 5)
        pen.line([(LEFT, y), (LEFT + WIDTH, y)], "#dddddd")
        pen.text((20, y - 8), f"{tick / 5:.1f}", "black", font)
    pen.text((LEFT + WIDTH - 90, TOP + HEIGHT + 8), f"update {longest}", "black", font)
    for place, (name, rewards) in enumerate(curves.items()):
        colour = COLOURS[place % len(COLOURS)]
        step = WIDTH / max(longest - 1, 1)
        points = [(LEFT + step * number, TOP + HEIGHT * (1 - reward)) for number, reward in enumerate(rewards)]
        pen.line(points, colour, 3, "curve")
        y = TOP + HEIGHT + 36 + LINE * place
        pen.line([(LEFT, y + 9), (LEFT + 30, y + 9)], colour, 3)
        pen.text((LEFT + 40, y), name, "black", font)
    written = io.BytesIO()
    picture.save(written, "PNG")
    write_bytes(path, written.getvalue())
