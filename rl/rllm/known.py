"""The keys that the pinned rLLM and verl know, and the configuration that overrides of them amount to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, Literal

__all__ = ["KnownKey", "KnownKeys", "Stage", "known_keys", "pinned_versions"]

Stage = Literal["sft", "grpo"]

_OPEN = ("ray_init", "rllm.rollout.train", "rllm.rollout.val", "rllm.workflow.workflow_args")
"""Mappings that rLLM's code hands on whole, so that any key is good beneath them."""

_PYTHON: Mapping[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "list": (list, tuple),
    "dict": (dict,),
}
_INTERPOLATION = re.compile(r"\$\{(?:oc\.select:)?([\w.]+)(?:, *([^${}]*))?\}")


@dataclass(frozen=True)
class KnownKey:
    """What a key takes.

    Attributes:
        type: ``bool``, ``int``, ``float``, ``str``, ``list``, ``dict``, or ``any``.
        added: no YAML file names it, only a dataclass; Hydra wants a ``+`` before it.
    """

    type: str
    default: Any
    added: bool = False

    def takes(self, value: object) -> bool:
        """Whether a value has the type; null is always taken, a whole number is a float, and a bool no number."""
        if value is None or self.type == "any" or (isinstance(value, str) and "${" in value):
            return True
        if isinstance(value, bool):
            return self.type == "bool"
        return isinstance(value, _PYTHON[self.type])


@dataclass(frozen=True)
class KnownKeys:
    """All keys of one stage.

    Attributes:
        keys: by their path.
        shared: verl's key to the key of rLLM that overwrites it.
    """

    keys: Mapping[str, KnownKey]
    shared: Mapping[str, str]

    def has(self, path: str) -> bool:
        """Whether somebody reads the key: it is known, or lies beneath a mapping that is handed on whole."""
        return path in self.keys or self._open(path)

    def is_added(self, path: str) -> bool:
        """Whether Hydra wants a ``+`` before the key, because no YAML file declares it."""
        return self.keys[path].added if path in self.keys else True

    def nearest(self, path: str) -> str | None:
        """The known key that is most like an unknown one: the same last names elsewhere, or nearly the same letters."""
        last = path.rsplit(".", 1)[-1]
        same = [key for key in self.keys if key.rsplit(".", 1)[-1] == last]
        return next(iter(get_close_matches(path, same or self.keys, n=1, cutoff=0.5)), None)

    def effective(self, overrides: Mapping[str, Any], removed: Sequence[str] = ()) -> dict[str, Any]:
        """What the trainers will see: defaults, overrides, shared keys copied, interpolations resolved."""
        config = {path: key.default for path, key in self.keys.items() if path not in removed} | dict(overrides)
        for theirs, ours in self.shared.items():
            if ours in overrides or (theirs not in overrides and config.get(ours) is not None):
                config[theirs] = config[ours]
        if self.shared:
            config |= _derived(config, overrides)
        return {path: _resolved(path, value, config) for path, value in config.items()}

    def _open(self, path: str) -> bool:
        parents = [path[: dot.start()] for dot in re.finditer(r"\.", path)]
        return any(parent in _OPEN or (parent in self.keys and self.keys[parent].default == {}) for parent in parents)


def _derived(config: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """What rLLM works out rather than copies: steps without a bound, one clip for both sides, KL by its weight."""
    steps, weight = _number("rllm.trainer.total_batches", config), _number("rllm.algorithm.kl_beta", config)
    high = config["rllm.algorithm.eps_clip_high"]
    derived = {
        "trainer.total_training_steps": steps if steps > 0 else None,
        "actor_rollout_ref.actor.clip_ratio_high": config["rllm.algorithm.eps_clip"] if high is None else high,
        "actor_rollout_ref.actor.use_kl_loss": weight > 0,
    }
    return {path: value for path, value in derived.items() if path not in overrides}


def _number(path: str, config: Mapping[str, Any]) -> float:
    """What a key amounts to, 0 where it is none or no number."""
    found = _resolved(path, config[path], config)
    return found if isinstance(found, (int, float)) else 0


def _resolved(path: str, value: Any, config: Mapping[str, Any]) -> Any:
    """A value with OmegaConf's ``${a.b}``, ``${.a}`` and ``${oc.select:a.b,default}`` replaced.

    Other kinds of interpolation, and those of whole mappings, stay as text.
    """
    for _ in range(_DEPTH):
        if not isinstance(value, str) or not (found := _INTERPOLATION.search(value)):
            return value
        key = path.rsplit(".", 1)[0] + found[1] if found[1].startswith(".") else found[1]
        if key not in config and (found[2] is None or any(each.startswith(f"{key}.") for each in config)):
            return value
        inner = config[key] if key in config else _scalar(found[2])
        value = (
            inner
            if found[0] == value
            else value.replace(found[0], inner if isinstance(inner, str) else json.dumps(inner))
        )
        path = key if found[0] == value else path
    return value


_DEPTH = 16
"""Interpolations of interpolations; theirs nest three deep."""


def _scalar(text: str) -> Any:
    try:
        return json.loads(text.lower())
    except ValueError:
        return text


@cache
def known_keys(stage: Stage) -> KnownKeys:
    """The keys of a stage; only rLLM's trainer copies shared keys, so ``sft`` has none."""
    known = _known()
    return KnownKeys(
        keys={path: KnownKey(**entry) for path, entry in known[stage].items()},
        shared=known["shared"] if stage == "grpo" else {},
    )


def pinned_versions() -> dict[str, str]:
    """Of ``rllm``, ``verl`` and ``vllm``; and rLLM's ``commit``."""
    known = _known()
    versions = {name: str(known[name]["version"]) for name in ("rllm", "verl", "vllm")}
    return {**versions, "commit": known["rllm"]["commit"]}


@cache
def _known() -> Any:
    return json.loads(files("sandmle.rl.rllm").joinpath("known_keys.json").read_text(encoding="utf-8"))
