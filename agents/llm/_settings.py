"""Who plays each role, and with which model: what ``--team`` takes.

    procedural                             code of ours in every role
    strategist=llm,writer=llm              the model of the settings (SANDMLE_MODEL) in these roles
    developer=openai:NAME                  another model in a role
    paper                                  one strong model in the four roles of the paper
    local-vllm                             a vLLM server on this machine in every role
    team.toml                              a file with models, prices, limits and budgets

Roles that are not named are procedural.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from sandmle.agents.roles import ROLES, Player, Role
from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.prompts import load_prompt
from sandmle.record import Record
from sandmle.settings import get_settings
from sandmle.trajectory import Price
from sandmle.wrong_settings import wrong_settings

__all__ = ["PRESETS", "ModelSettings", "TeamSettings", "parse_team"]

PROCEDURAL = "procedural"
VLLM_ADDRESS = "http://127.0.0.1:8000/v1"
PRESETS = ("paper", "local-vllm")
Positive = Annotated[float, Field(gt=0)]


class ModelSettings(Record):
    """One model and how it is called.

    Attributes:
        name: as the endpoint knows it. Replies are remembered by it, so models that differ need names that differ.
        base_url: address of the endpoint; None for the settings', else OpenAI's own.
        key_variable: the environment variable that holds the key; None for the settings' key.
        temperature: None for the endpoint's own default.
        max_tokens: of one reply.
        timeout_s: seconds until a call that has not been answered is made again.
        tries: calls for one reply until the batch is stopped, errors of the provider and rate limits included.
        first_delay_s: seconds before the second try; they double from try to try, up to a minute, with jitter.
        at_once: calls that may run at the same time.
        requests_per_minute: None for no limit of our own.
        input_price: money for a million prompt tokens; ``output_price`` for a million tokens of replies.
        extra_body: further fields of each request, such as vLLM's ``return_token_ids``.
    """

    name: str
    base_url: str | None = None
    key_variable: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 1.0
    max_tokens: Annotated[int, Field(ge=16)] = 16_384
    timeout_s: Positive = 600.0
    tries: Annotated[int, Field(ge=1)] = 10
    first_delay_s: Positive = 1.0
    at_once: Annotated[int, Field(ge=1)] = 8
    requests_per_minute: Positive | None = None
    input_price: Annotated[float, Field(ge=0)] = 0.0
    output_price: Annotated[float, Field(ge=0)] = 0.0
    extra_body: Mapping[str, Any] = Field(default_factory=dict)

    @property
    def price(self) -> Price:
        """Of its tokens."""
        return Price(input=self.input_price, output=self.output_price)

    def shaping(self) -> dict[str, Any]:
        """What decides on the words of a reply."""
        return self.model_dump(mode="json", include={"name", "temperature", "max_tokens", "extra_body"})


class TeamSettings(Record):
    """The players of a team.

    Attributes:
        roles: ``procedural`` or the key of a model, by role; those left out are procedural.
        models: by key.
        repairs: how often a reply that can't be used is asked for again, within one conversation.
        task_tokens: prompt and reply tokens that one task may cost, rejected draws included; None for no limit.
        task_money: the same in money.
        batch_tokens: of all tasks of a folder; a batch that has used them stops, and goes on with a larger budget.
        batch_money: the same in money.
    """

    roles: Mapping[Role, str] = Field(default_factory=dict)
    models: Mapping[str, ModelSettings] = Field(default_factory=dict)
    repairs: Annotated[int, Field(ge=0, le=10)] = 2
    task_tokens: Annotated[int, Field(gt=0)] | None = 1_000_000
    task_money: Positive | None = None
    batch_tokens: Annotated[int, Field(gt=0)] | None = None
    batch_money: Positive | None = None

    @model_validator(mode="after")
    def _models_are_there(self) -> TeamSettings:
        for role, key in self.roles.items():
            if key != PROCEDURAL and key not in self.models:
                raise ValueError(f"roles.{role}: no model {key!r}; there are {', '.join(self.models) or 'none'}")
        return self

    def model(self, role: Role) -> ModelSettings | None:
        """The model that plays a role; None for the procedural player."""
        key = self.roles.get(role, PROCEDURAL)
        return None if key == PROCEDURAL else self.models[key]

    def players(self) -> dict[Role, Player]:
        """Who plays each role."""
        return {role: "llm" if self.model(role) else "procedural" for role in ROLES}

    def shaping(self) -> dict[str, Any]:
        """What decides on the tasks: addresses and rates do not, prices only where a task has a budget of money."""
        models = {role: model.shaping() for role in ROLES if (model := self.model(role))}
        names = ("repair", *(name for role in models for name in (role, f"{role}_task")))
        prices = [[model.input_price, model.output_price] for role in ROLES if (model := self.model(role))]
        return {
            "models": models,
            "prompts": {name: load_prompt(name).fingerprint for name in names},
            "prices": prices if self.task_money is not None else None,
            **self.model_dump(mode="json", include={"repairs", "task_tokens", "task_money"}),
        }


def parse_team(text: str) -> TeamSettings:
    """The team that ``text`` names, see the head of this file.

    Raises:
        BadInput: unknown role, player, preset or file, or a file with a fault; says what is there to choose from.
        EnvironmentProblem: a model is asked for, but none is named.
    """
    if text in ("", PROCEDURAL):
        return TeamSettings()
    if text == "llm":
        return _by_role(dict.fromkeys(ROLES, "llm"))
    if text == "paper":
        return _by_role(dict.fromkeys(("strategist", "developer", "engineer", "writer"), "llm"))
    if text == "local-vllm":
        local = ModelSettings(
            name=_model_name("local-vllm"),
            base_url=get_settings().base_url or VLLM_ADDRESS,
            temperature=0.7,
            extra_body={"return_token_ids": True},
        )
        return TeamSettings(roles=dict.fromkeys(ROLES, "llm"), models={"llm": local})
    if text.endswith(".toml"):
        return _read_file(Path(text))
    return _by_role(dict(_pair(part) for part in text.split(",")))


def _pair(part: str) -> tuple[Role, str]:
    role, sign, player = (piece.strip() for piece in part.partition("="))
    if not sign:
        known = ", ".join(("procedural", "llm", *PRESETS))
        raise BadInput(f"--team: unknown team {part!r}; choose {known}, a .toml file, or roles such as writer=llm")
    if role not in ROLES:
        raise BadInput(f"--team: unknown role {role!r}; choose from {', '.join(ROLES)}")
    if player not in (PROCEDURAL, "llm") and not re.fullmatch(r"openai:.+", player):
        raise BadInput(f"--team: unknown player {player!r} of {role}; choose procedural, llm or openai:NAME")
    return role, player


def _by_role(players: Mapping[Role, str]) -> TeamSettings:
    models = {
        player: ModelSettings(name=_model_name(f"{role}=llm") if player == "llm" else player.removeprefix("openai:"))
        for role, player in players.items()
        if player != PROCEDURAL
    }
    return TeamSettings(roles=players, models=models)


def _model_name(asked: str) -> str:
    name = get_settings().model
    if not name:
        raise EnvironmentProblem(f"--team {asked}: which model? Set SANDMLE_MODEL, or write openai:NAME for llm")
    return name


def _read_file(path: Path) -> TeamSettings:
    try:
        return TeamSettings.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or error}") from error
    except ValidationError as error:
        raise BadInput("\n".join(f"{path}: {line}" for line in wrong_settings(error, TeamSettings))) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: no TOML: {error}") from error
