from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandmle.agents.procedural.schema import CategoricalColumn, NumericColumn


def draw(column: NumericColumn, n: int = 20_000) -> np.ndarray:
    rng = np.random.default_rng(0)
    return eval(
        column.source(), {"np": np, "rng": rng, "n": n, "cause": np.random.default_rng(1).standard_normal((n, 1))}
    )


def numeric(**changes: object) -> NumericColumn:
    fields = {"name": "x", "unit": "", "description": "d", "low": 2.0, "high": 80.0, "shape": "normal", "decimals": 2}
    return NumericColumn.model_validate({**fields, **changes})


@pytest.mark.parametrize("shape", ["normal", "uniform", "lognormal"])
@pytest.mark.parametrize("group", [None, 0])
def test_a_numeric_column_stays_in_its_range_and_scales_to_zero_mean_and_unit_spread(
    shape: str, group: int | None
) -> None:
    column = numeric(shape=shape, group=group, loading=0.7 if group == 0 else 0.0)
    values = draw(column)
    assert values.min() >= column.low
    assert values.max() <= column.high
    scaled = eval(column.scaled().source(), {"np": np, "df": {"x": _Series(values)}})
    assert abs(scaled.mean()) < 0.05
    assert 0.9 < scaled.std() < 1.1


def test_columns_of_one_group_share_their_cause() -> None:
    cause = np.random.default_rng(1).standard_normal((20_000, 1))
    values = draw(numeric(group=0, loading=0.8))
    assert np.corrcoef(values, cause[:, 0])[0, 1] == pytest.approx(0.8, abs=0.02)


@given(st.lists(st.floats(0.05, 1.0), min_size=2, max_size=8))
def test_a_category_is_drawn_with_its_weights(raw: list[float]) -> None:
    weights = tuple(value / sum(raw) for value in raw)
    levels = tuple(f"level {k}" for k in range(len(weights)))
    column = CategoricalColumn(name="c", description="d", levels=levels, weights=weights)
    assert column.source() == f"pick(rng, n, {list(levels)!r}, {list(weights)!r})"


class _Series:
    """What a term asks of a column."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def to_numpy(self, _kind: type) -> np.ndarray:
        return self._values
