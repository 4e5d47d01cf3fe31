"""Finds the best tier that this machine really offers, by letting a canary loose in it.

The canary knows a secret file, an open port and the name of an abstract socket of ours, and must reach none of them.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import ExitStack

from sandmle.errors import SandmleError
from sandmle.sandboxes._protocol import Capabilities, Sandbox, SandboxSpec
from sandmle.trajectory import IsolationTier, StepResult

__all__ = ["candidates", "probe"]

Open = Callable[[IsolationTier, SandboxSpec], Awaitable[Sandbox]]

_WORDS: dict[IsolationTier, str] = {
    "A": "root namespaces: own file system, processes, network; unprivileged user",
    "B": "user namespace: own file system, processes, network",
}
_CANARY = """
import json, os, socket, sys
secret, port, name = sys.argv[1:]
def reaches(family, address):
    with socket.socket(family) as s:
        s.settimeout(5)
        try:
            s.connect(address)
        except OSError:
            return False
        return True
def writes(path):
    try:
        with open(path, "w"):
            return True
    except OSError:
        return False
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
print(json.dumps({
    "sees a file outside": os.path.exists(secret),
    "reaches the network of this machine": reaches(socket.AF_INET, ("127.0.0.1", int(port))),
    "reaches a local socket of this machine": reaches(socket.AF_UNIX, "\\0" + name),
    "sees other processes": any(p.isdigit() and int(p) not in (1, os.getpid()) for p in os.listdir("/proc")),
    "is root": os.getuid() == 0,
    "holds capabilities": int(status["CapEff"], 16) | int(status["CapPrm"], 16) != 0,
    "may gain rights": status["NoNewPrivs"].strip() != "1",
    "runs unfiltered": status["Seccomp"].strip() != "2",
    "can write to the system": writes("/usr/canary"),
    "can't write to its workspace": not writes("/workspace/canary"),
}))
"""


def candidates() -> tuple[IsolationTier, ...]:
    """The tiers worth trying, best first."""
    if sys.platform != "linux":
        return ()
    return ("A", "B") if os.geteuid() == 0 else ("B",)


async def probe(open_sandbox: Open) -> Capabilities:
    """Try the tiers from the best down; the first in which the canary stays shut in is the machine's.

    Returns:
        the tier and, for tier D, what every better one lacked.
    """
    faults = [] if sys.platform == "linux" else [f"{sys.platform} has no namespaces"]
    for tier in candidates():
        fault = await _fault(open_sandbox, tier)
        if not fault:
            return Capabilities(tier=tier, detail="; ".join([_WORDS[tier], *faults]))
        faults.append(f"tier {tier}: {fault}")
    return Capabilities(tier="D", detail="; ".join(faults) or "no tier was tried")


async def _fault(open_sandbox: Open, tier: IsolationTier) -> str:
    """What is wrong with a tier on this machine; empty if nothing is."""
    try:
        async with await open_sandbox(tier, SandboxSpec()) as sandbox:
            return _judge(await _release_canary(sandbox))
    except SandmleError as error:
        return str(error)


async def _release_canary(sandbox: Sandbox) -> StepResult:
    baits, arguments = await asyncio.to_thread(_lay_baits)
    try:
        return await sandbox.run(_CANARY, timeout=30, args=arguments)
    finally:
        await asyncio.to_thread(baits.close)


def _lay_baits() -> tuple[ExitStack, list[str]]:
    """A file, a TCP server and an abstract socket that the canary must not reach, and the arguments that name them."""
    name = secrets.token_hex(8)
    with ExitStack() as stack:
        secret = stack.enter_context(tempfile.NamedTemporaryFile())
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind("\0" + name)
        abstract.listen()
        return stack.pop_all(), [secret.name, str(server.getsockname()[1]), name]


def _judge(result: StepResult) -> str:
    if result.status != "ok":
        return f"the canary could not run ({result.status}): {result.output.strip()[-300:]}"
    facts = json.loads(result.output)
    return ", ".join(f"the canary {fault}" for fault, found in facts.items() if found)
