"""Finds the best tier that this machine really offers, by letting a canary loose in it.

The canary knows a secret file, an open port, a socket in the file system, the name of an abstract socket, and a process
of ours, and must reach none of them. Two things only namespaces hide: who else runs, and whether a path exists. Older
kernels can't keep code of tier C from signalling processes of its user; that is a remark, not a fault. So is it that a
kernel can't fork the sandbox: it then is copied, or its steps are run again.
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
from contextlib import ExitStack, suppress
from pathlib import Path

from sandmle.errors import SandmleError
from sandmle.sandboxes._protocol import Capabilities, ForkKind, Sandbox, SandboxSpec
from sandmle.trajectory import IsolationTier, StepResult

__all__ = ["candidates", "probe"]

Open = Callable[[IsolationTier, SandboxSpec], Awaitable[Sandbox]]

_WORDS: dict[IsolationTier, str] = {
    "A": "root namespaces: own file system, processes, network; unprivileged user",
    "B": "user namespace: own file system, processes, network",
    "C": "Landlock and seccomp: only its own and the system's files, no network; whether a path exists can be told",
}
_CANARY = """
import json, os, socket, sys
hidden, secret, port, folder, name, pid = sys.argv[1:]
def attempt(what):
    try:
        what()
    except OSError:
        return False
    return True
def reach(family, address):
    with socket.socket(family) as s:
        s.settimeout(5)
        s.connect(address)
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines())
faults = {
    "reads a file outside": attempt(lambda: open(secret).read()),
    "can change a file outside": attempt(lambda: os.truncate(secret, 0)),
    "reaches the network of this machine": attempt(lambda: reach(socket.AF_INET, ("127.0.0.1", int(port)))),
    "reaches a local socket of this machine": attempt(lambda: reach(socket.AF_UNIX, "\\0" + name)),
    "reaches a socket in the file system": attempt(lambda: reach(socket.AF_UNIX, folder + "/socket")),
    "sees the environment of other processes": attempt(lambda: open(f"/proc/{pid}/environ", "rb").read()),
    "is root": os.getuid() == 0,
    "holds capabilities": int(status["CapEff"], 16) | int(status["CapPrm"], 16) != 0,
    "may gain rights": status["NoNewPrivs"].strip() != "1",
    "runs unfiltered": status["Seccomp"].strip() != "2",
    "can write to the system": attempt(lambda: open("/usr/canary", "w")),
    "can't write to its workspace": not attempt(lambda: open("canary", "w")),
}
if hidden == "hidden":
    faults["sees that a file exists outside"] = os.path.exists(secret)
    faults["sees other processes"] = any(p.isdigit() and int(p) not in (1, os.getpid()) for p in os.listdir("/proc"))
    remarks = {}
else:
    remarks = {"can signal processes of the same user": attempt(lambda: os.kill(int(pid), 0))}
print(json.dumps([[what for what, found in facts.items() if found] for facts in (faults, remarks)]))
"""


def candidates() -> tuple[IsolationTier, ...]:
    """The tiers worth trying, best first."""
    if sys.platform != "linux":
        return ()
    return ("A", "B", "C") if os.geteuid() == 0 else ("B", "C")


async def probe(open_sandbox: Open) -> Capabilities:
    """Try the tiers from the best down; the first in which the canary stays shut in is the machine's.

    Returns:
        the tier and what every better one lacked, and whether its sandboxes can be forked.
    """
    faults = [] if sys.platform == "linux" else [f"{sys.platform} has no namespaces"]
    for tier in candidates():
        found, remarks, fork = await _try(open_sandbox, tier)
        if not found:
            return Capabilities(tier=tier, detail="; ".join([_WORDS[tier], *remarks, *faults]), fork=fork)
        faults.append(f"tier {tier}: {', '.join(found)}")
    return Capabilities(tier="D", detail="; ".join(faults) or "no tier was tried")


async def _try(open_sandbox: Open, tier: IsolationTier) -> tuple[list[str], list[str], ForkKind]:
    """What is wrong with a tier on this machine, what is to be said about it, and how its sandboxes are forked."""
    try:
        async with await open_sandbox(tier, SandboxSpec()) as sandbox:
            faults, remarks = _judge(await _release_canary(sandbox, tier))
            if faults or tier not in ("A", "B"):
                return faults, remarks, "replay"
            obstacle = await _try_fork(sandbox)
            return faults, [*remarks, *obstacle], "replay" if obstacle else "process"
    except SandmleError as error:
        return [str(error)], [], "replay"


async def _try_fork(sandbox: Sandbox) -> list[str]:
    """What keeps the sandbox, in which the canary has left a file, from being forked."""
    try:
        (child,) = await sandbox.fork(1)
        async with child:
            await child.remove("canary")
            await child.write("canary", b"child's")
            await sandbox.read("canary", max_bytes=0)
    except (SandmleError, OSError, ValueError) as error:
        return [f"forks are replays: {error}"]
    return []


async def _release_canary(sandbox: Sandbox, tier: IsolationTier) -> StepResult:
    baits, arguments = await asyncio.to_thread(_lay_baits)
    hidden = "hidden" if tier in ("A", "B") else "shared"
    try:
        return await sandbox.run(_CANARY, timeout=30, args=[hidden, *arguments, str(os.getpid())])
    finally:
        await asyncio.to_thread(baits.close)


def _lay_baits() -> tuple[ExitStack, list[str]]:
    """A file, a TCP server and two local sockets that the canary must not reach, and the arguments that name them."""
    name = secrets.token_hex(8)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        secret = folder / "secret"
        secret.touch()
        secret.chmod(0o666)
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        for address in ("\0" + name, str(folder / "socket")):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            with suppress(OSError):  # a temporary folder so deep that no socket can be made there
                listener.bind(address)
                listener.listen()
        return stack.pop_all(), [str(secret), str(server.getsockname()[1]), str(folder), name]


def _judge(result: StepResult) -> tuple[list[str], list[str]]:
    if result.status != "ok":
        return [f"the canary could not run ({result.status}): {result.output.strip()[-300:]}"], []
    faults, remarks = json.loads(result.output)
    return [f"the canary {fault}" for fault in faults], [f"code {remark}" for remark in remarks]
