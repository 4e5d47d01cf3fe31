"""``scripted:search`` and its smaller versions: the frozen search of the acceptance test, as a policy.

It sees public files and the brief only, and cross-validates 64 (or 1, 4, 16) ideas of a library that was fixed before
the hidden rules it is tested on.
"""

from sandmle.agents.chat.scripted._registry import ScriptedPolicy, register

_THOUGHT = "I turn the items into features and cross-validate {ideas} from a fixed library, keeping those that help."

for _name, _count in (("search", 64), ("search-1", 1), ("search-4", 4), ("search-16", 16)):
    register(
        ScriptedPolicy(
            _name,
            _THOUGHT.format(ideas=f"{_count} ideas" if _count > 1 else "one idea"),
            ladder=(f"search-{_count}", "gbdt", "linear", "dummy"),
        )
    )
