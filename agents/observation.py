"""From what a step printed to what the agent is told: bounded, plain, repeatable, and unable to forge the conversation.

The output of a step is written by code that an agent (or a data set) controls. Before it reaches the conversation:

1. terminal codes and control characters go,
2. it is cut to ``OBSERVATION_CHARS`` with head and tail kept,
3. one constant line says how the step ended, in terms of its limits, never of a clock, a pid or a host path,
4. control tags of the turn format and tokens of chat templates are escaped, last of all, so that nothing before can
   put one together.
"""

from __future__ import annotations

import re

from sandmle.trajectory import StepResult

__all__ = ["CONTROL_TAGS", "OBSERVATION_CHARS", "escape_control", "observe_step", "plain_text"]

CONTROL_TAGS = ("tool_response", "tool_call", "answer", "think", "code")
"""The tags of the turn format."""

OBSERVATION_CHARS = 6_000
"""Characters of a step's output that reach the conversation: half from its start, half from its end."""

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_TAG = re.compile(
    rf"<(?=\s*/?\s*(?:{'|'.join(CONTROL_TAGS)})\b"  # the turn format
    r"|\||｜"  # <|im_start|>, <|endoftext|>, DeepSeek's full-width form
    r"|/?s>|<\s*/?SYS|/?\s*(?:start_of_turn|end_of_turn|bos|eos|pad|unk)\s*>"  # Llama 2, Gemma
    r")|\[(?=\s*/?\s*(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|SYSTEM_PROMPT)\s*\])",  # Mistral
    re.IGNORECASE,
)
_ENTITY = {"<": "&lt;", "[": "&#91;"}


def plain_text(text: str) -> str:
    r"""``text`` without terminal codes, invisible and control characters; line ends become ``\\n``."""
    text = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _CONTROL.sub("", text)


def escape_control(text: str) -> str:
    """``text`` with the first character of every control tag and chat template token turned into an entity.

    Idempotent; text without such tags is unchanged.
    """
    return _TAG.sub(lambda match: _ENTITY[match.group()], text)


def observe_step(step: StepResult, *, step_seconds: float, memory_mib: int) -> str:
    """What the agent is told about a step.

    Args:
        step: what the sandbox measured.
        step_seconds: the limit that was in force; named instead of the time really taken.
        memory_mib: the memory limit that was in force.
    """
    output = _bounded(plain_text(step.output).strip("\n"))
    ending = _ending(step, step_seconds, memory_mib)
    if not output and not ending:
        return "[the step printed nothing]"
    return escape_control("\n".join(part for part in (output, ending) if part))


def _bounded(text: str) -> str:
    if len(text) <= OBSERVATION_CHARS:
        return text
    half = OBSERVATION_CHARS // 2
    return f"{text[:half]}\n... [{len(text) - 2 * half} characters left out] ...\n{text[-half:]}"


def _ending(step: StepResult, step_seconds: float, memory_mib: int) -> str:
    match step.status:
        case "ok":
            return ""
        case "timeout":
            return f"[the step hit its limit of {step_seconds:g} s and was stopped]"
        case "oom":
            return f"[the step hit its limit of {memory_mib} MiB of memory and was stopped]"
        case "output_limit":
            return "[the step printed too much and was stopped]"
        case "killed":
            return "[the step was stopped]"
        case "error" if step.signal is not None:
            return f"[the step failed: signal {step.signal}]"
        case "error":
            return f"[the step failed: exit code {step.exit_code}]"
