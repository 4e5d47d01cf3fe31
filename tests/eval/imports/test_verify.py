"""What an evaluator says must fit together, and no task of somebody else may be replaced."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandmle.eval.imports import _released
from sandmle.eval.imports._evaluator import Printed
from sandmle.eval.imports._recognise import Reading, Recognised
from sandmle.eval.imports._record import IMPORT, ImportRecord, Refused
from sandmle.eval.metrics import get_metric

TIERS = {"median": 0.6, "bronze": 0.7, "silver": 0.8, "gold": 0.9}


def verified(score: float = 0.5, perfect: float | None = 1.0, **changed: object) -> object:
    shown = Printed(**{"score": score, "lower_is_better": False, "tiers": TIERS} | changed)
    reading = Reading(candidate=None, metric=get_metric("roc_auc"), key=None)
    found = Recognised(reading, tables=None, probes=9, worst=0.0, alike=(), perfect=Printed(score=perfect))
    return _released._verified(shown, found)


def test_sound_thresholds_are_taken() -> None:
    assert verified().model_dump() == TIERS


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"tiers": None}, "does not print four thresholds"),
        ({"lower_is_better": True}, "says that lower is better, but it scores roc_auc"),
        ({"tiers": TIERS | {"gold": 0.75}}, "do not rise from median to gold"),
        ({"tiers": TIERS | {"gold": 0.8}}, "do not rise from median to gold"),
        ({"perfect": 0.89}, "do not earn gold"),
        ({"perfect": None}, "do not earn gold"),
        ({"score": 0.7}, "earns a medal"),
    ],
)
def test_others_are_refused(changed: dict[str, object], says: str) -> None:
    with pytest.raises(Refused, match=says):
        verified(**changed)


def test_only_the_same_import_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "shop"
    _released._check_free(target, "Shop")
    (target / "provenance").mkdir(parents=True)
    with pytest.raises(Refused, match="is another task"):
        _released._check_free(target, "Shop")
    record = ImportRecord(
        bundle_id="Shop",
        evaluator="e",
        answers="a",
        probes=9,
        worst_difference=0.0,
        alike=(),
        sample_score=0.5,
        perfect_score=1.0,
    )
    (target / "provenance" / IMPORT).write_text(record.to_text())
    _released._check_free(target, "Shop")
    with pytest.raises(Refused, match="is another task"):
        _released._check_free(target, "Other")
