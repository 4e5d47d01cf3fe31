"""Sandbox backends with a fault each, and what rLLM's trainer held compared with what our own loop would learn from."""

import asyncio

import numpy as np
import pytest

from sandmle.errors import EnvironmentProblem, InfraError
from sandmle.rl.algorithms import make_estimator
from sandmle.rl.batches import make_examples

GRPO = make_estimator({"name": "grpo"})


def their_rows(trajectory):
    """Token ids, mask and advantages by the steps of one of rLLM's trajectories: a row as long as prompts go on."""
    rows = []
    for step in trajectory.steps:
        if not rows or step.prompt_ids[: len(rows[-1][0])] != rows[-1][0]:
            rows.append(([], [], []))
        ids, mask, advantages = rows[-1]
        asked, sampled = step.prompt_ids[len(ids) :], step.response_ids
        each = step.advantage if isinstance(step.advantage, list) else [step.advantage] * len(sampled)
        ids += [*asked, *sampled]
        mask += [False] * len(asked) + [True] * len(sampled)
        advantages += [0.0] * len(asked) + each
    return rows


def assert_ours(update):
    """What rLLM's groups hold, and what our backend learns from, is what our own loop would; gives the examples."""
    from sandmle.rl.rllm.backend import examples_of

    ours = [example for group in update.ours for example in make_examples(group, GRPO)]
    theirs = [row for group in update.groups for trajectory in group.trajectories for row in their_rows(trajectory)]
    for example, learnt, (ids, mask, advantages) in zip(
        ours, examples_of(update.ours, update.groups), theirs, strict=True
    ):
        assert example.row.token_ids.tolist() == learnt.row.token_ids.tolist() == ids
        assert example.row.mask.tolist() == mask
        assert example.advantages == pytest.approx(np.array(advantages), abs=1e-9)
        assert example.advantages == pytest.approx(learnt.advantages, abs=1e-9)
    return ours


class Broken:
    """A backend whose first episode never gets a sandbox."""

    def __init__(self, backend):
        self.backend, self.doomed = backend, None

    async def create(self, spec):
        self.doomed = self.doomed or asyncio.current_task()
        if asyncio.current_task() is self.doomed:
            raise InfraError("no sandbox today")
        return await self.backend.create(spec)

    def __getattr__(self, name):
        return getattr(self.backend, name)


class Stuck(Broken):
    """A backend whose first episode waits for a sandbox for ever."""

    async def create(self, spec):
        self.doomed = self.doomed or asyncio.current_task()
        if asyncio.current_task() is self.doomed:
            await asyncio.Event().wait()
        return await self.backend.create(spec)


class Counted(Broken):
    """A backend that counts what is asked of it."""

    made = 0

    async def create(self, spec):
        self.made += 1
        return await self.backend.create(spec)


class Barren:
    """A backend that never has a sandbox."""

    async def create(self, spec):
        raise InfraError("no sandbox today")

    async def aclose(self):
        pass


class Refused:
    """A backend of a machine that can't shut anything in."""

    async def create(self, spec):
        raise EnvironmentProblem("no isolation here")

    async def aclose(self):
        pass
