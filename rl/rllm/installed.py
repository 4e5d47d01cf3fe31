"""Whether rLLM and what it trains with are installed; told in one line, with what to do, before anything starts."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from sandmle.errors import EnvironmentProblem
from sandmle.rl.rllm.known import pinned_versions

__all__ = ["need_rllm", "need_verl"]

_GATEWAY = ("rllm", "rllm_model_gateway", "omegaconf", "fastapi", "codetiming")
_VERL = ("verl", "ray", "vllm", "hydra", "torch")


def need_rllm() -> None:
    """Refuse to go on without rLLM.

    Raises:
        EnvironmentProblem: it, or a part that it needs, is missing.
    """
    _need(_GATEWAY, "rLLM")


def need_verl() -> None:
    """Refuse to go on without rLLM, or what its trainer on verl needs.

    Raises:
        EnvironmentProblem: something is missing.
    """
    _need((*_GATEWAY, *_VERL), "rLLM's trainer on verl")


def _commit() -> str:
    return pinned_versions()["commit"][:8]


def _need(modules: Sequence[str], what: str) -> None:
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise EnvironmentProblem(
            f"{what} needs {', '.join(missing)}, which {'is' if len(missing) == 1 else 'are'} not installed:"
            f" `pip install --group rllm` in a checkout takes rLLM from git, at {_commit()}; see docs/rllm.md"
        )
