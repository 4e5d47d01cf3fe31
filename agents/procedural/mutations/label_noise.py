"""Labels that were entered wrongly, in the training and in the test set alike."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field

from sandmle.agents.procedural.mutations._mutation import Generator, Mutation, register
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.schema import TableSchema

__all__ = ["LabelNoise"]


@register
class LabelNoise(Mutation):
    """Replaces a share of the labels by one drawn from all; the best prediction knows the share."""

    kind: Literal["label_noise"] = "label_noise"
    share: Annotated[float, Field(gt=0, lt=0.5)]

    def label_noise(self) -> float:
        return self.share

    def words(self) -> str:
        return "Labels were entered by hand. In spot checks a few of them proved wrong, here and in the test set."

    @classmethod
    def draw(cls, rng: Generator, table: TableSchema, problem: Problem) -> Self | None:
        if problem.link not in ("binary", "multiclass", "multilabel"):
            return None
        return cls(share=round(float(rng.uniform(0.04, 0.12)), 3))
