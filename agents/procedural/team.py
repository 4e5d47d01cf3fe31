"""The procedural team as a whole."""

from __future__ import annotations

from typing import Literal

from sandmle.agents.procedural.developer import ProceduralDeveloper
from sandmle.agents.procedural.engineer import ProceduralEngineer
from sandmle.agents.procedural.strategist import ProceduralStrategist
from sandmle.agents.procedural.writer import ProceduralWriter
from sandmle.agents.roles import DataStrategist, MLDeveloper, MLOpsEngineer, TechnicalWriter

__all__ = ["ProceduralTeam"]


class ProceduralTeam:
    """One deterministic player for each role; arguments as in ``ProceduralStrategist``."""

    kind: Literal["procedural", "llm"] = "procedural"

    def __init__(self, batch_seed: int, settings_hash: str, n_train: int, n_test: int | None) -> None:
        self.strategist: DataStrategist = ProceduralStrategist(batch_seed, settings_hash, n_train, n_test)
        self.developer: MLDeveloper = ProceduralDeveloper()
        self.engineer: MLOpsEngineer = ProceduralEngineer()
        self.writer: TechnicalWriter = ProceduralWriter()
