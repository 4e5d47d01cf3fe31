"""``sandmle doctor``: what this machine offers, what is missing, and how to get it."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import typer

__all__ = ["doctor_command"]

EXTRAS = {
    "bench": "jupyter_client",
    "datasets": "statsmodels",
    "e2b": "e2b",
    "ray": "ray",
    "train": "torch",
    "vllm": "vllm",
}
"""A module by which each extra for users is known to be installed."""


class Line(NamedTuple):
    """One thing looked at; ``advice`` says how to get what is missing."""

    what: str
    found: str
    ok: bool
    advice: str = ""


def doctor_command(
    sandbox: Annotated[
        Literal["local", "e2b", "ray"] | None,
        typer.Option("--sandbox", help="Put these sandboxes to the test instead: does all that code relies on hold?"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Tell what this machine offers. Exit code 3: something needed is missing; 1: a check of the sandboxes failed."""
    if sandbox is not None:
        from sandmle.cli._contract import print_contract

        print_contract(sandbox, as_json=as_json)
        return
    lines = [*_machine(), _isolation(), _lightgbm(), *_extras(), *_endpoint()]
    if as_json:
        import json

        typer.echo(json.dumps([line._asdict() for line in lines], indent=2))
    else:
        _print(lines)
    if not all(line.ok for line in lines):
        raise typer.Exit(3)


def _print(lines: list[Line]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("what", "found", "how to get it")
    for line in lines:
        table.add_row(Text(line.what), Text(line.found, style="" if line.ok else "red"), Text(line.advice))
    Console().print(table)


def _machine() -> Iterator[Line]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Line("python", version, sys.version_info >= (3, 11), "" if sys.version_info >= (3, 11) else "Python 3.11+")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    yield Line("machine", f"{os.cpu_count()} cores, {memory:.0f} GiB", ok=True)
    gpus = sorted(Path("/proc/driver/nvidia/gpus").glob("*")) if Path("/proc/driver/nvidia/gpus").exists() else []
    yield Line("GPU", f"{len(gpus)} NVIDIA" if gpus else "none (not needed)", ok=True)


def _isolation() -> Line:
    import asyncio

    from sandmle.errors import SandmleError
    from sandmle.sandboxes import LocalBackend, SandboxSpec

    async def probe() -> str:
        backend = LocalBackend(allow_unisolated=True)
        async with await backend.create(SandboxSpec()):
            return f"tier {backend.capabilities.tier}: {backend.capabilities.detail}"

    try:
        found = asyncio.run(probe())
    except SandmleError as error:
        return Line("sandbox", str(error), ok=False)
    advice = "run as root, or allow user namespaces; a language model's code needs --allow-unisolated until then"
    return Line("sandbox", found, ok=True, advice=advice if found.startswith("tier D") else "")


def _lightgbm() -> Line:
    try:
        importlib.import_module("lightgbm")
    except (ImportError, OSError) as error:
        advice = "apt-get install libgomp1 (agents' code only; sandmle itself does not need it)"
        return Line("lightgbm", f"does not load: {error}", ok=True, advice=advice)
    return Line("lightgbm", "loads", ok=True)


def _extras() -> Iterator[Line]:
    for extra, module in EXTRAS.items():
        there = importlib.util.find_spec(module) is not None
        advice = "" if there else f"pip install 'sandmle[{extra}]'"
        yield Line(f"extra {extra}", "installed" if there else "not installed (optional)", ok=True, advice=advice)


def _endpoint() -> Iterator[Line]:
    from sandmle.settings import get_settings

    settings = get_settings()
    key = "set" if settings.api_key else "not set (needed for --model openai:NAME only)"
    yield Line("API key", key, ok=True, advice="" if settings.api_key else "export OPENAI_API_KEY=...")
    yield Line(
        "endpoint", settings.base_url or "OpenAI's own (optional)", ok=True, advice="SANDMLE_BASE_URL or --base-url"
    )
