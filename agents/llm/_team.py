"""Making a team: a model or code of ours in every role."""

from __future__ import annotations

from sandmle.agents.llm._asking import RolePlayer
from sandmle.agents.llm._calls import ModelCalls
from sandmle.agents.llm._developer import LlmDeveloper
from sandmle.agents.llm._engineer import LlmEngineer
from sandmle.agents.llm._reviewer import LlmReviewer
from sandmle.agents.llm._settings import TeamSettings
from sandmle.agents.llm._strategist import LlmStrategist
from sandmle.agents.llm._writer import LlmWriter
from sandmle.agents.procedural.team import procedural_team
from sandmle.agents.roles import Role, Team

__all__ = ["make_team"]

MAKERS: tuple[Role, ...] = ("developer", "writer")


def make_team(
    settings: TeamSettings,
    calls: ModelCalls,
    *,
    batch_seed: int,
    settings_hash: str,
    n_train: int,
    n_test: int | None,
) -> Team:
    """The team that the settings describe.

    Args:
        settings: who plays what.
        calls: how models are called.
        batch_seed: seed of the batch; with the candidate's index it fixes every draw, and it is part of every sample.
        settings_hash: hash of the settings that shape the batch.
        n_train: training rows of a task.
        n_test: hidden test rows; None for what suits the kind of task.
    """
    team = procedural_team(batch_seed, settings_hash, n_train, n_test)
    team.players = settings.players()

    def player(role: Role) -> RolePlayer | None:
        model = settings.model(role)
        return RolePlayer(role, model, calls, settings.repairs, batch_seed) if model else None

    if strategist := player("strategist"):
        team.strategist = LlmStrategist(strategist, settings_hash, n_train, n_test, _tables_only(settings))
    if developer := player("developer"):
        team.developer = LlmDeveloper(developer)
    if engineer := player("engineer"):
        team.engineer = LlmEngineer(engineer)
    if writer := player("writer"):
        team.writer = LlmWriter(writer)
    if reviewer := player("reviewer"):
        team.reviewer = LlmReviewer(reviewer)
    return team


def _tables_only(settings: TeamSettings) -> str:
    """Why this team makes only tables from a model's plan; empty if it makes anything."""
    procedural = [role for role in MAKERS if settings.players()[role] == "procedural"]
    if not procedural:
        return ""
    return f"a procedural {' and '.join(procedural)} can only make tables of what a model plans"
