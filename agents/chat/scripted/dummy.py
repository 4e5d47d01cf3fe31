"""``scripted:dummy``: the best constant prediction."""

from sandmle.agents.chat.scripted._registry import ScriptedPolicy, register

register(
    ScriptedPolicy(
        "dummy",
        "I predict the best constant, as a reference that any model must beat.",
        ladder=("dummy",),
    )
)
