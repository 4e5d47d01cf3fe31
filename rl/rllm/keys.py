"""Write down which configuration keys the pinned rLLM and verl know: ``known_keys.json``.

    pip install hydra-core
    python -m sandmle.rl.rllm.keys --rllm CHECKOUT --verl FOLDER [--out FILE]

CHECKOUT is rLLM's repository at a commit, FOLDER holds the Python package ``verl`` (a wheel is unpacked by
``python -m zipfile -e``). Neither is imported. Hydra composes their YAML files just as their trainers do; the fields of
the dataclass that a ``_target_`` names are read from its source, for types and for keys that no YAML file mentions,
which Hydra accepts with a ``+``. The table by which rLLM copies its values to verl's keys is read from its source too.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.files import write_text

__all__ = ["class_fields", "collect", "main"]

_CODED_PAIRS = (
    ("actor_rollout_ref.actor.clip_ratio", "rllm.algorithm.eps_clip"),
    ("actor_rollout_ref.actor.clip_ratio_low", "rllm.algorithm.eps_clip"),
    ("actor_rollout_ref.actor.optim.lr_scheduler_type", "rllm.algorithm.lr_schedule"),
)
"""Shared keys that ``sync_config`` copies in code, outside its table."""


def collect(rllm: Path, verl: Path) -> dict[str, Any]:
    """The content of ``known_keys.json``.

    Args:
        rllm: a checkout of rLLM.
        verl: the folder that holds the package ``verl``.

    Raises:
        BadInput: a folder is not what it should be.
        EnvironmentProblem: hydra-core is missing.
    """
    theirs = verl / "verl" / "trainer" / "config"
    ours = rllm / "rllm" / "trainer" / "config"
    for folder in (theirs, ours):
        if not folder.is_dir():
            raise BadInput(
                f"{folder}: no such folder; give a checkout of rLLM and the folder that holds the package verl"
            )
    project = tomllib.loads((rllm / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = (verl / "verl" / "version" / "version").read_text(encoding="utf-8").strip()
    if version != (wanted := _pinned(project, "verl")):
        raise BadInput(f"{verl}: verl {version}, but this rLLM pins {wanted}")
    return {
        "rllm": {"version": project["version"], "commit": _commit(rllm)},
        "verl": {"version": version},
        "vllm": {"version": _pinned(project, "vllm")},
        "shared": _shared_keys(rllm / "rllm" / "trainer" / "verl" / "utils.py"),
        "grpo": _keys(_composed(ours, "unified", theirs), verl),
        "sft": _with_added(
            _keys(_composed(theirs, "sft_trainer_engine", theirs), verl), ours / "agent_sft_trainer.yaml"
        ),
    }


def _composed(folder: Path, name: str, search: Path) -> dict[str, Any]:
    try:
        from hydra import compose, initialize_config_dir
        from omegaconf import OmegaConf
    except ImportError as error:
        raise EnvironmentProblem("hydra-core is missing: pip install hydra-core") from error
    with initialize_config_dir(config_dir=str(folder.resolve()), version_base=None):
        config = compose(name, overrides=[f"hydra.searchpath=[file://{search.resolve()}]"])
    plain: dict[str, Any] = OmegaConf.to_container(config, resolve=False)
    return plain


def _keys(config: Mapping[str, Any], verl: Path) -> dict[str, dict[str, Any]]:
    """Each key with its type, its default, and ``added`` where only a dataclass names it."""
    found: dict[str, dict[str, Any]] = {}
    for path, mapping in _mappings("", config):
        fields = class_fields(verl, mapping["_target_"]) if "_target_" in mapping else {}
        for name, value in mapping.items():
            if not isinstance(value, dict) or not value:
                kind = _type_name(fields[name][0]) if name in fields else "any"
                found[path + name] = {"type": _type_of(value) if kind == "any" else kind, "default": value}
        for name in fields.keys() - mapping.keys():
            annotation, default = fields[name]
            found[path + name] = {"type": _type_name(annotation), "default": default, "added": True}
    return dict(sorted(found.items()))


def _with_added(keys: dict[str, dict[str, Any]], source: Path) -> dict[str, dict[str, Any]]:
    """With the keys that rLLM's own file adds to verl's."""
    config = yaml.safe_load(source.read_text(encoding="utf-8"))
    for path, mapping in _mappings("", {name: config[name] for name in config if name not in ("defaults", "hydra")}):
        for name, value in mapping.items():
            if not isinstance(value, dict):
                keys.setdefault(path + name, {"type": _type_of(value), "default": value, "added": True})
    return dict(sorted(keys.items()))


def _mappings(path: str, config: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield path, config
    for name, value in config.items():
        if isinstance(value, dict) and value:
            yield from _mappings(f"{path}{name}.", value)


def class_fields(root: Path, target: str) -> dict[str, tuple[str, Any]]:
    """Annotation and default of each field of a dataclass and its bases, read from source.

    Args:
        root: the folder that holds the package.
        target: such as ``verl.workers.config.ActorConfig``; a package stands for all its modules.

    Returns:
        Field to (annotation, default); None where the default is no literal. Empty if there is no such class.
    """
    module, _, name = target.rpartition(".")
    place = root.joinpath(*module.split("."))
    sources = [place.with_suffix(".py")] if place.with_suffix(".py").is_file() else sorted(place.glob("*.py"))
    for source in sources:
        for node in ast.parse(source.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                bases = [class_fields(root, f"{module}.{ast.unparse(base)}") for base in node.bases]
                return {key: value for fields in (*bases, _own_fields(node)) for key, value in fields.items()}
    return {}


def _own_fields(node: ast.ClassDef) -> dict[str, tuple[str, Any]]:
    fields = {}
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.target.id[0] != "_":
            fields[line.target.id] = (ast.unparse(line.annotation), _literal(line.value))
    return fields


def _literal(node: ast.expr | None) -> Any:
    try:
        return None if node is None else ast.literal_eval(node)
    except ValueError:
        return None


def _type_name(annotation: str) -> str:
    """``Optional[int]`` and ``int | None`` are ``int``; what is no plain type is ``any``."""
    inner = re.sub(r"^Optional\[(.*)\]$|^(.*?) *\| *None$", lambda match: match[1] or match[2], annotation)
    return {"list": "list", "dict": "dict"}.get(inner.split("[")[0].lower(), inner if inner in _PLAIN else "any")


_PLAIN = ("bool", "int", "float", "str")


def _type_of(value: object) -> str:
    if value is None or (isinstance(value, str) and ("${" in value or value == "???")):
        return "any"
    return type(value).__name__


def _shared_keys(source: Path) -> dict[str, str]:
    """Each key of verl's to the key of rLLM that overwrites it."""
    pairs = list(_CODED_PAIRS)
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            if node.target.id == "_SHARED_KEYS":
                pairs += ast.literal_eval(node.value)
            elif node.target.id == "_TOTAL_TRAINING_STEPS_KEY":
                pairs.append(ast.literal_eval(node.value))
    return dict(sorted(pairs))


def _pinned(project: Mapping[str, Any], name: str) -> str | None:
    """The version of a package that rLLM's extra ``verl`` asks for."""
    needs = project.get("optional-dependencies", {}).get("verl", ())
    return next((need.removeprefix(f"{name}==") for need in needs if need.startswith(f"{name}==")), None)


def _commit(checkout: Path) -> str:
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BadInput(f"{checkout}: no git checkout, so its commit is unknown")
    return done.stdout.strip()


def _text(known: Mapping[str, Any]) -> str:
    """JSON with one key a line, so that a diff shows what changed between versions."""
    parts = []
    for name, value in known.items():
        lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(entry)}" for key, entry in value.items())
        parts.append(f"{json.dumps(name)}: {{\n{lines}\n}}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(argv: list[str] | None = None) -> int:
    """Write the file; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sandmle.rl.rllm.keys", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--rllm", type=Path, required=True, help="a checkout of rLLM")
    parser.add_argument("--verl", type=Path, required=True, help="the folder that holds the package verl")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("known_keys.json"))
    given = parser.parse_args(argv)
    try:
        known = collect(given.rllm, given.verl)
    except (BadInput, EnvironmentProblem) as error:
        print(error, file=sys.stderr)
        return error.exit_code
    write_text(given.out, _text(known))
    print(f"{given.out}: {len(known['grpo'])} keys of grpo, {len(known['sft'])} of sft")
    return 0


if __name__ == "__main__":
    sys.exit(main())
