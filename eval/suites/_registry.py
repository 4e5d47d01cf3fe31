"""Finding a kind of suite by its name."""

from __future__ import annotations

from collections.abc import Callable

from sandmle.errors import BadInput
from sandmle.eval.suites._kind import Preparation, Sources, Suite, SuiteKind
from sandmle.eval.suites.bundled import Bundled
from sandmle.eval.suites.mle_bench import MLE_BENCH_KINDS
from sandmle.eval.suites.mle_dojo import MleDojo
from sandmle.eval.suites.synthetic import Synthetic

__all__ = ["get_kind", "load_suite", "prepare_suite", "suite_kinds"]

_KINDS: dict[str, SuiteKind] = {kind.name: kind for kind in (Synthetic(), Bundled(), *MLE_BENCH_KINDS, MleDojo())}


def suite_kinds() -> tuple[SuiteKind, ...]:
    """All kinds of suites."""
    return tuple(_KINDS.values())


def get_kind(name: str) -> SuiteKind:
    """The kind called ``name``.

    Raises:
        BadInput: there is none; lists those there are.
    """
    if name not in _KINDS:
        raise BadInput(f"unknown suite {name!r}; it is one of {', '.join(map(_spelled, suite_kinds()))}")
    return _KINDS[name]


def load_suite(name: str) -> Suite:
    """Read the tasks of the suite ``KIND`` or ``KIND:PLACE``.

    Raises:
        BadInput: the kind is unknown (lists those there are), or its tasks are missing or broken.
    """
    word, colon, place = name.partition(":")
    kind = get_kind(word)
    if kind.place and not place:
        raise BadInput(f"suite {name!r} names no folder; write {_spelled(kind)}")
    if colon and not kind.place:
        raise BadInput(f"suite {name!r}: write just {kind.name}; its tasks lie in {kind.folder}")
    return Suite(name, kind.load(place))


def prepare_suite(name: str, sources: Sources, on_done: Callable[[Preparation], None]) -> None:
    """Make the tasks of the suite ``name``, see ``SuiteKind.prepare``.

    Raises:
        BadInput: unknown kind, or a source is missing or broken.
    """
    get_kind(name.partition(":")[0]).prepare(sources, on_done)


def _spelled(kind: SuiteKind) -> str:
    return f"{kind.name}:{kind.place}" if kind.place else kind.name
