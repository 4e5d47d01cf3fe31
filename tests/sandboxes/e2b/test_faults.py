"""What a service far away does wrong: refusals, lost answers, machines that are gone."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
from pathlib import Path

import pytest

from sandmle.errors import BadInput, EnvironmentProblem, InfraError
from sandmle.sandboxes import SandboxSpec
from sandmle.sandboxes.e2b import E2BBackend, E2BFault, Patience, _faults
from sandmle.sandboxes.e2b._faults import translate

START = "POST /process.Process/Start"
COUNT = "open('count', 'a').write('x'); print(open('count').read())"


def quick(**settings) -> E2BBackend:
    return E2BBackend(patience=Patience(attempts=3, first_wait_s=0.01), **settings)


@pytest.mark.parametrize("kind", [429, 503, 502, "drop", "cut"])
async def test_creating_is_tried_again_and_makes_one_machine(e2b, server, kind: int | str):
    server.inject("POST /v2/sandboxes", kind, times=5)
    async with await e2b.create(SandboxSpec()) as sandbox:
        assert server.count("POST /v2/sandboxes") == 6
        assert len(server.machines) == 1
        assert (await sandbox.run("print(1)", timeout=30)).output == "1\n"


@pytest.mark.parametrize("kind", [429, 502, "drop", "cut"])
@pytest.mark.parametrize("stateful", [False, True])
async def test_a_step_is_run_once_whatever_happens_to_its_connection(e2b, server, kind: int | str, stateful: bool):
    async with await e2b.create(SandboxSpec(stateful=stateful)) as sandbox:
        for expected in ("x\n", "xx\n"):
            server.inject(START, kind, times=2)
            before = server.count(START)
            assert (await sandbox.run(COUNT, timeout=30)).output == expected
            assert server.count(START) - before == 3


async def test_a_step_whose_connection_breaks_runs_on_and_is_waited_for(e2b, server):
    async with await e2b.create(SandboxSpec()) as sandbox:
        server.inject(START, "cut")
        result = await sandbox.run(f"import time; time.sleep(1.5); {COUNT}", timeout=30)
    assert (result.status, result.output) == ("ok", "x\n")
    assert 1.5 <= result.wall_s < 10


@pytest.mark.parametrize("kind", [429, 502, "drop", "cut"])
async def test_files_are_tried_again(e2b, server, kind: int | str):
    data = bytes(300_000)
    async with await e2b.create(SandboxSpec()) as sandbox:
        for request in ("POST /files", "GET /files", START):
            server.inject(request, kind, times=2)
        await sandbox.write("big", data)
        assert await sandbox.read("big", max_bytes=300_000) == data
        assert server.count("GET /files") == 3


async def test_a_service_that_stays_busy_is_an_infrastructure_error(server):
    async with quick() as backend:
        server.inject("POST /v2/sandboxes", 429, times=1000)
        with pytest.raises(E2BFault, match="creating a machine") as caught:
            await backend.create(SandboxSpec())
    assert caught.value.kind == "refused"
    assert isinstance(caught.value, InfraError)


async def test_a_machine_that_is_gone_is_not_asked_again(e2b, server):
    async with await e2b.create(SandboxSpec()) as sandbox:
        task = asyncio.create_task(sandbox.run("import time; time.sleep(60)", timeout=90))
        await asyncio.sleep(1)
        (machine,) = server.machines
        before = server.count(START)
        await asyncio.to_thread(server.stop, machine)
        with pytest.raises(E2BFault) as caught:
            await asyncio.wait_for(task, 20)
        assert caught.value.kind == "gone"
        with pytest.raises(E2BFault) as caught:
            await sandbox.read("x", max_bytes=1)
        assert caught.value.kind == "gone"
        assert server.count(START) - before <= 2


async def test_heartbeat_outlives_the_time_to_live(server):
    async with quick(ttl_s=3) as backend:
        async with await backend.create(SandboxSpec()) as sandbox:
            server.inject("POST /sandboxes/", 502, times=3)
            await asyncio.sleep(5)
            assert (await sandbox.run("print(1)", timeout=30)).output == "1\n"
        assert len(server.ttls) >= 3
        assert set(server.ttls) == {3}


async def test_without_a_heartbeat_the_machine_ends(server):
    async with quick(ttl_s=3) as backend, await backend.create(SandboxSpec()) as sandbox:
        sandbox._machine._heartbeat.cancel()
        await asyncio.sleep(4)
        assert server.machines == {}
        with pytest.raises(E2BFault):
            await sandbox.run("print(1)", timeout=5)


async def test_forks_that_fail_leave_none(server):
    async with quick() as backend, await backend.create(SandboxSpec()) as sandbox:
        (machine,) = server.machines
        server.inject(f"POST /sandboxes/{machine}/fork", "partial")
        with pytest.raises(E2BFault, match="too many machines") as caught:
            await sandbox.fork(3)
        assert caught.value.kind == "refused"
        assert set(server.machines) == {machine}
        assert (await sandbox.run("print(1)", timeout=30)).output == "1\n"


@pytest.mark.parametrize("moment_s", [0, 0.02, 0.1, 0.3])
async def test_changes_that_are_cancelled_or_overtaken_leave_none(server, moment_s: float):
    async with quick() as backend, await backend.create(SandboxSpec()) as sandbox:
        held = set(server.machines)
        fork = asyncio.create_task(sandbox.fork(2))
        await asyncio.wait({fork}, timeout=moment_s)
        if fork.cancel():
            with pytest.raises(asyncio.CancelledError):
                await fork
        else:
            await asyncio.gather(*(child.aclose() for child in fork.result()))
        assert set(server.machines) == held
        snapshot = await sandbox.snapshot()
        restoring = asyncio.create_task(sandbox.restore(snapshot))
        await asyncio.wait({restoring}, timeout=moment_s)
        await sandbox.aclose()
        with contextlib.suppress(InfraError):
            await restoring
        assert server.machines == {}


async def test_machines_have_no_internet(e2b, server):
    async with await e2b.create(SandboxSpec()) as sandbox, await sandbox.snapshot() as snapshot:
        await sandbox.restore(snapshot)
        (child,) = await sandbox.fork(1)
        async with child:
            assert [machine.body.internet for machine in server.machines.values()] == [False, False]


async def test_a_flood_does_not_travel(e2b, server):
    async with await e2b.create(SandboxSpec()) as sandbox:
        server.streamed = 0
        result = await sandbox.run("import os\nfor _ in range(40): os.write(1, bytes(1 << 20))", timeout=60)
    assert result.total_bytes == 40 << 20
    assert server.streamed < 500_000


async def test_a_machine_that_cannot_be_told_to_stop_is_killed(server):
    async with quick() as backend:
        sandbox = await backend.create(SandboxSpec())
        task = asyncio.create_task(sandbox.run("import time; time.sleep(60)", timeout=90))
        await asyncio.sleep(1)
        server.inject(START, 500, times=1000)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert server.machines == {}
        await sandbox.aclose()


async def test_a_step_whose_supervisor_is_killed_is_told_and_ended(e2b, server):
    async with await e2b.create(SandboxSpec()) as sandbox:
        code = "import time; time.sleep(3); open('late', 'w').close()"
        task = asyncio.create_task(sandbox.run(code, timeout=90))
        await asyncio.sleep(1.5)
        (machine,) = server.machines.values()
        killer = await asyncio.to_thread(machine.body.start, ["pkill", "-KILL", "-f", "^python3 -I"], "root")
        await asyncio.to_thread(killer.ended.wait)
        with pytest.raises(E2BFault, match=r"killed|exit code"):
            await asyncio.wait_for(task, 20)
        late = await sandbox.run("import os, time; time.sleep(3); print(os.path.exists('late'))", timeout=30)
        assert late.output == "False\n"


async def test_killing_that_fails_is_only_logged(server, caplog):
    async with quick() as backend:
        sandbox = await backend.create(SandboxSpec())
        server.inject("DELETE /sandboxes/", 500, times=3)
        await sandbox.aclose()
        assert "ends by itself within" in caplog.text
        (machine,) = list(server.machines)
        await asyncio.to_thread(server.stop, machine)


async def test_closing_the_backend_closes_all(server):
    backend = quick()
    sandbox = await backend.create(SandboxSpec())
    await sandbox.snapshot()
    await sandbox.fork(1)
    assert (len(server.machines), len(server.snapshots)) == (2, 1)
    await backend.aclose()
    assert (server.machines, server.snapshots) == ({}, {})


async def test_threads_keep_cells_from_being_rolled_back(e2b):
    thread = "import threading, time\nx = 1\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    async with await e2b.create(SandboxSpec(stateful=True)) as sandbox:
        assert (await sandbox.run(thread, timeout=30)).status == "ok"
        assert (await sandbox.run("print(x, threading.active_count())", timeout=30)).output == "1 2\n"
        result = await sandbox.run("while True: pass", timeout=1)
        assert (result.status, result.state) == ("timeout", "lost")
        assert (await sandbox.run("print('x' in globals())", timeout=30)).output == "False\n"


async def test_a_wrong_key_is_told(server, monkeypatch):
    monkeypatch.setenv("E2B_API_KEY", "e2b_" + "1" * 40)
    async with quick() as backend:
        with pytest.raises(EnvironmentProblem, match="E2B_API_KEY"):
            await backend.create(SandboxSpec())


def test_missing_key_and_extra_are_told(monkeypatch):
    monkeypatch.setenv("E2B_API_KEY", "")
    with pytest.raises(EnvironmentProblem, match="export E2B_API_KEY"):
        E2BBackend()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EnvironmentProblem, match=r"sandmle\[e2b\]"):
        E2BBackend()


async def test_bad_specs_start_no_machine(e2b, server, tmp_path: Path):
    for spec, match in [
        (SandboxSpec(image="torch"), "template"),
        (SandboxSpec(inputs={"../up": tmp_path}), "not a path inside"),
        (SandboxSpec(env={"A=B": "1"}), "A=B"),
    ]:
        with pytest.raises(BadInput, match=match):
            await e2b.create(spec)
    assert server.count("POST /v2/sandboxes") == 0


@pytest.mark.parametrize("settings", [{"concurrency": 0}, {"ttl_s": 2}])
def test_bad_settings(monkeypatch, settings: dict[str, int]):
    with pytest.raises(BadInput, match=next(iter(settings))):
        E2BBackend(**settings)


async def test_waits_grow_with_jitter_and_end(monkeypatch):
    pytest.importorskip("e2b", reason="needs pip install 'sandmle[e2b]'")
    waits: list[float] = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    async def fail() -> None:
        raise ConnectionError("reset")

    monkeypatch.setattr(_faults.asyncio, "sleep", note)
    with pytest.raises(E2BFault, match="E2B: trying: reset"):
        await Patience(attempts=7, first_wait_s=1.0, longest_wait_s=10.0).keep_trying("trying", fail)
    assert len(waits) == 6
    for wait, longest in zip(waits, (1, 2, 4, 8, 10, 10), strict=True):
        assert longest / 2 <= wait <= longest
    assert len({wait / longest for wait, longest in zip(waits, (1, 2, 4, 8, 10, 10), strict=True)}) > 1


def test_every_error_of_the_sdk_has_its_kind():
    e2b = pytest.importorskip("e2b", reason="needs pip install 'sandmle[e2b]'")
    import httpx

    for error, kind in [
        (e2b.RateLimitException("slow down"), "refused"),
        (e2b.ServiceBusyException("503"), "refused"),
        (e2b.SandboxException("502: bad gateway", status_code=502), "broken"),
        (e2b.TimeoutException("cancelled"), "broken"),
        (e2b.SandboxUnreachableException("where is it"), "broken"),
        (httpx.ReadError("reset"), "broken"),
        (Exception("Command ended without an end event"), "broken"),
        (e2b.SandboxNotRunningException("killed"), "gone"),
        (e2b.SandboxNotFoundException("who"), "gone"),
        (e2b.SandboxException("400: bad", status_code=400), "other"),
        (e2b.NotEnoughSpaceException("full"), "other"),
    ]:
        fault = translate(error, "testing")
        assert isinstance(fault, E2BFault)
        assert fault.kind == kind, error
    assert isinstance(translate(e2b.AuthenticationException("401"), "testing"), EnvironmentProblem)
