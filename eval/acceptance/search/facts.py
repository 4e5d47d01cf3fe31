"""What a brief tells about its task, and how each metric wants its answers.

Words: a *mode* is what the models predict: ``classes`` (exactly one applies), ``labels`` (any number applies),
``number``. ``styles`` of work: ``search`` (the ideas), ``dummy``, ``linear``, ``gbdt``, ``best`` (no ideas).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Facts", "column"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Facts:
    """The brief of a task; ``quantile`` is the level of a pinball loss."""

    id_column: str
    target: str
    kind: str
    metric: str
    classes: tuple[str, ...]
    problem_type: str
    columns: tuple[str, ...]
    group_column: str | None
    top: int | None
    mask_shape: tuple[int, int] | None
    quantile: float
    style: str

    @classmethod
    def read(cls, text: str) -> Facts:
        """Read the JSON object; only id_column, target and kind are needed."""
        told: dict[str, Any] = json.loads(text)
        classes, target = tuple(str(name) for name in told.get("classes") or ()), told["target"]
        per_class = told["kind"] in ("class_probabilities", "label_probabilities")
        shape = told.get("mask_shape")
        return cls(
            id_column=told["id_column"],
            target=target,
            kind=told["kind"],
            metric=told.get("metric") or "",
            classes=classes,
            problem_type=told.get("problem_type") or "",
            columns=tuple(told.get("prediction_columns") or (classes if per_class else (target,))),
            group_column=told.get("group_column"),
            top=told.get("top"),
            mask_shape=(int(shape[0]), int(shape[1])) if shape else None,
            quantile=float(told.get("quantile") or quantile_of(told.get("metric") or "")),
            style=told.get("style") or "search",
        )

    @property
    def ordered(self) -> bool:
        """Whether classes are to be predicted as one number and cut."""
        return self.kind == "label" and (
            self.problem_type == "ordinal" or "kappa" in self.metric or "ordinal" in self.metric
        )

    @property
    def mode(self) -> str:
        """What the models predict."""
        if self.kind in ("label_probabilities", "label_set"):
            return "labels"
        return "number" if self.ordered or not self.classes else "classes"


def quantile_of(metric: str) -> float:
    """The level in a name such as ``pinball_90`` or ``pinball_0.9``, else the one that the brief states, else 0.5."""
    if not re.search("pinball|quantile", metric):
        return 0.5
    brief = Path("input/description.md")
    text = brief.read_text(encoding="utf-8", errors="replace").lower() if brief.exists() else ""
    number = re.search(r"0?[._]?\d+$", metric)
    told = [float(found) for found in re.findall(r"\b0\.\d+\b", text)] if re.search("pinball|quantile", text) else []
    if number and number.group().strip("._"):
        return float("0." + number.group().strip("._").removeprefix("0.").removeprefix("0_"))
    return told[0] if told else 0.5


def column(values: Any) -> Array:  # noqa: ANN401 - a vector of any dtype
    """A vector as a one-column matrix."""
    return np.asarray(values, dtype=np.float64)[:, None]
