"""The models inside the scaffolds: OpenAI-compatible endpoints, and scripted policies that need none.

A policy is named ``kind:name``: ``openai:NAME`` (any endpoint that speaks OpenAI's chat API) or ``scripted:NAME``. All
are LangChain chat models, so a scaffold does not know which one it drives.
"""

from sandmle.agents.chat._errors import ContextOverflow, ModelTimeout, RateLimited
from sandmle.agents.chat._pace import Pace, while_waiting
from sandmle.agents.chat._policy import Policy, make_policy, policy_names

__all__ = [
    "ContextOverflow",
    "ModelTimeout",
    "Pace",
    "Policy",
    "RateLimited",
    "make_policy",
    "policy_names",
    "while_waiting",
]
