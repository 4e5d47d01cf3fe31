"""``sandmle serve``: let scaffolds use a model, and ``sandmle eval --serve``, which starts it for one evaluation."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from sandmle.errors import BadInput

if TYPE_CHECKING:
    from sandmle.rl.serving import VllmSettings

__all__ = ["SERVE_CONTEXT", "serve_command", "while_served"]

SERVE_CONTEXT: dict[str, Any] = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Flags that the command does not know go to vLLM."""

_GO_ON = "; every finished episode is kept, and the same command goes on from there"

_SETTLED = ("--engine", "--name", "--host", "--port", "--model", "--served-model-name")

_T = TypeVar("_T")


def serve_command(
    context: typer.Context,
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="A policy's folder, such as DIR/policy of a training; with vLLM also a hub's name."
        ),
    ],
    engine: Annotated[str, typer.Option("--engine", help="embedded (extra train), or vllm (extra vllm).")] = "embedded",
    name: Annotated[str, typer.Option("--name", help="What requests call the model.")] = "policy",
    host: Annotated[str, typer.Option("--host", help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65_535, help="Port to listen at.")] = 8000,
    device: Annotated[
        str | None, typer.Option("--device", help="embedded: cpu, or such as cuda.", show_default="cpu")
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            "--dtype", help="Of the weights: float32, bfloat16.", show_default="float32; with vLLM the model's"
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Root of every random draw.")] = 0,
    max_tokens: Annotated[
        int | None,
        typer.Option("--context", metavar="N", help="vllm: most tokens of a prompt and its reply."),
    ] = None,
    chat_template: Annotated[
        Path | None, typer.Option("--chat-template", metavar="FILE", help="vllm: in place of the model's own.")
    ] = None,
    reasoning_parser: Annotated[
        str | None,
        typer.Option("--reasoning-parser", metavar="NAME", help="vllm: parts reasoning from replies, such as qwen3."),
    ] = None,
    prefix_cache: Annotated[
        bool, typer.Option("--prefix-cache/--no-prefix-cache", help="vllm: keep what earlier prompts began with.")
    ] = True,
) -> None:
    """Serve a model as an OpenAI-compatible endpoint with token ids and log-probabilities, until Ctrl-C.

    With --engine vllm, every further flag goes to vLLM, such as --tensor-parallel-size 8.
    """
    from sandmle.rl.serving import VllmSettings

    url = f"http://{host}:{port}/v1"
    hint = f"{url}: try `sandmle eval --suite synthetic:DIR --model openai:{name} --base-url {url} --out RUN`"
    if _is_vllm(engine):
        if device is not None:
            raise BadInput("--device: vLLM takes the devices that it finds")
        settings = VllmSettings(
            dtype or "auto", seed, max_tokens, chat_template, reasoning_parser, prefix_cache, context.args
        )
        _serve_vllm(model, settings, name, host, port, hint)
        return
    of_vllm = {"--context": max_tokens, "--chat-template": chat_template, "--reasoning-parser": reasoning_parser}
    unknown = [*context.args, *(flag for flag, value in of_vllm.items() if value is not None)]
    if unknown:
        raise BadInput(f"{unknown[0]}: the embedded engine has no such option; see --engine")
    from sandmle.rl.checkpoints import load_policy
    from sandmle.rl.serve import serve

    loaded = load_policy(Path(model), device=device or "cpu", dtype=dtype or "float32")
    serve(loaded, name, host=host, port=port, seed=seed, on_bound=lambda: typer.echo(hint))


def _is_vllm(engine: str) -> bool:
    if engine not in ("embedded", "vllm"):
        raise BadInput(f"--engine {engine}: it is embedded or vllm")
    return engine == "vllm"


def _serve_vllm(model: str, settings: VllmSettings, name: str, host: str, port: int, hint: str) -> None:
    """Serve until Ctrl-C, or until vLLM ends, which is an error."""
    from sandmle.rl.serving import bound, require_vllm, serving, vllm_command

    require_vllm()
    command = vllm_command(model, settings, name=name, host=host, port=port)
    bound(host, port).close()

    async def serve() -> None:
        local = "127.0.0.1" if host == "0.0.0.0" else host
        async with serving(command, f"http://{local}:{port}", model, show=True) as server:
            typer.echo(hint)
            await server.during(asyncio.Event().wait())

    asyncio.run(serve())


async def while_served(
    model: str,
    engine: str,
    options: str,
    work: Callable[[str, str], Coroutine[Any, Any, _T]],
) -> _T:
    """What ``work`` gives for the address and the name of ``model``, which is served meanwhile.

    Args:
        model: a policy's folder, or with vLLM a hub's name.
        engine: embedded or vllm.
        options: further ones of ``sandmle serve``, as a shell would read them.
        work: cancelled if the server dies.

    Raises:
        BadInput: an unknown engine, no such policy, or options that can't be read or that are settled here.
        EnvironmentProblem: the server did not get ready, or died.
    """
    from sandmle.rl.serving import free_port, require_vllm, served_name, serving

    more = _further(options)
    if _is_vllm(engine):
        require_vllm()
    elif not Path(model).exists():
        raise BadInput(f"{model}: no policy there")
    port, name = free_port(), served_name(model)
    asked = ["--engine", engine, "--name", name, "--port", str(port), *more]
    command = [sys.executable, "-c", "from sandmle.cli import run; run()", "serve", model, *asked]
    typer.echo(f"starting a server of {model} ({engine})", err=True)
    async with serving(command, f"http://127.0.0.1:{port}", model, advice=_GO_ON) as server:
        return await server.during(work(f"{server.url}/v1", name))


def _further(options: str) -> list[str]:
    """The words of ``--serve-options``."""
    from sandmle.rl.serving import named

    try:
        words = shlex.split(options)
    except ValueError as error:
        raise BadInput(f"--serve-options {options}: {error}") from error
    for word, flag in named(words, _SETTLED):
        more = "; give it to `sandmle eval` itself" if flag == "--engine" else ", since the evaluation settles it"
        raise BadInput(f"--serve-options: leave out {word}{more}")
    return words
