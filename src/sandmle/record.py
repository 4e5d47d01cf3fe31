"""Frozen, versioned records: the base of everything sandmle writes to disk.

A record carries an integer ``schema_version``. A reader accepts older versions through one migration function a step
and refuses newer ones with a clear line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from sandmle.errors import BadInput

__all__ = ["Record", "VersionedRecord", "as_value_error", "canonical_json", "first_problem", "sha256_json"]

Migration = Callable[[dict[str, Any]], dict[str, Any]]


class Record(BaseModel):
    """A frozen pydantic model that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class VersionedRecord(Record):
    """A record that stands alone on disk and so carries its schema version.

    Attributes:
        schema_version: the version of the layout this instance was written in; always ``VERSION`` once read.
    """

    VERSION: ClassVar[int] = 1
    MIGRATIONS: ClassVar[Mapping[int, Migration]] = {}

    schema_version: int = 1

    @model_validator(mode="before")
    @classmethod
    def _migrate(cls, data: Any) -> Any:  # noqa: ANN401 - pydantic hands over whatever was given
        if not isinstance(data, dict):
            return data
        version = data.get("schema_version", cls.VERSION)
        if not isinstance(version, int):
            raise ValueError(f"schema_version must be an integer, not {version!r}")
        if version > cls.VERSION:
            raise ValueError(
                f"written by a newer sandmle (schema_version {version}, this one reads up to {cls.VERSION}):"
                " upgrade sandmle"
            )
        for step in range(version, cls.VERSION):
            if step not in cls.MIGRATIONS:
                raise ValueError(f"schema_version {version} is not a version that sandmle ever wrote")
            data = cls.MIGRATIONS[step](data)
        return {**data, "schema_version": cls.VERSION}

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read one record from a JSON file.

        Raises:
            BadInput: the file is missing, is not JSON, or does not fit the schema; names the file and the first fault.
        """
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise BadInput(f"{path}: {error.strerror or error}") from error
        except ValidationError as error:
            raise BadInput(f"{path}: {first_problem(error)}") from error

    def to_text(self) -> str:
        """The record as the exact text that goes to disk: indented JSON with a final newline."""
        return self.model_dump_json(indent=2) + "\n"


@contextmanager
def as_value_error() -> Iterator[None]:
    """Let a validator say what is wrong: a BadInput becomes the ValueError that pydantic collects."""
    try:
        yield
    except BadInput as error:
        raise ValueError(str(error)) from error


def first_problem(error: ValidationError) -> str:
    """The first fault of a pydantic error in one line: ``field.path: what is wrong``."""
    fault = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in fault["loc"])
    message = str(fault["msg"]).removeprefix("Value error, ")
    return f"{where}: {message}" if where else message


def canonical_json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """JSON with sorted keys and no spaces, so that equal values have equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sha256_json(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Hex SHA-256 of the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
