"""Where the random numbers of steps come from: chance, a seed, or, in forks, the parent's state.

``os.urandom`` and what draws from it alone (``secrets``, ``uuid``) stay chance. So do ``random`` and generators without
a seed in a process that code starts itself: workers of a pool draw each their own numbers.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["begin", "begin_anew", "diverge", "fork"]

_draws = random.Random()
"""In seeded steps, what numpy takes for chance where code makes a generator without a seed."""
_chance: list[Any] = []
"""What numpy itself takes for it, as soon as that is not what it is given."""


def begin(seed: str) -> None:
    """Start the global generators of ``random``, numpy and torch from ``seed``, and those that numpy makes unseeded."""
    _draws.seed(seed)
    random.seed(_draws.getrandbits(256))
    with contextlib.suppress(BaseException):  # a file of the workspace may stand in its place
        from numpy.random import bit_generator
        from numpy.random import seed as start

        start([_draws.getrandbits(32) for _ in range(8)])
        if not _chance:
            _chance.append(vars(bit_generator)["randbits"])
            os.register_at_fork(after_in_child=lambda: _offer(_chance[0]))
        _offer(_draws.getrandbits)
    if "torch" in sys.modules:  # one that is imported later starts from a constant
        with contextlib.suppress(Exception):
            sys.modules["torch"].default_generator.manual_seed(_draws.getrandbits(63))


def begin_anew() -> None:
    """Leave the global generators of numpy and torch to chance; the module ``random`` does so itself at every fork."""
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "torch" in sys.modules:
        sys.modules["torch"].default_generator.seed()


def fork() -> int:
    """Fork a process that goes on with the streams of this one, unlike those that code forks."""
    state = random.getstate()
    pid = os.fork()
    if pid == 0:
        random.setstate(state)
        if _chance:
            _offer(_draws.getrandbits)
    return pid


def _offer(draw: Any) -> None:  # noqa: ANN401 - a function of numpy's or of ours
    """Have numpy take ``draw`` for chance."""
    with contextlib.suppress(Exception):
        vars(sys.modules["numpy.random.bit_generator"])["randbits"] = draw


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
