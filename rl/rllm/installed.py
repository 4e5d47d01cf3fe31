"""Whether rLLM and what it trains with are installed; told in one line, with what to do, before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec

from sandmle.errors import EnvironmentProblem
from sandmle.rl.rllm.known import pinned_versions

__all__ = ["need_rllm", "need_verl"]

_GATEWAY = ("rllm", "rllm_model_gateway", "omegaconf", "fastapi", "codetiming")
_VERL = ("verl", "ray", "vllm", "hydra", "torch")
_CALLED = (
    ("GatewayClient", "set_weight_version"),
    ("AsyncGatewayClient", "set_weight_version"),
    ("AsyncGatewayClient", "delete_sessions"),
)
"""What rLLM calls of its gateway; the one on PyPI has the same version and lacks it."""


def need_rllm() -> None:
    """Refuse to go on without rLLM.

    Raises:
        EnvironmentProblem: it, or a part that it needs, is missing, or the part is of another commit.
    """
    _need(_GATEWAY, "rLLM")
    _need_its_gateway()


def need_verl() -> None:
    """Refuse to go on without rLLM, or what its trainer on verl needs.

    Raises:
        EnvironmentProblem: something is missing.
    """
    _need((*_GATEWAY, *_VERL), "rLLM's trainer on verl")
    _need_its_gateway()


def _commit() -> str:
    return pinned_versions()["commit"][:8]


def _need(modules: Sequence[str], what: str) -> None:
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise EnvironmentProblem(
            f"{what} needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed:"
            f" `pip install --group rllm` in a checkout takes rLLM from git, at {_commit()}; see docs/rllm.md"
        )


def _need_its_gateway() -> None:
    gateway = import_module("rllm_model_gateway")
    lacking = [f"{name}.{call}" for name, call in _CALLED if not hasattr(getattr(gateway, name, None), call)]
    if lacking:
        raise EnvironmentProblem(
            f"rllm-model-gateway is not rLLM's own: it lacks {', '.join(lacking)}; the one on PyPI does: `pip install"
            f" --force-reinstall --no-deps 'rllm-model-gateway @ git+https://github.com/rllm-org/rllm@{_commit()}"
            "#subdirectory=rllm-model-gateway'`"
        )
