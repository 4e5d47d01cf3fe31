from __future__ import annotations

import pytest

from sandmle.agents.scripts import ScriptJob, run_scripts
from sandmle.sandboxes import LocalBackend, SandboxSpec


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    return LocalBackend(allow_unisolated=True)


async def run(backend: LocalBackend, *jobs: ScriptJob, **scripts: str):
    async with await backend.create(SandboxSpec()) as sandbox:
        for name, text in scripts.items():
            await sandbox.write(f"{name}.py", text.encode())
        await sandbox.write("data.csv", b"a,b\n1,2\n")
        return await run_scripts(sandbox, jobs)


async def test_scripts_run_in_order_in_their_folders_with_their_arguments(backend: LocalBackend) -> None:
    jobs = [ScriptJob(name=name, script="one.py", folder=name, args=(name,)) for name in ("x", "y")]
    found = await run(backend, *jobs, one="import os, sys; print(os.path.basename(os.getcwd()), sys.argv[1])")
    assert [result.log.strip() for result in found.values()] == ["x x", "y y"]
    assert all(result.ok for result in found.values())


async def test_after_a_script_that_fails_no_other_is_run(backend: LocalBackend) -> None:
    jobs = [ScriptJob(name=name, script=f"{name}.py") for name in ("good", "bad", "late")]
    found = await run(backend, *jobs, good="", bad="raise ValueError('no luck')", late="")
    assert list(found) == ["good", "bad"]
    assert found["bad"].exit_code == 1
    assert found["bad"].log.strip().endswith("ValueError: no luck")


async def test_what_a_script_says_when_it_exits_is_kept(backend: LocalBackend) -> None:
    found = await run(backend, ScriptJob(name="quits", script="quits.py"), quits="raise SystemExit('not today')")
    assert found["quits"].exit_code == 1
    assert found["quits"].log == "not today\n"


async def test_a_script_that_loops_ends_by_its_cpu_time(backend: LocalBackend) -> None:
    found = await run(backend, ScriptJob(name="loop", script="loop.py", cpu_seconds=1), loop="while True: pass")
    assert found["loop"].exit_code < 0
    assert found["loop"].cpu_s < 3


@pytest.mark.parametrize(
    ("script", "ok"),
    [
        ("open('data.csv').read()", True),
        ("import os; os.stat('data.csv'); open('data.csv').read(); open('jobs.json').read()", True),
        ("open('data.csv').close(); open('data.csv')", False),
        ("import os; os.open('data.csv', 0); open('../' + os.path.basename(os.getcwd()) + '/data.csv')", False),
        ("for _ in 'ab':\n  try: open('data.csv').close()\n  except BaseException: pass", False),
    ],
)
async def test_a_file_may_be_opened_once_where_the_job_says_so(backend: LocalBackend, script: str, ok: bool) -> None:
    found = await run(backend, ScriptJob(name="reader", script="reader.py", read_once="data.csv"), reader=script)
    assert found["reader"].ok is ok
    assert ("data.csv more than once" in found["reader"].log) is not ok
