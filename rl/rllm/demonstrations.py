"""Demonstrations as verl's SFT trainer reads them: Parquet with a column ``messages``.

``sandmle export episodes --format sft`` writes JSON lines; those are turned into such a file before the stage starts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sandmle.errors import BadInput
from sandmle.rl._parquet import load_pyarrow

__all__ = ["LINES", "as_parquet", "is_parquet"]

LINES = "conversations.jsonl"


def is_parquet(path: Path) -> bool:
    """Whether the trainer can read ``path`` as it is."""
    return path.suffix == ".parquet"


def as_parquet(source: Path, target: Path) -> Path:
    """A file that the trainer reads: ``source`` itself, or ``target``, which is then written.

    Args:
        source: a Parquet file, JSON lines, or the folder that the export wrote.
        target: replaced if it is there.

    Raises:
        BadInput: ``source`` is missing, broken, or leaves replies out, which that trainer can't.
        EnvironmentProblem: pyarrow is missing.
    """
    lines = source / LINES if source.is_dir() else source
    if not lines.is_file():
        raise BadInput(f"{lines}: no such file; `sandmle export episodes RUN OUT --format sft` writes demonstrations")
    if is_parquet(lines):
        return lines
    pa, pq = load_pyarrow()
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    rows = [{"messages": messages} for messages in _conversations(lines)]
    target.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema([("messages", pa.list_(message))])), target)
    return target


def _conversations(lines: Path) -> Iterator[list[dict[str, Any]]]:
    with lines.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                messages, all_learnt = _conversation(line)
            except (ValueError, KeyError, TypeError) as error:
                raise BadInput(f"{lines}, line {number}: no conversation ({type(error).__name__}: {error})") from error
            if not all_learnt:
                raise BadInput(
                    f"{lines}, line {number}: a reply is left out of the loss, and verl's SFT trainer learns from all;"
                    " export without --mask-failed"
                )
            yield messages


def _conversation(line: bytes) -> tuple[list[dict[str, Any]], bool]:
    """Messages, and whether each reply among them is learnt from."""
    row = json.loads(line)
    messages = [{"role": each["role"], "content": each["content"]} for each in row["messages"]]
    loss = row.get("loss", [1] * len(messages))
    if len(loss) != len(messages):
        raise ValueError(f"loss has {len(loss)} entries for {len(messages)} messages")
    return messages, all(learnt for each, learnt in zip(messages, loss, strict=True) if each["role"] == "assistant")
