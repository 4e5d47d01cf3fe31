"""What goes wrong with data before competitors get them: one kind of mutation a file."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from sandmle.agents.procedural.mutations._mutation import Mutation, mutation_kinds, published
from sandmle.agents.procedural.mutations.codes import LevelCodes
from sandmle.agents.procedural.mutations.imbalance import Imbalance
from sandmle.agents.procedural.mutations.label_noise import LabelNoise
from sandmle.agents.procedural.mutations.missing import Missing
from sandmle.agents.procedural.mutations.outliers import Outliers
from sandmle.agents.procedural.mutations.redundant import Duplicate, NearConstant
from sandmle.agents.procedural.mutations.shift import Shift
from sandmle.agents.procedural.mutations.units import Units
from sandmle.agents.procedural.problems import Problem
from sandmle.agents.procedural.schema import TableSchema

__all__ = ["AnyMutation", "Mutation", "draw_mutations", "mutation_kinds", "published"]

AnyMutation = Annotated[
    Duplicate | Imbalance | LabelNoise | LevelCodes | Missing | NearConstant | Outliers | Shift | Units,
    Field(discriminator="kind"),
]
SHARES = (0.3, 0.35, 0.25, 0.1)
"""How often a table gets 0, 1, 2 and 3 mutations."""


def draw_mutations(
    rng: np.random.Generator, table: TableSchema, problem: Problem, *, keep: tuple[str, ...] = ()
) -> tuple[Mutation, ...]:
    """None to three mutations of different kinds and columns; those called ``keep`` stay as they are."""
    count = int(np.searchsorted(np.cumsum(SHARES), rng.random()))
    kinds, found = mutation_kinds(), list[Mutation]()
    for index in rng.permutation(len(kinds)):
        if len(found) == count:
            break
        used = {*keep, *(name for mutation in found for name in mutation.columns())}
        free = table.only([column.name for column in table.columns if column.name not in used])
        mutation = kinds[int(index)].draw(rng, free, problem)
        if mutation is not None:
            found.append(mutation)
    return tuple(found)
