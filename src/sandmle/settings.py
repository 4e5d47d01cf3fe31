"""Settings from the environment, ``.env`` and ``sandmle.toml``.

Order: command-line flag > environment > .env > sandmle.toml > default. Variables carry the prefix ``SANDMLE_``; the key
of an OpenAI-compatible endpoint is also read from ``OPENAI_API_KEY``, its address from ``OPENAI_BASE_URL``.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from sandmle.errors import BadInput
from sandmle.record import first_problem

__all__ = ["Settings", "data_home", "get_settings"]


def data_home() -> Path:
    """The folder of this user's sandmle data: ``$XDG_DATA_HOME/sandmle``, by default ``~/.local/share/sandmle``."""
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "sandmle"


class Settings(BaseSettings):
    """What the whole program shares. Everything else is an argument of the function that needs it."""

    model_config = SettingsConfigDict(
        env_prefix="SANDMLE_", env_file=".env", toml_file="sandmle.toml", extra="ignore", populate_by_name=True
    )

    api_key: SecretStr | None = Field(
        default=None,
        validation_alias=AliasChoices("SANDMLE_API_KEY", "OPENAI_API_KEY", "api_key"),
        description="Key of the OpenAI-compatible endpoint.",
    )
    base_url: str | None = Field(
        default=None,
        validation_alias=AliasChoices("SANDMLE_BASE_URL", "OPENAI_BASE_URL", "base_url"),
        description="Address of the OpenAI-compatible endpoint.",
    )
    model: str | None = Field(default=None, description="Model that plays roles of the synthesis team.")
    data_dir: Path = Field(default_factory=data_home, description="Where added seeds are remembered.")
    allow_unisolated: bool = Field(
        default=False, description="Run code of a language model where this machine offers no isolation."
    )
    python: Path | None = Field(
        default=None,
        description="Interpreter, with its libraries, that runs agents' code in local sandboxes; by default our own.",
    )
    mlebench_python: Path | None = Field(
        default=None, description="Interpreter that has MLE-bench installed, for `--grader original`."
    )
    mledojo_python: Path | None = Field(default=None, description="Interpreter that has MLE-Dojo's requirements.")
    gpus: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Numbers of the GPUs that sandboxes share, one a sandbox; separated by commas."
    )

    ray_gpus: float = Field(
        default=0, ge=0, le=1, description="GPUs of each sandbox in a Ray cluster: none, one, or a share of one."
    )

    @field_validator("gpus", mode="before")
    @classmethod
    def split_commas(cls, value: object) -> object:
        """Take ``0,1`` for the list that it stands for."""
        return tuple(filter(None, (part.strip() for part in value.split(",")))) if isinstance(value, str) else value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flag > environment > .env > sandmle.toml > default."""
        return (init_settings, env_settings, dotenv_settings, TomlConfigSettingsSource(settings_cls))


@cache
def get_settings() -> Settings:
    """The settings of this process, read once.

    Raises:
        BadInput: a value can't be used; names it.
    """
    try:
        return Settings()
    except ValidationError as error:
        raise BadInput(f"settings: {first_problem(error)}") from error
    except ValueError as error:
        raise BadInput(f"sandmle.toml: {error}") from error
