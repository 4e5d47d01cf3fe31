"""Sandboxes that run untrusted code behind one protocol."""

from sandmle.sandboxes._local import LocalBackend
from sandmle.sandboxes._named import SandboxName, open_backend
from sandmle.sandboxes._protocol import (
    WORKSPACE,
    Capabilities,
    Sandbox,
    SandboxBackend,
    SandboxLimits,
    SandboxSpec,
    Snapshot,
)

__all__ = [
    "WORKSPACE",
    "Capabilities",
    "LocalBackend",
    "Sandbox",
    "SandboxBackend",
    "SandboxLimits",
    "SandboxName",
    "SandboxSpec",
    "Snapshot",
    "open_backend",
]
