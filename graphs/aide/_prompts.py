"""What the model is asked: for a solution, and for a review."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from sandmle.agents.context import estimate_tokens
from sandmle.agents.observation import escape_control
from sandmle.eval.metrics import metric_title
from sandmle.graphs.aide._journal import Node
from sandmle.graphs.aide._state import AideState, journal_of
from sandmle.graphs.episode import Live
from sandmle.prompts import load_prompt
from sandmle.trajectory import Message

__all__ = ["fits", "review_prompt", "write_prompt"]

MAX_OUTPUT = 5_000
"""Characters of an output that a prompt shows: half from its start, half from its end."""


async def write_prompt(state: AideState, bound: Live) -> tuple[Message, int]:
    """What asks for a solution, and how many of the oldest solutions it leaves out to fit the context."""
    manifest, nodes = bound.session.task.manifest, state.nodes
    parent = nodes[state.parent] if state.parent is not None else None
    stage = "draft" if parent is None else "debug" if parent.is_buggy else "improve"
    memory = [] if stage == "debug" else journal_of(state, bound).memory()
    inputs = {
        **_told(bound),
        "stage": stage,
        "attempt": len(nodes) + 1,
        "turns_left": bound.budget.turns - len(state.turns),
        "step_seconds": f"{bound.session.step_seconds:g}",
        "memory_mib": manifest.limits.memory_mib,
        "description": await _description(bound),
        "preview": state.preview,
        **_shown(parent),
        "analysis": parent.analysis if parent else "",
    }
    for left_out in range(len(memory) + 1):
        prompt = await _prompt("aide_write", {**inputs, "memory": "\n\n".join(memory[left_out:])})
        if fits(prompt, state, bound):
            break
    return prompt, left_out


async def review_prompt(node: Node, state: AideState, bound: Live) -> Message:
    """What asks for a review; a script that is too long is shown with its middle left out."""
    inputs = _told(bound) | _shown(node) | {"description": await _description(bound)}
    prompt = await _prompt("aide_review", inputs)
    if fits(prompt, state, bound):
        return prompt
    return await _prompt("aide_review", inputs | {"code": _trimmed(inputs["code"])})


def fits(prompt: Message, state: AideState, bound: Live) -> bool:
    """Whether a prompt is within the budget, and within what the endpoint takes as far as that is known."""
    return estimate_tokens([prompt]) <= (state.room or bound.budget.prompt_tokens)


def _shown(node: Node | None) -> dict[str, str]:
    """A solution as a prompt shows it, in fences that nothing in it can close."""
    code, output = (escape_control(node.code.strip()), _trimmed(node.output)) if node else ("", "")
    longest = max(map(len, re.findall("`+", f"{code}\n{output}")), default=0)
    return {"code": code, "output": output, "fence": "`" * max(3, longest + 1)}


def _told(bound: Live) -> dict[str, str]:
    manifest = bound.session.task.manifest
    return {
        "metric": metric_title(manifest.metric),
        "direction": "lower" if manifest.lower_is_better else "higher",
    }


async def _description(bound: Live) -> str:
    return await asyncio.to_thread(lambda: bound.session.description)


async def _prompt(name: str, inputs: dict[str, Any]) -> Message:
    prompt = await asyncio.to_thread(load_prompt, name)
    return Message(role="user", content=prompt.render(**inputs))


def _trimmed(output: str) -> str:
    if len(output) <= MAX_OUTPUT:
        return output
    half = MAX_OUTPUT // 2
    return f"{output[:half]}\n... [{len(output) - 2 * half} characters left out] ...\n{output[-half:]}"
