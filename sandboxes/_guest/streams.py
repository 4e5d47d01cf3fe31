"""Where the random numbers of steps come from: chance, a seed, or, in forks, the parent's state.

``os.urandom`` and what draws from it alone (``secrets``, ``uuid``) stay chance. So does ``random`` in a process that
code starts itself, which Python seeds anew at every fork.
"""

from __future__ import annotations

import contextlib
import random
import sys

__all__ = ["begin", "begin_anew", "diverge"]

_draws = random.Random()
"""In seeded steps, what numpy takes for chance where code makes a generator without a seed."""


def begin(seed: str) -> None:
    """Start the global generators of ``random``, numpy and torch from ``seed``, and those that numpy makes unseeded."""
    _draws.seed(seed)
    random.seed(_draws.getrandbits(256))
    with contextlib.suppress(BaseException):  # a file of the workspace may stand in its place
        from numpy.random import bit_generator
        from numpy.random import seed as start

        start([_draws.getrandbits(32) for _ in range(8)])
        vars(bit_generator)["randbits"] = _draws.getrandbits
    if "torch" in sys.modules:  # one that is imported later starts from a constant
        sys.modules["torch"].default_generator.manual_seed(_draws.getrandbits(63))


def begin_anew() -> None:
    """Leave the global generators of numpy and torch to chance; the module ``random`` does so itself at every fork."""
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()


def diverge(index: int) -> None:
    """Give the generators of fork number ``index`` streams of their own, which depend on their state alone."""
    for each in (random, _draws):
        each.seed(f"{each.getrandbits(64)}-{index}")
    if "numpy" in sys.modules:
        generator = sys.modules["numpy"].random
        generator.seed([*generator.randint(0, 1 << 31, size=4).tolist(), index])
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        torch.manual_seed(int(torch.randint(1 << 62, ())) ^ index)
