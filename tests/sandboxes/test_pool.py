from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandmle.errors import BadInput, InfraError
from sandmle.sandboxes import LocalBackend, SandboxSpec


async def ready(backend: LocalBackend) -> list[int]:
    """The process ids of the sandboxes that wait."""
    bodies = await asyncio.gather(*backend._pool()._waiting)
    return [body.channel.pid for body in bodies]


@pytest.fixture
async def pooled() -> AsyncIterator[LocalBackend]:
    async with LocalBackend(allow_unisolated=True, ready=2) as backend:
        yield backend


async def test_the_next_of_a_kind_is_there_already(pooled: LocalBackend):
    spec = SandboxSpec(env={"KIND": "a"})
    async with await pooled.create(spec) as first:
        waiting = await ready(pooled)
        assert len(waiting) == 2
        async with await pooled.create(spec) as second, await pooled.create(spec) as third:
            assert [second._body.channel.pid, third._body.channel.pid] == waiting
            for sandbox in (first, second, third):
                assert (await sandbox.run("import os; print(os.environ['KIND'])", timeout=30)).output == "a\n"
                await sandbox.write("mine", str(id(sandbox)).encode())
            assert await second.read("mine", max_bytes=99) == str(id(second)).encode()
    assert len(await ready(pooled)) == 2


async def test_another_kind_takes_the_place(pooled: LocalBackend, inputs: Path):
    await (await pooled.create(SandboxSpec())).aclose()
    old = await ready(pooled)
    async with await pooled.create(SandboxSpec(inputs={"input": inputs})) as sandbox:
        assert (await sandbox.run("print(open('input/train.csv').read())", timeout=30)).status == "ok"
        assert not set(old) & set(await ready(pooled))
        await asyncio.gather(*pooled._pool()._dropping)
    assert [pid for pid in old if Path(f"/proc/{pid}").exists()] == []


async def test_a_dead_one_is_not_handed_out(pooled: LocalBackend):
    spec = SandboxSpec()
    await (await pooled.create(spec)).aclose()
    for body in await asyncio.gather(*pooled._pool()._waiting):
        body.channel.kill()
        await asyncio.wait({body.channel._listener})
    async with await pooled.create(spec) as sandbox:
        assert (await sandbox.run("print(1)", timeout=30)).output == "1\n"


async def test_forks_and_replays_of_one_from_the_pool(pooled: LocalBackend):
    spec = SandboxSpec(stateful=True)
    await (await pooled.create(spec)).aclose()
    async with await pooled.create(spec) as sandbox:
        await sandbox.run("x = 1", timeout=30)
        (child,) = await sandbox.fork(1)
        assert (await child.run("x", timeout=30)).output == "1\n"
        await child.aclose()


async def test_closing_the_backend_ends_those_that_wait(pooled: LocalBackend):
    await (await pooled.create(SandboxSpec())).aclose()
    waiting = await ready(pooled)
    await pooled.aclose()
    assert [pid for pid in waiting if Path(f"/proc/{pid}").exists()] == []


async def test_what_cannot_be_made_is_told_to_who_asks(pooled: LocalBackend, monkeypatch):
    await (await pooled.create(SandboxSpec())).aclose()
    await ready(pooled)

    async def fail(*_: object) -> None:
        raise InfraError("no more")

    monkeypatch.setattr(pooled, "_make", fail)
    for _ in range(2):
        await (await pooled.create(SandboxSpec())).aclose()
    with pytest.raises(InfraError, match="no more"):
        await pooled.create(SandboxSpec())


def test_bad_number():
    with pytest.raises(BadInput, match="ready must be at least 0"):
        LocalBackend(ready=-1)
