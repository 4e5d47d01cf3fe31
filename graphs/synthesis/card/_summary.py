"""From a folder that was read to ``dataset.json``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from sandmle.agents.procedural.rules import term_kinds
from sandmle.eval.acceptance.readiness import assess_readiness, pool_reliability
from sandmle.graphs.synthesis.batch import SlotRecord
from sandmle.graphs.synthesis.card._collect import LEVELS, NAMES, Candidate, Collected, KeptTask, noise_level
from sandmle.graphs.synthesis.card._record import (
    DIGITS,
    DIMENSIONS,
    DatasetCard,
    Dimension,
    Funnel,
    Group,
    Quartiles,
    ReadinessSummary,
    TaskLine,
    Third,
    Variety,
)
from sandmle.graphs.synthesis.novelty import Fingerprint, similarity
from sandmle.graphs.synthesis.traits import REACHED
from sandmle.record import sha256_json
from sandmle.task import TIERS

__all__ = ["summarize_dataset"]

NO_GOLD = "none"


def summarize_dataset(found: Collected) -> DatasetCard:
    """The card of a folder that was read."""
    tasks, candidates = found.tasks, found.candidates()
    lines = tuple(_line(kept) for kept in tasks)
    return DatasetCard(
        content_hash=sha256_json([[line.id, line.content_hash] for line in lines]),
        versions=_versions(tasks),
        settings=dict(found.settings.context) if found.settings else {},
        seed_families=dict(sorted(Counter(line.seed_family for line in lines).items())),
        funnel=_funnel(found.slots) if found.slots else None,
        groups={dimension: _groups(dimension, tasks, candidates) for dimension in DIMENSIONS},
        thirds=_thirds(candidates),
        thresholds=_thresholds(tasks),
        headroom=_headroom(tasks),
        variety=_variety(tasks),
        primitives_known=len(term_kinds()),
        nearest=Quartiles.of(_nearest([kept.fingerprint for kept in tasks])),
        discoverable=sum("undiscoverable" not in line.flags for line in lines),
        ideas_to_gold=_ideas(tasks, lines),
        readiness=_readiness(tasks),
        tasks=lines,
    )


def _line(kept: KeptTask) -> TaskLine:
    manifest, traits = kept.task.manifest, kept.traits
    return TaskLine(
        id=manifest.id,
        content_hash=manifest.content_hash,
        title=manifest.title,
        modality=manifest.modality,
        kind=traits.kind,
        problem_type=manifest.problem_type,
        metric=manifest.metric,
        domain=traits.domain,
        seed_family=manifest.lineage.seed_family,
        noise=noise_level(traits),
        primitives=traits.primitives,
        difficulty=traits.difficulty,
        ideas_to_gold=assess_readiness(kept.calibration, [], kept.search).ideas_to_gold,
        flags=manifest.flags,
    )


def _versions(tasks: Sequence[KeptTask]) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for kept in tasks:
        for name, number in kept.task.manifest.made_by.versions.items():
            found.setdefault(name, set()).add(number)
    return {name: tuple(sorted(numbers)) for name, numbers in sorted(found.items())}


def _funnel(slots: Sequence[SlotRecord]) -> Funnel:
    reached = [given_up.reached for slot in slots for given_up in slot.rejections]
    published = [slot for slot in slots if slot.task_id is not None]
    furthest = [REACHED.index(stage) for stage in reached] + [len(REACHED) - 1] * len(published)
    stages = {stage: sum(last >= index for last in furthest) for index, stage in enumerate(REACHED)}
    reasons = Counter(
        f"{given_up.stage}: {given_up.reason.partition(':')[0]}" for slot in slots for given_up in slot.rejections
    )
    return Funnel(
        slots=len(slots),
        discarded=len(slots) - len(published),
        stages={**stages, "discoverable": sum(bool(slot.discoverable) for slot in published)},
        rejections=dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0]))),
    )


def _groups(dimension: Dimension, tasks: Sequence[KeptTask], candidates: Sequence[Candidate]) -> tuple[Group, ...]:
    names = NAMES[dimension]
    kept = Counter(name for task in tasks for name in names(task.traits))
    drawn = Counter(name for candidate in candidates for name in names(candidate.traits))
    order = sorted(kept | drawn, key=lambda name: (-kept[name], -drawn[name], name))
    if dimension == "noise":
        order = sorted(order, key=(*LEVELS, *order).index)
    return tuple(Group(name=name, kept=kept[name], drawn=drawn[name] if candidates else None) for name in order)


def _thirds(candidates: Sequence[Candidate]) -> tuple[Third, ...]:
    """The candidates cut at the thirds of all drawn ones."""
    if not candidates:
        return ()
    values = [candidate.traits.difficulty for candidate in candidates]
    bounds = np.quantile(values, (0, 1 / 3, 2 / 3, 1)).round(DIGITS).tolist()
    places = np.searchsorted(bounds[1:3], values, side="left").tolist()
    kept = [place for candidate, place in zip(candidates, places, strict=True) if candidate.kept]
    return tuple(
        Third(low=bounds[third], high=bounds[third + 1], drawn=places.count(third), kept=kept.count(third))
        for third in range(3)
    )


def _thresholds(tasks: Sequence[KeptTask]) -> dict[str, Quartiles]:
    places: dict[str, list[float]] = {}
    for kept in tasks:
        calibration, thresholds = kept.calibration, kept.task.manifest.thresholds
        if thresholds is None:
            continue
        better = {tier.value: calibration.sign * getattr(thresholds, tier.value) for tier in TIERS}
        shares = {name: calibration.headroom(score) for name, score in better.items()}
        informed, generic = (calibration.headroom(score) for score in (calibration.informed, calibration.generic))
        shares["gap"] = None if informed is None or generic is None else informed - generic
        for name, share in shares.items():
            if share is not None:
                places.setdefault(name, []).append(share)
    return _all_quartiles(places)


def _headroom(tasks: Sequence[KeptTask]) -> dict[str, Quartiles]:
    shares: dict[str, list[float]] = {}
    for kept in tasks:
        for name, rung in kept.calibration.rungs.items():
            if rung.headroom is not None:
                shares.setdefault(name, []).append(rung.headroom)
    return _all_quartiles(dict(sorted(shares.items(), key=lambda item: float(np.median(item[1])))))


def _all_quartiles(values: dict[str, list[float]]) -> dict[str, Quartiles]:
    found = {name: Quartiles.of(numbers) for name, numbers in values.items()}
    return {name: quartiles for name, quartiles in found.items() if quartiles is not None}


def _variety(tasks: Sequence[KeptTask]) -> dict[str, Variety]:
    return {
        "rule structures": _count(kept.structure for kept in tasks),
        "schemas": _count(kept.fingerprint.schema for kept in tasks),
        "domains": _count(kept.traits.domain for kept in tasks),
        "primitives": _count(name for kept in tasks for name in kept.traits.primitives),
    }


def _count(values: Iterable[Hashable]) -> Variety:
    counts = sorted(Counter(values).values())
    total = sum(counts)
    entropy = -sum(count / total * math.log(count / total) for count in counts)
    return Variety(distinct=len(counts), effective=round(math.exp(entropy), DIGITS))


def _nearest(tasks: Sequence[Fingerprint]) -> list[float]:
    """Similarity of each task to the most similar other one; tasks without a common term or column are at 0."""
    best = [0.0] * len(tasks)
    for index, one in enumerate(tasks):
        for place in range(index):
            other = tasks[place]
            if one.rule & other.rule and one.schema & other.schema:
                alike = similarity(one, other)
                best[index], best[place] = max(best[index], alike), max(best[place], alike)
    return best if len(tasks) > 1 else []


def _ideas(tasks: Sequence[KeptTask], lines: Sequence[TaskLine]) -> dict[str, int]:
    """Tasks by ideas to gold, for every number of ideas that was tried on any."""
    searched = [line.ideas_to_gold for kept, line in zip(tasks, lines, strict=True) if kept.search]
    tried = sorted({ideas for kept in tasks for ideas in kept.search})
    counts = {str(ideas): searched.count(ideas) for ideas in tried}
    return {**counts, NO_GOLD: searched.count(None)} if searched else {}


def _readiness(tasks: Sequence[KeptTask]) -> ReadinessSummary | None:
    found = [kept.readiness for kept in tasks if kept.readiness is not None]
    if not found:
        return None
    pooled = pool_reliability([one.readiness.reliability for one in found if one.readiness is not None])
    failed = sum(one.readiness is None for one in found)
    return ReadinessSummary(
        tasks=len(found) - failed,
        failed=failed,
        tests=pooled.tests,
        order_share=_rounded(pooled.order_share),
        tier_share=_rounded(pooled.tier_share),
        by_rung={rung: round(pooled.intended[rung] / count, DIGITS) for rung, count in pooled.reruns.items() if count},
    )


def _rounded(share: float | None) -> float | None:
    return None if share is None else round(share, DIGITS)
