"""What the attacks share. Each file attacks one target; each test is one attack, and is named by it.

The attacks run where the machine offers namespaces; ``test_tier_b.py`` runs them again as an unprivileged user. After
every attack the sandbox that was attacked must do its next step as if nothing had been, with no process left over.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from sandmle.sandboxes import Sandbox

PRELUDE = """
import ctypes, errno, fcntl, os, resource, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
COLUMN = {"x86_64": 0, "aarch64": 1}[os.uname().machine]
NUMBERS = {
    "acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280), "clone": (56, 220), "clone3": (435, 435),
    "fanotify_init": (300, 262), "finit_module": (313, 273), "fsopen": (430, 430), "get_robust_list": (274, 100),
    "init_module": (175, 105), "inotify_add_watch": (254, 27), "inotify_init1": (294, 26), "ioperm": (173, 1000),
    "io_uring_setup": (425, 425), "kcmp": (312, 272), "kexec_load": (246, 104), "keyctl": (250, 219),
    "migrate_pages": (256, 238), "mount": (165, 40), "mount_setattr": (442, 442), "move_mount": (429, 429),
    "move_pages": (279, 239), "msgget": (68, 186), "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "open_tree": (428, 428), "perf_event_open": (298, 241), "pidfd_getfd": (438, 438), "pidfd_open": (434, 434),
    "pivot_root": (155, 41), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "ptrace": (101, 117),
    "quotactl": (179, 60), "reboot": (169, 142), "request_key": (249, 218), "semget": (64, 190), "setns": (308, 268),
    "setrlimit": (160, 164), "shmget": (29, 194), "swapon": (167, 224), "syslog": (103, 116), "umount2": (166, 39),
    "unshare": (272, 97), "userfaultfd": (323, 282), "vhangup": (153, 58),
}

def call(name, *arguments):
    result = libc.syscall(NUMBERS[name][COLUMN], *arguments)
    if result == 0 and name.startswith("clone"):
        os._exit(0)  # the child
    return "SUCCEEDED" if result >= 0 else errno.errorcode[ctypes.get_errno()]

def attempt(attack):
    try:
        outcome = attack()
    except OSError as error:
        return errno.errorcode.get(error.errno, type(error).__name__)
    except BaseException as error:
        return type(error).__name__
    return outcome if outcome in errno.errorcode.values() else "SUCCEEDED"
"""
"""What an attack's expression can use; ``attempt`` gives the name of its error, or SUCCEEDED."""

Outcomes = Callable[..., Awaitable[list[str]]]


@pytest.fixture(autouse=True)
def needs_namespaces(isolated: str) -> str:
    return isolated


@pytest.fixture
async def sandbox(sandbox: Sandbox, children, init_of) -> AsyncIterator[Sandbox]:
    yield sandbox
    result = await sandbox.run("print('as if nothing had been')", timeout=30)
    assert (result.status, result.output) == ("ok", "as if nothing had been\n")
    assert children(init_of(sandbox)) == []


@pytest.fixture
def outcomes(sandbox: Sandbox) -> Outcomes:
    """Runs expressions inside, in one step; an error's name or SUCCEEDED for each."""

    async def run(*attacks: str) -> list[str]:
        lines = "".join(f"print(attempt(lambda: {attack}))\n" for attack in attacks)
        result = await sandbox.run(PRELUDE + lines, timeout=60)
        assert result.status == "ok", result.output
        return result.output.split()

    return run


@pytest.fixture(scope="session")
def prelude() -> str:
    return PRELUDE


@pytest.fixture(scope="session")
def children() -> Callable[[int], list[int]]:
    def find(pid: int) -> list[int]:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]

    return find


@pytest.fixture(scope="session")
def init_of() -> Callable[[Sandbox], int]:
    return lambda sandbox: sandbox._body.channel.pid
