"""The canary: a constant last column of every ``answers.csv`` that we write.

A model that was trained on hidden labels can reproduce it, and an episode that contains one is flagged. Graders select
columns by name, and exports drop it.
"""

from __future__ import annotations

import hashlib

__all__ = ["CANARY_COLUMN", "canary"]

CANARY_COLUMN = "canary"


def canary(task_id: str) -> str:
    """The canary of a task: ``sandmle-canary-`` and 16 hex digits derived from its id."""
    return f"sandmle-canary-{hashlib.sha256(task_id.encode()).hexdigest()[:16]}"
