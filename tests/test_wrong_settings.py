"""Each kind of fault in a file of settings, at each depth, in the words that its writer reads."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from sandmle.wrong_settings import wrong_settings


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")

    updates: Annotated[int, Field(ge=1)] = 1
    batching: Literal["lockstep", "continuous"] = "lockstep"

    @field_validator("updates")
    @classmethod
    def _even(cls, value: int) -> int:
        if value % 2 == 0:
            return value
        raise ValueError("updates must be even")


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    grpo: Inner | None = None
    arms: tuple[Inner, ...] = ()
    by_name: dict[str, Inner] = {}
    split: tuple[Annotated[int, Field(gt=0)], int] | Annotated[str, Field(pattern="^[a-z]+$")] = "paper"
    jobs: int | Literal["auto"] | None = None
    either: Inner | list[Inner] | None = None
    by_stage: dict[Literal["sft", "grpo"], dict[str, Any]] = {}


LATER = list(Outer.model_fields)[2:]


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({}, ["name: is missing"]),
        ({"name": "x", "gpro": {}}, ["gpro: there is no such setting; did you mean 'grpo'?"]),
        ({"name": "x", "zzzz": 1}, [f"zzzz: there is no such setting; there are name, grpo, {', '.join(LATER)}"]),
        ({"name": "x", "grpo": 3}, ["grpo: should be a table, not 3"]),
        ({"name": {}, "grpo": {}}, ["name: should be a valid string, not a table"]),
        ({"name": "x", "grpo": {"updatess": 2}}, ["grpo.updatess: there is no such setting; did you mean 'updates'?"]),
        ({"name": "x", "grpo": {"updates": "many"}}, ["grpo.updates: should be a valid integer, not 'many'"]),
        ({"name": "x", "grpo": {"updates": 0}}, ["grpo.updates: should be greater than or equal to 1, not 0"]),
        ({"name": "x", "grpo": {"updates": 3}}, ["grpo.updates: updates must be even"]),
        (
            {"name": "x", "arms": [{"batchin": "lockstep"}, {"batching": "lock"}]},
            [
                "arms.0.batchin: there is no such setting; did you mean 'batching'?",
                "arms.1.batching: should be 'lockstep' or 'continuous', not 'lock'",
            ],
        ),
        (
            {"name": "x", "by_name": {"a": {"update": 2}}},
            ["by_name.a.update: there is no such setting; did you mean 'updates'?"],
        ),
        ({"name": "x", "split": "Paper"}, ["split: should match pattern '^[a-z]+$', not 'Paper'"]),
        ({"name": "x", "split": 5}, ["split: should be a list or a valid string, not 5"]),
        ({"name": "x", "split": [1]}, ["split.1: is missing"]),
        (
            {"name": "x", "split": [0, "a"]},
            ["split.0: should be greater than 0, not 0", "split.1: should be a valid integer, not 'a'"],
        ),
        ({"name": "x", "jobs": "many"}, ["jobs: should be a valid integer or 'auto', not 'many'"]),
        ({"name": "x", "either": {"update": 1}}, ["either.update: there is no such setting; did you mean 'updates'?"]),
        ({"name": "x", "either": [{}, {"updates": 3}]}, ["either.1.updates: updates must be even"]),
        ({"name": "x", "either": 3}, ["either: should be a table or a list, not 3"]),
        ({"name": "x", "by_stage": {"rl": {}}}, ["by_stage.rl: should be 'sft' or 'grpo', not 'rl'"]),
        ({"name": "x", "by_stage": {"sft": 3}}, ["by_stage.sft: should be a table, not 3"]),
    ],
)
def test_every_fault_is_one_line(given: dict[str, Any], lines: list[str]) -> None:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(given)
    assert wrong_settings(caught.value, Outer) == lines


def test_a_long_value_is_cut() -> None:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"name": "x", "grpo": {"updates": "many " * 99}})
    assert len(wrong_settings(caught.value, Outer)[0]) < 120
