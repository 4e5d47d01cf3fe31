"""``scripted:best``: whichever generic model its own cross-validation prefers."""

from sandmle.agents.chat.scripted._registry import ScriptedPolicy, register

register(
    ScriptedPolicy(
        "best",
        "I compare a linear model, boosted trees, a forest and their mean by cross-validation with the task's metric.",
        ladder=("best", "gbdt", "linear", "dummy"),
    )
)
