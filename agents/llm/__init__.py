"""Language models in the roles of the synthesis team.

Vocabulary:
    model      an OpenAI-compatible chat model with its endpoint, sampling, prices and limits
    call       one request and its reply; what is asked, by whom and for which candidate is its ``Sample``
    repair     a further call in the same conversation that says why the reply can't be used
    attempt    a later conversation of a role, after a check found fault with its work
    ledger     one line a paid call; the cache keeps the replies, so no call is paid twice

Nothing that a model writes is believed: replies are parsed strictly, code runs in sandboxes only, and every task passes
the same acceptance test as the procedural team's, and more.
"""

from sandmle.agents.llm._calls import ModelCalls, Spending, metered
from sandmle.agents.llm._settings import PRESETS, ModelSettings, TeamSettings, parse_team
from sandmle.agents.llm._team import make_team

__all__ = [
    "PRESETS",
    "ModelCalls",
    "ModelSettings",
    "Spending",
    "TeamSettings",
    "make_team",
    "metered",
    "parse_team",
]
