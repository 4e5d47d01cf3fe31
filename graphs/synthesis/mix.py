"""Which modality each slot of a batch has, and which seed.

    seed     the seed's own: seeds take turns
    paper    the shares of the SandMLE paper's 1,200 tasks
    even     all seven modalities alike
    image=2,tabular=1    any other weights

Slots follow the shares as closely as whole numbers can, whatever ``--n`` is: slot s gets the modality that lags most
behind its share of s + 1. The seeds of a modality take turns; a modality without seeds borrows from all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, get_args

from sandmle.errors import BadInput
from sandmle.seeds import Seed
from sandmle.task import Modality

__all__ = ["MIXES", "parse_mix", "slot_plan"]

MIXES: dict[str, dict[Modality, float]] = {
    "paper": {"image": 49, "tabular": 25, "text": 10, "multimodal": 10, "graph": 4, "audio": 2},
    "even": dict.fromkeys(get_args(Modality), 1.0),
}
"""The named mixes; the paper's shares in percent are those of its figure on the composition of the synthetic set."""


def parse_mix(text: str) -> dict[Modality, float]:
    """The weight of each modality; empty for ``seed``.

    Raises:
        BadInput: neither a named mix nor weights of modalities.
    """
    if text == "seed":
        return {}
    if text in MIXES:
        return MIXES[text]
    weights: dict[Modality, float] = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = -1.0
        if name.strip() not in get_args(Modality) or not 0 < weight < float("inf"):
            raise BadInput(
                f"--mix: {part!r} is not one of seed, {', '.join(MIXES)}, nor a modality with its weight such as"
                f" image=2 (modalities: {', '.join(get_args(Modality))})"
            )
        weights[cast("Modality", name.strip())] = weight
    return weights


def slot_plan(mix: str, seeds: Sequence[Seed], n: int) -> list[tuple[Seed, Modality | None]]:
    """Seed and modality of slots 0 to n - 1; None for the seed's own modality. A larger ``n`` only adds slots."""
    weights = parse_mix(mix)
    if not weights:
        return [(seeds[slot % len(seeds)], None) for slot in range(n)]
    counts = dict.fromkeys(weights, 0)
    total = sum(weights.values())
    plan: list[tuple[Seed, Modality | None]] = []
    for slot in range(n):
        chosen = max(weights, key=lambda name: weights[name] / total * (slot + 1) - counts[name])
        own = [seed for seed in seeds if (seed.modality or "tabular") == chosen] or seeds
        plan.append((own[counts[chosen] % len(own)], chosen))
        counts[chosen] += 1
    return plan
