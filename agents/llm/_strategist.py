"""The Data Strategist as a model: a new competition from a seed's description, with a rule that we can compute."""

from __future__ import annotations

import asyncio
import json
import re

import numpy as np

from sandmle.agents.llm._asking import RolePlayer, written
from sandmle.agents.llm._draft import KINDS, PROBLEMS, TaskDraft
from sandmle.agents.llm._reading import Unusable, read_json
from sandmle.agents.procedural.blueprint import Blueprint
from sandmle.agents.procedural.dna import read_dna
from sandmle.agents.procedural.kinds import get_kind
from sandmle.agents.procedural.problems import METRICS
from sandmle.agents.procedural.rules import FUNCTIONS, READERS
from sandmle.agents.procedural.strategist import REDRAWS
from sandmle.agents.roles import TaskPlan
from sandmle.errors import BadInput
from sandmle.record import sha256_json
from sandmle.seeds import Seed, load_table
from sandmle.task import Modality

__all__ = ["LlmStrategist"]

MAX_DESCRIPTION = 12_000
MAX_SHARED_COLUMNS = 1 / 3
MIN_TERM = 4
"""Shorter words of a seed's id are too common to tell a domain by."""


class LlmStrategist:
    """Asks for a draft, and turns it into a plan.

    Args:
        player: the model.
        settings_hash: hash of the settings that shape the batch; part of every task id.
        n_train: training rows.
        n_test: hidden test rows; None for what suits the kind of task.
        tables_only: why no other modality can be asked for; empty if any can.
    """

    def __init__(
        self, player: RolePlayer, settings_hash: str, n_train: int, n_test: int | None, tables_only: str
    ) -> None:
        self._player = player
        self._settings_hash = settings_hash
        self._n_train = n_train
        self._n_test = n_test
        self._tables_only = tables_only

    async def try_seed(self, seed: Seed, modality: Modality | None = None) -> None:
        """Raise BadInput if the seed has no modality, or one that the rest of the team can't make."""
        wanted = modality or (await asyncio.to_thread(read_dna, seed)).modality
        if self._tables_only and wanted != "tabular":
            raise BadInput(f"seed {seed.id}: {self._tables_only}, so it can't make tasks of modality {wanted}")

    async def plan(self, seed: Seed, candidate: int, modality: Modality | None = None) -> TaskPlan:
        """Ask for candidate ``candidate`` of ``seed``."""
        known = await asyncio.to_thread(read_dna, seed)
        wanted = modality or known.modality
        columns = await asyncio.to_thread(_columns, seed)
        task = await written(
            "strategist_task",
            title=seed.title,
            description=seed.description[:MAX_DESCRIPTION],
            dna=known.model_dump_json(indent=2),
            columns=columns,
            modality=wanted,
            problems=", ".join(PROBLEMS),
            metrics={link: ", ".join(names) for link, names in METRICS.items() if link not in ("mask", "rewrite")},
            readers=", ".join(READERS),
            functions=", ".join(FUNCTIONS),
            schema=json.dumps(TaskDraft.model_json_schema(), separators=(",", ":")),
        )

        def read(text: str) -> TaskDraft:
            draft = read_json(text, TaskDraft)
            if fault := _fault(draft, seed, columns, wanted):
                raise Unusable(fault)
            return draft

        draft = await self._player.ask(task, read, candidate=candidate, attempt=0)
        return self._planned(draft, seed, candidate, wanted)

    def _planned(self, draft: TaskDraft, seed: Seed, candidate: int, modality: Modality) -> TaskPlan:
        blueprint, kind = draft.blueprint(modality), get_kind(KINDS[modality])
        digest = sha256_json([self._player.seed, self._settings_hash, seed.id, candidate])
        rng = np.random.default_rng(np.random.SeedSequence([self._player.seed, candidate]))
        return TaskPlan(
            task_id=f"{draft.setting.slug}-{digest[:8]}",
            candidate=candidate,
            title=draft.title,
            modality=modality,
            problem_type=draft.problem_type,
            metric=draft.metric,
            target=draft.target.column,
            submission=blueprint.problem.submission(draft.id_column),
            dna=draft.dna,
            rungs=kind.rungs,
            rows_apart=modality != "graph",
            preload=kind.preload,
            train_seeds=tuple(int(value) for value in rng.integers(2**31, size=REDRAWS)),
            test_seed=int(rng.integers(2**31)),
            n_train=self._n_train,
            n_test=self._n_test or kind.n_test,
            rule_terms=_terms(blueprint),
            details=blueprint.model_dump(mode="json"),
        )


def _terms(blueprint: Blueprint) -> tuple[str, ...]:
    return tuple(term.readable() for term in blueprint.rule.terms())


def _columns(seed: Seed) -> tuple[str, ...]:
    """The columns of a seed's table; none where it has no table."""
    if not seed.has_data or seed.modality not in (None, "tabular"):
        return ()
    table = load_table(seed)
    return tuple(str(name) for name in table.train.columns if name not in (table.id_column, table.target))


def _fault(draft: TaskDraft, seed: Seed, columns: tuple[str, ...], modality: Modality) -> str:
    """Why a sound draft is not what was asked for; empty if it is."""
    if modality != "tabular" and len(draft.presentation.split()) < 10:
        return f"presentation: say how a competitor finds each factor in the {modality} of an item"
    own = {word for name in (seed.id, seed.family) for word in re.findall(r"[a-z]+", name.lower())}
    setting = draft.setting
    words = set(re.findall(r"[a-z]+", f"{setting.slug} {setting.entity} {setting.entities}".lower()))
    if shared := sorted(word for word in own & words if len(word) >= MIN_TERM):
        return f"setting: the domain is the seed's own ({shared[0]}); choose another one"
    known = {_plain(name) for name in (*columns, seed.target or "") if name}
    mine = [name for name in (*(factor.name for factor in draft.factors), draft.target.column) if _plain(name) in known]
    if known and len(mine) > MAX_SHARED_COLUMNS * len(draft.factors):
        return f"factors: {', '.join(mine)} are the seed's own columns; choose another domain"
    return ""


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
