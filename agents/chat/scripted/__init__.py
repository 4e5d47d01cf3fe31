"""Scripted policies: real baselines that are chat models and need no endpoint.

Each speaks the protocol of every scaffold (``_dialects``) and knows only the conversation: it looks at the public
folder, writes a complete script for what it saw, asks for the score, falls back to a simpler script after an error,
and answers. Deterministic.

    dummy       the best constant: commonest class, class shares, mean or median
    linear      ridge or logistic regression, regularisation by cross-validation
    gbdt        histogram gradient boosting with settings for a few hundred rows
    best        linear, gbdt, a random forest or their mean, chosen by its own cross-validation with the task's metric
    search      cross-validates 64 ideas of a library fixed beforehand; search-1, search-4 and search-16 as many
    mix         short scripts of parts drawn at random, good ideas and bad habits, for demonstrations
    informed    is handed the hidden rule's pipeline; it exists for calibration and is *privileged*

Where there is more than a table, or more to predict than a label, a probability or a number, all of them run the
search's script, which reads every modality, the simple ones without its ideas.

Adding one is adding a file that calls ``register`` (and its name to ``_NAMES``).
"""

from sandmle.agents.chat.scripted._model import ScriptedChat
from sandmle.agents.chat.scripted._plan import profile_script
from sandmle.agents.chat.scripted._registry import ScriptedPolicy, get_scripted, register, scripted_names

__all__ = ["ScriptedChat", "ScriptedPolicy", "get_scripted", "profile_script", "register", "scripted_names"]
