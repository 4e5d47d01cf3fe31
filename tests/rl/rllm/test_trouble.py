"""What ends a training of rLLM's asynchronous loop, without rLLM."""

import asyncio

import pytest

from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.rl.rllm.trouble import Trouble
from sandmle.trajectory import Episode, EpisodeStatus


def ended(status):
    return Episode(
        id="0" * 16,
        task_id="a-task",
        task_hash="0" * 64,
        scaffold="react",
        policy="policy",
        protocol="train",
        repeat=0,
        status=status,
    )


async def test_a_training_without_trouble_runs_to_its_end():
    done = []

    async def train():
        done.append(True)

    trouble = Trouble(2)
    for status in (EpisodeStatus.INFRA_ERROR, EpisodeStatus.ANSWERED, EpisodeStatus.CANCELLED):
        trouble.hear(ended(status))
    await trouble.unless(train())
    assert done


async def test_what_the_training_raises_comes_through():
    async def train():
        raise RuntimeError("rLLM broke")

    with pytest.raises(RuntimeError, match="rLLM broke"):
        await Trouble(2).unless(train())


async def test_a_batch_that_came_to_nothing_ends_it_with_the_reasons():
    closed, trouble = [], Trouble(3)

    async def train():
        try:
            for status in (EpisodeStatus.INFRA_ERROR, EpisodeStatus.INFRA_ERROR, EpisodeStatus.CANCELLED):
                trouble.hear(ended(status))
            await asyncio.Event().wait()
        finally:
            closed.append(True)

    with pytest.raises(EnvironmentProblem, match=r"every rollout .* \(infra_error 2, cancelled 1;"):
        await trouble.unless(train())
    assert closed


async def test_the_first_fault_that_the_user_must_mend_ends_it():
    trouble = Trouble(3)

    async def train():
        trouble.tell(BadInput("the task is broken"))
        trouble.tell(EnvironmentProblem("and there is no isolation"))
        await asyncio.Event().wait()

    with pytest.raises(BadInput, match="the task is broken"):
        await trouble.unless(train())


async def test_where_all_were_cut_off_it_names_the_limit():
    trouble = Trouble(2)
    for status in (EpisodeStatus.CANCELLED, EpisodeStatus.CANCELLED):
        trouble.hear(ended(status))
    with pytest.raises(EnvironmentProblem, match=r"\(cancelled 2\); raise rollouts\.give_up_s"):
        await trouble.unless(asyncio.Event().wait())
