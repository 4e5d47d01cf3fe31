"""Stateful sandboxes: what the contract does not ask of every backend."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from sandmle.sandboxes import LocalBackend, Sandbox, SandboxLimits, SandboxSpec


@pytest.fixture(params=["best", "unisolated"])
async def cells(request, backend: LocalBackend, unisolated: LocalBackend) -> AsyncIterator[Sandbox]:
    chosen = backend if request.param == "best" else unisolated
    async with await chosen.create(SandboxSpec(stateful=True)) as sandbox:
        yield sandbox


async def output(sandbox: Sandbox, code: str) -> str:
    result = await sandbox.run(code, timeout=30)
    assert result.status == "ok", result.output
    assert result.state == "kept"
    return result.output


THREAD = """
import threading, time
count, stop = 0, threading.Event()
def work():
    global count
    while not stop.wait(0.001):
        count += 1
thread = threading.Thread(target=work, daemon=True)
thread.start()
"""


async def test_threads_go_on_between_cells(cells: Sandbox):
    await output(cells, THREAD)
    assert (
        await output(cells, "before = count\nwhile count == before: time.sleep(0.001)\nthread.is_alive()") == "True\n"
    )
    await output(cells, "stop.set(); thread.join()")
    assert await output(cells, "import os; len(os.listdir('/proc/self/task'))") == "1\n"


async def test_threads_take_the_state_with_them(cells: Sandbox):
    await output(cells, THREAD)
    result = await cells.run("print('so far'); time.sleep(60)", timeout=0.5)
    assert (result.status, result.state, result.output) == ("timeout", "lost", "so far\n")
    result = await cells.run("count", timeout=30)
    assert result.status == "error"
    assert "NameError: name 'count' is not defined" in result.output


async def test_processes_end_with_their_cell(cells: Sandbox):
    await output(cells, "import subprocess, os\nchild = subprocess.Popen(['sleep', '1000'])")
    state = "open(f'/proc/{child.pid}/stat').read().rpartition(')')[2].split()[0]"
    assert await output(cells, f"{state} if os.path.exists(f'/proc/{{child.pid}}') else 'Z'") == "'Z'\n"


async def test_pools_of_joblib_are_made_anew(cells: Sandbox):
    work = "sum(Parallel(n_jobs=2)(delayed(abs)(i) for i in range(4)))"
    assert (await output(cells, f"from joblib import Parallel, delayed\n{work}")).endswith("6\n")
    assert (await output(cells, work)).endswith("6\n")


async def test_tracebacks_show_the_cells_alone(cells: Sandbox):
    await output(cells, "def fail():\n    raise KeyError('key')")
    result = await cells.run("x = 1\nfail()", timeout=30)
    assert result.output.splitlines() == [
        "Traceback (most recent call last):",
        '  File "<cell 2>", line 2, in <module>',
        "    fail()",
        '  File "<cell 1>", line 2, in fail',
        "    raise KeyError('key')",
        "KeyError: 'key'",
    ]


async def test_syntax_errors_name_the_place(cells: Sandbox):
    result = await cells.run("x = 1\ny = = 2", timeout=30)
    assert (result.status, result.exit_code) == ("error", 1)
    assert result.output.splitlines()[0] == '  File "<cell 1>", line 2'
    assert result.output.splitlines()[-1] == "SyntaxError: invalid syntax"
    result = await cells.run("x\0", timeout=30)
    assert result.status == "error"


@pytest.mark.parametrize(
    ("code", "exit_code"), [("raise SystemExit", 0), ("exit(3)", 3), ("raise SystemExit('no')", 1)]
)
async def test_exiting_ends_the_cell_alone(cells: Sandbox, code: str, exit_code: int):
    await output(cells, "x = 1\nimport sys\nfrom sys import exit")
    result = await cells.run(code, timeout=30)
    assert (result.exit_code, result.state) == (exit_code, "kept")
    assert await output(cells, "x") == "1\n"


async def test_big_and_odd_cells(cells: Sandbox):
    assert await output(cells, f"text = {'ä' * 200_000!r}\nlen(text)") == "200000\n"
    assert await output(cells, "") == ""
    assert await output(cells, "# nothing") == ""
    assert await output(cells, "None") == ""
    assert await output(cells, "_ = 5; _") == "5\n"


async def test_the_working_folder_lasts(cells: Sandbox):
    await output(cells, "import os; os.mkdir('deep'); os.chdir('deep')")
    assert await output(cells, "os.path.basename(os.getcwd())") == "'deep'\n"
    await output(cells, "os.rmdir('../deep')")
    assert await output(cells, "1") == "1\n"


async def test_seeds_last_as_if_there_were_no_forks(cells: Sandbox):
    together = await output(
        cells, "import random, numpy as np\nrandom.seed(1); np.random.seed(1)\n(random.random(), np.random.rand())"
    )
    await output(cells, "random.seed(1); np.random.seed(1)")
    assert await output(cells, "(random.random(), np.random.rand())") == together


async def test_costs_are_those_of_the_cell(cells: Sandbox):
    await cells.run("for _ in range(3_000_000): pass", timeout=60)
    result = await cells.run("pass", timeout=30)
    assert result.cpu_s < 0.05
    assert result.peak_mib > 10
    killed = await cells.run("while True: pass", timeout=0.5)
    assert killed.cpu_s > 0.1


async def test_memory_of_all_cells_is_bounded(backend: LocalBackend):
    spec = SandboxSpec(stateful=True, limits=SandboxLimits(memory_mib=300))
    async with await backend.create(spec) as cells:
        await output(cells, "kept = bytearray(100 << 20)")
        result = await cells.run("more = bytearray(400 << 20)", timeout=30)
        assert result.status in ("error", "oom")
        assert await output(cells, "len(kept) >> 20") == "100\n"


async def test_classes_of_cells_can_be_pickled_and_inspected(cells: Sandbox):
    await output(cells, "import pickle, inspect\nclass Point:\n    x = 1\ndef one():\n    return 1")
    assert await output(cells, "pickle.loads(pickle.dumps(Point())).x") == "1\n"
    assert await output(cells, "inspect.getsource(one)") == "'def one():\\n    return 1'\n"
