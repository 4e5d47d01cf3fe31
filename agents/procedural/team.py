"""The procedural team as a whole."""

from __future__ import annotations

from sandmle.agents.procedural.developer import ProceduralDeveloper
from sandmle.agents.procedural.engineer import ProceduralEngineer
from sandmle.agents.procedural.strategist import ProceduralStrategist
from sandmle.agents.procedural.writer import ProceduralWriter
from sandmle.agents.roles import ROLES, Team

__all__ = ["procedural_team"]


def procedural_team(batch_seed: int, settings_hash: str, n_train: int, n_test: int | None) -> Team:
    """One deterministic player for each role; arguments as for ``ProceduralStrategist``."""
    return Team(
        strategist=ProceduralStrategist(batch_seed, settings_hash, n_train, n_test),
        developer=ProceduralDeveloper(),
        engineer=ProceduralEngineer(),
        writer=ProceduralWriter(),
        reviewer=None,
        players=dict.fromkeys(ROLES, "procedural"),
    )
