"""What a config of the embedded trainer asks for that rLLM's loop can't do; told, not left out in silence."""

from __future__ import annotations

import json

from sandmle.errors import BadInput
from sandmle.rl.trainer import GrpoSettings

__all__ = ["refuse_unheeded"]


def refuse_unheeded(grpo: GrpoSettings) -> None:
    """Refuse settings that would say nothing in rLLM's loop.

    Raises:
        BadInput: there are such; names them all in one line.
    """
    asked = {
        "grpo.batching": grpo.batching if grpo.batching != "continuous" else None,
        "grpo.rollouts.permute_rewards": grpo.rollouts.permute_rewards or None,
    }
    named = [f"{key} = {json.dumps(value)}" for key, value in asked.items() if value is not None]
    if named:
        raise BadInput(f"{', '.join(named)}: rLLM's loop can't do that; leave it out, or take --trainer sandmle")
