"""``sandmle doctor --sandbox``: the contract suite of the sandboxes, one line a check as soon as it is done."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Iterator

import typer
from rich.console import Console
from rich.text import Text

from sandmle.sandboxes import Capabilities, SandboxName, contract, open_backend

__all__ = ["print_contract"]

_AT_ONCE = 2
_SIGNS = {"passed": ("ok", "green"), "failed": ("FAIL", "bold red"), "skipped": ("skip", "yellow")}


def print_contract(sandbox: SandboxName, *, as_json: bool) -> None:
    """Run every check; with ``as_json`` the lines go to standard error and JSON to standard output.

    Raises:
        EnvironmentProblem: the extra or the key that the sandboxes need is missing.
        Exit: with code 1, a check failed.
    """
    found, results = asyncio.run(_run(sandbox, Console(stderr=as_json, soft_wrap=True, highlight=False)))
    if as_json:
        shown = [result.model_dump() for result in results]
        typer.echo(json.dumps({"sandbox": sandbox, "capabilities": found.model_dump(), "results": shown}, indent=2))
    if any(result.status == "failed" for result in results):
        raise typer.Exit(1)


async def _run(sandbox: SandboxName, console: Console) -> tuple[Capabilities, list[contract.CheckResult]]:
    backend = open_backend(sandbox, allow_unisolated=True)
    try:
        found = await asyncio.to_thread(lambda: backend.capabilities)
        console.print(f"{sandbox}: tier {found.tier}, {found.detail}", markup=False)
        with _without_warnings():
            results = await contract.run_contract(
                backend,
                checks=contract.CHECKS,
                at_once=_at_once(found),
                on_result=lambda result: console.print(_line(result)),
            )
    finally:
        await backend.aclose()
    counts = {status: sum(result.status == status for result in results) for status in _SIGNS}
    console.print(", ".join(f"{count} {status}" for status, count in counts.items()))
    return found, results


def _at_once(found: Capabilities) -> int:
    """Checks at a time: some have two sandboxes, and two of them could wait for each other's second one for ever."""
    return _AT_ONCE if found.room is None else max(1, min(_AT_ONCE, found.room // 2))


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """Keep warnings, such as that of every replay, from between the lines, unless asked for by ``--verbose``."""
    handlers = [handler for handler in logging.getLogger().handlers if handler.level == logging.WARNING]
    for handler in handlers:
        handler.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for handler in handlers:
            handler.setLevel(logging.WARNING)


def _line(result: contract.CheckResult) -> Text:
    sign, style = _SIGNS[result.status]
    line = Text.assemble((f"{sign:<5}", style), f"{result.check}  ", (result.promise, "dim"))
    if result.reason:
        line.append(f"\n     {result.reason}", style if result.status == "failed" else "")
    else:
        line.append(f"  {result.seconds:.1f} s", "dim")
    return line
