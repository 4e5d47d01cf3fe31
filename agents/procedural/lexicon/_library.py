"""Where domains are found: the YAML files under ``domains/``, read once."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import yaml
from pydantic import ValidationError

from sandmle.agents.procedural.lexicon._domain import Domain
from sandmle.agents.procedural.lexicon._media import MediaKind
from sandmle.errors import BadInput, SandmleError
from sandmle.record import first_problem

__all__ = ["get_domain", "load_domains", "media_domains", "parse_domain"]

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is many times faster


@cache
def load_domains() -> tuple[Domain, ...]:
    """All domains of the lexicon, sorted by slug.

    Raises:
        SandmleError: a file of the lexicon is broken; names it and its first fault.
    """
    folder = files("sandmle.agents.procedural").joinpath("domains")
    sources = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".yaml")), key=lambda e: e.name)
    return tuple(parse_domain(entry.name, entry.read_text(encoding="utf-8")) for entry in sources)


def media_domains(kind: MediaKind) -> tuple[Domain, ...]:
    """The domains that offer a medium, sorted by slug: ``domain.media.image`` is set in each of ``"image"``."""
    return tuple(domain for domain in load_domains() if kind in domain.media.kinds)


def get_domain(slug: str) -> Domain:
    """The domain named ``slug``.

    Raises:
        BadInput: there is none; lists those there are.
    """
    domains = {domain.slug: domain for domain in load_domains()}
    if slug not in domains:
        raise BadInput(f"no domain {slug!r} in the lexicon; choose one of: {', '.join(domains)}")
    return domains[slug]


def parse_domain(file_name: str, text: str) -> Domain:
    """The domain that the YAML ``text`` of ``file_name`` describes.

    Raises:
        SandmleError: it is not YAML, does not fit the schema, or its slug is not the file's name; names file and field.
    """
    try:
        domain = Domain.model_validate(yaml.load(text, Loader=LOADER))
    except ValidationError as error:
        raise SandmleError(f"lexicon file {file_name}: {first_problem(error)}") from error
    except yaml.YAMLError as error:
        raise SandmleError(f"lexicon file {file_name}: not YAML: {error}") from error
    if f"{domain.slug}.yaml" != file_name:
        raise SandmleError(f"lexicon file {file_name}: its slug is {domain.slug!r}; name the file after it")
    return domain
