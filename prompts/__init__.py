"""Prompts: one versioned Markdown file each.

A file has a YAML head (``role``, ``version``, ``inputs``) between two lines of ``---`` and a Jinja2 body. The inputs
named in the head are exactly those that the body uses and that ``render`` takes: a missing or unknown one is refused.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache, lru_cache
from importlib import resources
from typing import Annotated, Any, Literal

import yaml
from jinja2 import Environment, StrictUndefined, Template, TemplateError, meta
from pydantic import Field, ValidationError

from sandmle.errors import BadInput
from sandmle.record import Record, first_problem

__all__ = ["Prompt", "load_prompt", "parse_prompt", "prompt_names"]

_HEAD = re.compile(r"\A---\n(.*?)\n---\n(.*)\Z", re.DOTALL)
_JINJA = Environment(undefined=StrictUndefined, autoescape=False, trim_blocks=True, lstrip_blocks=True)


class _Head(Record):
    role: Literal["system", "user"]
    version: Annotated[int, Field(ge=1)]
    inputs: tuple[str, ...] = ()


class Prompt(Record):
    """One prompt.

    Attributes:
        name: the file's name without ``.md``.
        role: the chat role that the rendered text takes.
        version: raised whenever the text changes.
        inputs: names of the values that ``render`` takes.
        body: Jinja2 source.
    """

    name: str
    role: Literal["system", "user"]
    version: int
    inputs: tuple[str, ...]
    body: str

    @property
    def fingerprint(self) -> str:
        """The first 16 hex digits of the SHA-256 of the body, for the settings of a run."""
        return hashlib.sha256(self.body.encode()).hexdigest()[:16]

    def render(self, **inputs: Any) -> str:  # noqa: ANN401 - any value a template can print
        """The prompt's text, without white space at its ends.

        Raises:
            BadInput: an input is missing or not one of the prompt's, or the template fails on it.
        """
        missing, unknown = set(self.inputs) - set(inputs), set(inputs) - set(self.inputs)
        if missing or unknown:
            problem = f"misses {', '.join(sorted(missing))}" if missing else f"has no {', '.join(sorted(unknown))}"
            raise BadInput(f"prompt {self.name!r} {problem}; its inputs are {', '.join(self.inputs) or 'none'}")
        try:
            return _template(self.body).render(**inputs).strip()
        except TemplateError as error:
            raise BadInput(f"prompt {self.name!r}: {error}") from error


@lru_cache(maxsize=64)
def _template(body: str) -> Template:
    """Compiled once: that takes as long as the rest of an episode's first turn."""
    return _JINJA.from_string(body)


def parse_prompt(name: str, text: str) -> Prompt:
    """Read a prompt from the text of its file.

    Raises:
        BadInput: the head or the body is broken, or the body's inputs are not those of the head.
    """
    parts = _HEAD.match(text)
    if parts is None:
        raise BadInput(f"prompt {name!r}: no YAML head between two lines of ---")
    try:
        head = _Head.model_validate(yaml.safe_load(parts.group(1)))
        used = meta.find_undeclared_variables(_JINJA.parse(parts.group(2)))
    except ValidationError as error:
        raise BadInput(f"prompt {name!r}: {first_problem(error)}") from error
    except (yaml.YAMLError, TemplateError) as error:
        raise BadInput(f"prompt {name!r}: {' '.join(str(error).split())}") from error
    if used != set(head.inputs):
        differing = ", ".join(sorted(used ^ set(head.inputs)))
        raise BadInput(f"prompt {name!r}: head and body disagree about the inputs {differing}")
    return Prompt(name=name, role=head.role, version=head.version, inputs=head.inputs, body=parts.group(2))


def prompt_names() -> tuple[str, ...]:
    """The names of all prompts, sorted."""
    folder = resources.files(__name__)
    return tuple(sorted(entry.name[:-3] for entry in folder.iterdir() if entry.name.endswith(".md")))


@cache
def load_prompt(name: str) -> Prompt:
    """The prompt called ``name``.

    Raises:
        BadInput: there is none (lists those there are), or its file is broken.
    """
    if name not in prompt_names():
        raise BadInput(f"unknown prompt {name!r}; choose from {', '.join(prompt_names())}")
    return parse_prompt(name, (resources.files(__name__) / f"{name}.md").read_text(encoding="utf-8"))
