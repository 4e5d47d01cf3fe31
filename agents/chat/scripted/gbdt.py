"""``scripted:gbdt``: gradient boosted trees."""

from sandmle.agents.chat.scripted._registry import ScriptedPolicy, register

register(
    ScriptedPolicy(
        "gbdt",
        "I fit small gradient boosted trees, regularised for few rows.",
        ladder=("gbdt", "linear", "dummy"),
    )
)
