"""Servers of models: vLLM, or our own engine (``sandmle.rl.serve``), each in a process that never outlives its use.

    async with serving(command, url, what) as server:        # started, and healthy
        report = await server.during(evaluation)             # ends with one clear error if the server dies

Ctrl-C, an error, or a SIGKILL of our own process end the server's whole tree of processes: see ``_keeper``.
"""

from typing import Literal

from sandmle.rl.serving._address import bound, free_port
from sandmle.rl.serving._identity import served_name
from sandmle.rl.serving._process import Server, serving
from sandmle.rl.serving._vllm import DEVELOPER_MODE, VllmSettings, named, reload_weights, require_vllm, vllm_command

__all__ = [
    "DEVELOPER_MODE",
    "Engine",
    "Server",
    "VllmSettings",
    "bound",
    "free_port",
    "named",
    "reload_weights",
    "require_vllm",
    "served_name",
    "serving",
    "vllm_command",
]

Engine = Literal["embedded", "vllm"]
"""What computes replies: our own engine (extra ``train``) or vLLM (extra ``vllm``)."""
