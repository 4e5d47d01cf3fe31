"""Chat models that send and receive token ids, so that what is trained on is what was really sampled.

    messages ──Renderer──▶ prompt ids ──Engine──▶ sampled ids, log-probs, weight version ──▶ reply text

A chat endpoint renders every earlier turn from its text again, and the ids may differ from those that were sampled.
Here a reply is kept as the ids it was sampled as, and every later prompt repeats these ids; only what the policy did
not write is ever encoded.

Vocabulary:
    renderer    writes messages as token ids in the model's own chat format
    reading     what of a message the renderer shows
    engine      whatever samples from a model: a process elsewhere, or weights in this one
    sample      one reply as ids, with the log-probability of each
"""

from sandmle.agents.chat.tokens._chat import TokenChat
from sandmle.agents.chat.tokens._engine import Engine, Sample, SamplingSettings
from sandmle.agents.chat.tokens._reading import READINGS, Reading
from sandmle.agents.chat.tokens._renderer import ChatMarkup, Renderer, TextCodec

__all__ = [
    "READINGS",
    "ChatMarkup",
    "Engine",
    "Reading",
    "Renderer",
    "Sample",
    "SamplingSettings",
    "TextCodec",
    "TokenChat",
]
