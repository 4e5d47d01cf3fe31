"""What a new machine is given: our program, the inputs, and its configuration."""

from __future__ import annotations

import io
import tarfile
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from sandmle.sandboxes._configuration import checked_inputs, checked_variables
from sandmle.sandboxes._protocol import WORKSPACE, SandboxSpec

__all__ = ["configuration", "packed_inputs", "packed_program"]

_HERE = Path(__file__).resolve().parent
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


def configuration(spec: SandboxSpec) -> dict[str, Any]:
    """What the machine must know of the spec.

    Raises:
        BadInput: an input or a variable can't be used.
    """
    environment = {
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": WORKSPACE,
        "PYTHONUNBUFFERED": "1",
        **dict.fromkeys(_THREADS, str(spec.limits.cpus)),
    }
    return {
        "workspace": WORKSPACE,
        "env": {**environment, **checked_variables(spec)},
        "limits": spec.limits.model_dump(),
        "stateful": spec.stateful,
        "inputs": [target for _, target in checked_inputs(spec)],
    }


def packed_program() -> bytes:
    """The modules of ``_guest``, ours and the local sandboxes', as a compressed tar."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for folder, name in ((_HERE.parent / "_guest", "sandboxes/_guest"), (_HERE / "_guest", "sandboxes/e2b/_guest")):
            for module in sorted(folder.glob("*.py")):
                tar.add(module, f"{name}/{module.name}", filter=_of_root)
    return buffer.getvalue()


def packed_inputs(spec: SandboxSpec) -> IO[bytes]:
    """The inputs as a tar in a temporary file, which is gone when closed; its ``name`` is its path.

    Links are packed as links, so that nothing outside an input goes with it; what is neither file, folder nor link is
    left out.

    Raises:
        BadInput: an input can't be used.
    """
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.NamedTemporaryFile(prefix="sandmle-inputs-"))
        with tarfile.open(fileobj=file, mode="w") as tar:
            for host, target in checked_inputs(spec):
                tar.add(host, target, filter=_of_root)
        file.flush()
        stack.pop_all()
        return file


def _of_root(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """The member as a thing of root's that all may read and nobody else may change."""
    if not (member.isfile() or member.isdir() or member.issym() or member.islnk()):
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    member.mode = 0o755 if member.isdir() or member.mode & 0o111 else 0o644
    return member
