"""``scripted:mix``: short complete scripts of parts drawn at random, good ideas and bad habits alike.

Made for demonstrations that a small policy can learn from and then improve on. It reads of a brief only what is to be
predicted, writes a script and runs it; after a failure it tries another, else it answers. The seed fixes every draw.
"""

from __future__ import annotations

import numpy as np
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from sandmle.agents.chat.scripted._dialects import Move, dialect_of, stopped
from sandmle.agents.chat.scripted._registry import ScriptedPolicy, register
from sandmle.agents.chat.scripted._replies import RepliesChat
from sandmle.agents.chat.scripted.parts import Kind, compose, draw
from sandmle.task import Task

__all__ = ["MixChat", "asked_kind"]

_ASKED: tuple[tuple[str, Kind], ...] = (
    ("holds the probability of", "probability"),
    ("hold one probability per class", "class_probabilities"),
    ("holds one of the labels", "label"),
)
_FAULTY = 0.03
"""Share of replies that are cut off before their end."""


class MixChat(RepliesChat):
    """One episode of the mix.

    Attributes:
        seed: with the number of replies so far it fixes what is drawn.
    """

    seed: int = 0

    @property
    def _llm_type(self) -> str:
        return "sandmle-scripted-mix"

    def _reply(self, messages: list[BaseMessage]) -> str:
        dialect = dialect_of(messages)
        seen = dialect.read(messages)
        if seen.tries and not stopped(seen.observation):
            return dialect.say(Move("done", "It is written."))
        rng = np.random.default_rng([self.seed, seen.tries])
        kind = asked_kind(seen.description)
        recipe, writer = draw(rng, kind)
        thought = f"{recipe.more}, {recipe.model}"
        reply = dialect.say(Move("run", thought, compose(recipe, kind, writer)))
        return reply[: int(len(reply) * rng.random())] if rng.random() < _FAULTY else reply


def asked_kind(brief: str) -> Kind:
    """What a brief says is to be predicted; a number where it says nothing else."""
    return next((kind for words, kind in _ASKED if words in brief), "number")


class _Mix(ScriptedPolicy):
    """The policy whose chat model draws its scripts."""

    def model(self, *, task: Task | None, seed: int) -> BaseChatModel:
        """The chat model of one episode."""
        return MixChat(name=f"scripted:{self.name}", seed=seed)


register(_Mix("mix", "I try what comes to mind.", ladder=()))
