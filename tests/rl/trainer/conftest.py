"""A policy to learn with: a tiny one, always of the same weights."""

from collections.abc import Callable

import pytest


@pytest.fixture(scope="session")
def make_policy() -> Callable:
    """Makes one whose tokens are at least 256: every byte is one."""
    from sandmle.rl.checkpoints import TinyModel, new_policy  # where torch is not installed, nobody asks for a policy
    from sandmle.rl.tokenizers import train_tokenizer

    shape = TinyModel(hidden=32, layers=2, heads=2, kv_heads=1, feed_forward=64, context=128)
    tokenizer = train_tokenizer(["some words to learn from"] * 3, 300)
    return lambda: new_policy(shape, tokenizer, seed=0)
