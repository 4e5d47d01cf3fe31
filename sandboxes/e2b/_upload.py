"""What a new machine is given beside its inputs: our program and its configuration."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

from sandmle.sandboxes._configuration import checked_inputs, checked_variables
from sandmle.sandboxes._inputs import owned_by_root
from sandmle.sandboxes._protocol import WORKSPACE, SandboxSpec

__all__ = ["configuration", "packed_program"]

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
        for name in ("_guest", "e2b/_guest", "e2b/_guest/seeding"):
            for module in sorted((_HERE.parent / name).glob("*.py")):
                tar.add(module, f"sandboxes/{name}/{module.name}", filter=owned_by_root)
    return buffer.getvalue()
