"""``scripted:linear``: a regularised linear model."""

from sandmle.agents.chat.scripted._registry import ScriptedPolicy, register

register(
    ScriptedPolicy(
        "linear",
        "I fit a linear model: impute, encode, scale, and choose the regularisation by cross-validation.",
        ladder=("linear", "dummy"),
    )
)
