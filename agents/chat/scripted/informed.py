"""``scripted:informed``: runs the informed baseline of a synthetic task. Privileged: for calibration only."""

from __future__ import annotations

from sandmle.agents.chat.scripted._registry import ScriptedPolicy, register
from sandmle.errors import BadInput
from sandmle.task import Task


def _informed_baseline(task: Task) -> str:
    path = task.provenance / "baselines" / "informed.py"
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(
            f"{path}: {error.strerror}; scripted:informed works on synthetic tasks only, choose another policy"
        ) from error


# No ladder: an informed policy that fell back to a generic script would spoil the calibration.
register(
    ScriptedPolicy(
        "informed",
        "I was handed the rule behind the data, so I compute its features and fit the weights on the training rows.",
        ladder=(),
        handed=_informed_baseline,
    )
)
