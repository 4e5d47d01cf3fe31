"""The real graph, real sandboxes and small tables; tests put a saboteur in one role and see who gets the work back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandmle.agents.procedural.team import procedural_team
from sandmle.agents.roles import Team
from sandmle.graphs.synthesis import SynthesisContext, SynthesisState, builder
from sandmle.graphs.synthesis.novelty import NoveltyIndex
from sandmle.graphs.synthesis.workshop import Workshop
from sandmle.sandboxes import LocalBackend

pytestmark = pytest.mark.flow


@dataclass
class Outcome:
    """The last state of a slot and the nodes it passed."""

    state: SynthesisState
    nodes: list[str]


@pytest.fixture(scope="session")
def backend() -> LocalBackend:
    return LocalBackend(allow_unisolated=True)


@pytest.fixture
def context(tmp_path: Path) -> SynthesisContext:
    return SynthesisContext(
        out=str(tmp_path / "tasks"), batch_seed=3, n_train=120, n_test=800, max_draws=1, max_attempts=1
    )


@pytest.fixture
def team(context: SynthesisContext) -> Team:
    return procedural_team(context.batch_seed, context.settings_hash(), context.n_train, context.n_test)


@pytest.fixture
def run_slot(context: SynthesisContext, backend: LocalBackend):
    """Run one slot of the graph with the given team."""

    async def run(team: Team, novelty: NoveltyIndex | None = None, **state: Any) -> Outcome:
        equipped = context.equip(Workshop(team=team, backend=backend, novelty=novelty or NoveltyIndex()))
        start = SynthesisState(seed="breast-cancer", **state)
        nodes: list[str] = []
        values: dict[str, Any] = {}
        async for kind, part in builder().compile().astream(start, context=equipped, stream_mode=["updates", "values"]):
            if kind == "updates":
                nodes += part
            else:
                values = part
        return Outcome(SynthesisState.model_validate(values), nodes)

    return run
