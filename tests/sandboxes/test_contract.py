"""What every step and file operation promises, on the best tier of this machine and, for most, without isolation."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandmle.errors import BadInput, EnvironmentProblem, InfraError
from sandmle.sandboxes import LocalBackend, Sandbox, SandboxLimits, SandboxSpec, _probe


@pytest.fixture(params=["best", "unisolated"])
async def sandbox(request, backend: LocalBackend, unisolated: LocalBackend, inputs: Path) -> AsyncIterator[Sandbox]:
    if request.param == "unisolated":
        backend = unisolated
    async with await backend.create(SandboxSpec(inputs={"input": inputs})) as sandbox:
        yield sandbox


async def test_ok(sandbox: Sandbox):
    result = await sandbox.run("print('hello')\nimport sys\nprint('there', file=sys.stderr)", timeout=30)
    assert (result.status, result.exit_code, result.signal) == ("ok", 0, None)
    assert result.output == "hello\nthere\n"
    assert result.total_bytes == len("hello\nthere\n")
    assert 0 < result.cpu_s < 5
    assert 5 < result.peak_mib < 200
    assert result.wall_s > 0


async def test_error_shows_a_stable_traceback(sandbox: Sandbox):
    result = await sandbox.run("x = 1\nprint(x / 0)", timeout=30)
    assert (result.status, result.exit_code) == ("error", 1)
    assert result.output.startswith('Traceback (most recent call last):\n  File "/tmp/step.py", line 2, in <module>\n')
    assert "ZeroDivisionError" in result.output


@pytest.mark.parametrize(
    ("code", "exit_code", "signal"),
    [
        ("import sys; sys.exit(3)", 3, None),
        ("import os; os._exit(7)", 7, None),
        ("import ctypes; ctypes.string_at(0)", None, 11),
        ("import os; os.abort()", None, 6),
        ("raise SystemExit('bye')", 1, None),
        ("def broken(:", 1, None),
        ("x = '\\ud800'.encode()", 1, None),
    ],
)
async def test_ends_of_its_own_making(sandbox: Sandbox, code: str, exit_code: int | None, signal: int | None):
    result = await sandbox.run(code, timeout=30)
    assert (result.status, result.exit_code, result.signal) == ("error", exit_code, signal)


async def test_killing_itself_is_killed(sandbox: Sandbox):
    result = await sandbox.run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", timeout=30)
    assert (result.status, result.signal) == ("killed", 9)


async def test_arguments_and_main(sandbox: Sandbox):
    code = "import sys\nif __name__ == '__main__':\n    print(sys.argv[1:], sys.stdin.read())"
    result = await sandbox.run(code, timeout=30, args=["--seed", "1", "a b"])
    assert result.output == "['--seed', '1', 'a b'] \n"


async def test_place_and_imports(sandbox: Sandbox):
    await sandbox.write("mine.py", b"VALUE = 41\n")
    result = await sandbox.run("import os, mine; print(os.getcwd(), mine.VALUE + 1, os.listdir())", timeout=30)
    assert result.output.startswith("/workspace 42 [")
    assert "step.py" not in result.output


async def test_environment_is_small_and_fixed(monkeypatch, backend: LocalBackend):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    async with await backend.create(SandboxSpec(env={"FOLD": "3"})) as sandbox:
        result = await sandbox.run("import json, os; print(json.dumps(dict(os.environ)))", timeout=30)
    assert "sk-secret" not in result.output
    for part in ('"FOLD": "3"', '"OPENBLAS_CORETYPE": "Haswell"', '"OMP_NUM_THREADS": "1"', '"PYTHONHASHSEED": "0"'):
        assert part in result.output


async def test_libraries_of_the_image_work(backend: LocalBackend):
    code = (
        "import lightgbm, numpy as np\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "X = np.arange(40.0).reshape(20, 2); y = X[:, 0] > 20\n"
        "print(LogisticRegression().fit(X, y).score(X, y))\n"
        "fitted = lightgbm.LGBMClassifier(n_estimators=2, min_child_samples=2, verbose=-1, n_jobs=1).fit(X, y)\n"
        "print(fitted.predict(X.copy()).sum())\n"
    )
    async with await backend.create(SandboxSpec()) as sandbox:
        result = await sandbox.run(code, timeout=120)
    assert result.status == "ok", result.output
    outside = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.output == outside.stdout
    assert result.output.startswith("1.0\n")


async def test_workspace_lasts_between_steps(sandbox: Sandbox):
    await sandbox.run("open('a.txt', 'w').write('kept')", timeout=30)
    result = await sandbox.run("print(open('a.txt').read())", timeout=30)
    assert result.output == "kept\n"
    assert await sandbox.read("a.txt", max_bytes=10) == b"kept"


async def test_write_read_remove(sandbox: Sandbox):
    await sandbox.write("sub/dir/x.bin", b"\x00\xff" * 1000)
    assert await sandbox.read("sub/dir/x.bin", max_bytes=2000) == b"\x00\xff" * 1000
    result = await sandbox.run("print(len(open('sub/dir/x.bin', 'rb').read())); open('sub/dir/y', 'w')", timeout=30)
    assert result.output == "2000\n"
    await sandbox.remove("sub")
    await sandbox.remove("sub")
    with pytest.raises(FileNotFoundError, match=r"sub/dir/x\.bin"):
        await sandbox.read("sub/dir/x.bin", max_bytes=2000)
    await sandbox.run("import os; os.mkdir('name'); open('name/inner', 'w')", timeout=30)
    await sandbox.write("name", b"now a file")
    assert await sandbox.read("name", max_bytes=20) == b"now a file"


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", ".", "a\0b"])
async def test_paths_outside_are_refused(sandbox: Sandbox, path: str):
    with pytest.raises(ValueError, match="not a path inside"):
        await sandbox.read(path, max_bytes=10)


async def test_inputs_are_readable_and_read_only(sandbox: Sandbox, inputs: Path):
    result = await sandbox.run("print(open('input/train.csv').read(), open('input/deep/note.txt').read())", timeout=30)
    assert result.output == "id,y\n1,2\n deep\n\n"
    assert await sandbox.read("input/train.csv", max_bytes=100) == b"id,y\n1,2\n"
    await sandbox.run("open('input/train.csv', 'a').write('3,4')", timeout=30)
    assert (inputs / "train.csv").read_text() == "id,y\n1,2\n"


async def test_inputs_of_the_owner_alone(backend: LocalBackend, inputs: Path):
    (inputs / "train.csv").chmod(0o600)
    inputs.chmod(0o700)
    spec = SandboxSpec(inputs={"input": inputs, "one/file.csv": inputs / "train.csv"})
    async with await backend.create(spec) as sandbox:
        result = await sandbox.run("print(open('input/train.csv').read(), open('one/file.csv').read())", timeout=30)
    assert result.output == "id,y\n1,2\n id,y\n1,2\n\n"


async def test_timeout_keeps_output_and_the_sandbox(sandbox: Sandbox):
    started = time.monotonic()
    result = await sandbox.run("print('so far', flush=True)\nwhile True: pass", timeout=1.0)
    assert (result.status, result.output) == ("timeout", "so far\n")
    assert 1.0 <= result.wall_s < 5
    assert time.monotonic() - started < 10
    assert (await sandbox.run("print(2)", timeout=30)).output == "2\n"


async def test_cancelling_kills_the_step(sandbox: Sandbox):
    code = "import time\nopen('started', 'w').close()\ntime.sleep(3)\nopen('late', 'w').close()"
    task = asyncio.create_task(sandbox.run(code, timeout=60))
    await asyncio.sleep(1)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 2.5
    result = await sandbox.run("import os, time; time.sleep(2.5); print(os.path.exists('late'))", timeout=30)
    assert result.output == "False\n"


async def test_closing_twice_and_using_after(sandbox: Sandbox):
    await sandbox.aclose()
    await sandbox.aclose()
    with pytest.raises(InfraError, match="closed"):
        await sandbox.run("print(1)", timeout=5)


async def test_bad_timeouts(sandbox: Sandbox):
    for timeout in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="timeout"):
            await sandbox.run("print(1)", timeout=timeout)


async def test_concurrency_is_bounded(inputs: Path):
    backend = LocalBackend(concurrency=1, allow_unisolated=True)
    code = "import time; print(time.monotonic()); time.sleep(0.3); print(time.monotonic())"
    sandboxes = [await backend.create(SandboxSpec()) for _ in range(3)]
    try:
        results = await asyncio.gather(*(sandbox.run(code, timeout=30) for sandbox in sandboxes))
    finally:
        await asyncio.gather(*(sandbox.aclose() for sandbox in sandboxes))
    spans = sorted(tuple(map(float, result.output.split())) for result in results)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))


async def test_sandboxes_do_not_share(backend: LocalBackend):
    async with await backend.create(SandboxSpec()) as one, await backend.create(SandboxSpec()) as two:
        await one.run("open('x', 'w').write('1'); open('/tmp/x', 'w').write('1')", timeout=30)
        result = await two.run("import os; print(os.path.exists('x'))", timeout=30)
    assert result.output == "False\n"


def test_works_over_several_event_loops(backend: LocalBackend):
    async def once() -> str:
        async with await backend.create(SandboxSpec()) as sandbox:
            results = await asyncio.gather(*(sandbox.run("print(1)", timeout=30) for _ in range(3)))
        return "".join(result.output for result in results)

    assert [asyncio.run(once()) for _ in range(2)] == ["1\n1\n1\n"] * 2


async def test_bad_specs(backend: LocalBackend, inputs: Path):
    for bad, match in [
        ({"inputs": {"../up": inputs}}, "not a path inside"),
        ({"inputs": {"a": inputs, "a/b": inputs}}, "inside another input"),
        ({"inputs": {"a": inputs / "nothing"}}, "no such file"),
        ({"env": {"A=B": "1"}}, "A=B"),
    ]:
        with pytest.raises(BadInput, match=match):
            await backend.create(SandboxSpec(**bad))
    with pytest.raises(BadInput, match="concurrency"):
        LocalBackend(concurrency=0)


async def test_no_isolation_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(_probe, "candidates", lambda: ())
    backend = LocalBackend()
    with pytest.raises(EnvironmentProblem, match="--allow-unisolated"):
        await backend.create(SandboxSpec())


async def test_unisolated_folder_is_removed(monkeypatch, tmp_path: Path, inputs: Path, caplog):
    monkeypatch.setattr(_probe, "candidates", lambda: ())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    backend = LocalBackend(allow_unisolated=True)
    async with await backend.create(SandboxSpec(inputs={"input": inputs})) as sandbox:
        result = await sandbox.run("import os; print(os.path.abspath('x'), os.environ['HOME'])", timeout=30)
        assert result.tier == "D"
        assert result.output == "/workspace/x /tmp\n"
        assert list(tmp_path.glob("sandmle-*"))
    assert not list(tmp_path.glob("sandmle-*"))
    assert (inputs / "train.csv").read_text() == "id,y\n1,2\n"
    assert "without isolation" in caplog.text


async def test_unisolated_children_are_killed(unisolated: LocalBackend):
    code = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1)
        open("survived", "w").close()
        time.sleep(100)
    os._exit(0)
print("done", flush=True)
"""
    async with await unisolated.create(SandboxSpec()) as sandbox:
        result = await sandbox.run(code, timeout=30)
        assert (result.status, result.output) == ("ok", "done\n")
        later = await sandbox.run("import os, time; time.sleep(1.5); print(os.path.exists('survived'))", timeout=30)
    assert later.output == "False\n"


async def test_unusable_interpreter(tmp_path: Path):
    with pytest.raises(EnvironmentProblem, match="can't be run"):
        await LocalBackend(python=tmp_path / "python").create(SandboxSpec())


async def test_other_interpreter(isolated: str):
    backend = LocalBackend(python=Path(sys.executable).resolve())
    async with await backend.create(SandboxSpec()) as sandbox:
        result = await sandbox.run("import sys; print(sys.prefix == sys.base_prefix)", timeout=30)
    assert result.output == "True\n"


async def test_workspace_limit(backend: LocalBackend, isolated: str):
    spec = SandboxSpec(limits=SandboxLimits(workspace_mib=8))
    async with await backend.create(spec) as sandbox:
        result = await sandbox.run("open('big', 'wb').write(bytes(20 << 20))", timeout=30)
        assert "No space left" in result.output
        with pytest.raises(OSError, match="No space left"):
            await sandbox.write("more", bytes(9 << 20))
        await sandbox.remove("big")
        await sandbox.write("more", bytes(1 << 20))


def test_importing_is_cheap():
    code = "import sys, sandmle.sandboxes; print('numpy' in sys.modules, 'pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False False\n"


async def test_creating_that_is_cancelled_leaves_no_folder(unisolated: LocalBackend, monkeypatch, tmp_path: Path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for turns in range(0, 40, 3):
        making = asyncio.create_task(unisolated.create(SandboxSpec()))
        for _ in range(turns):
            await asyncio.sleep(0)
        making.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await making).aclose()
    assert list(tmp_path.iterdir()) == []
