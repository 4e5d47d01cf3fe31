"""Running scripts: how they end, what they are given, and what their end leaves behind."""

from __future__ import annotations

import asyncio
import math
import time

from sandmle.errors import InfraError
from sandmle.sandboxes._protocol import SandboxBackend
from sandmle.sandboxes.contract._check import CheckFailure, check, expect, refused, script, step

__all__: list[str] = []

_SLACK_S = 15.0
"""How much longer than its limit a step may take in a check: enough for a service far away, not for a hang."""


@check()
async def ok(backend: SandboxBackend) -> None:
    """A script that ends well is ``ok`` with exit code 0, and stdout and stderr come in order."""
    async with script(backend) as sandbox:
        result = await step(sandbox, "import sys\nprint('hello')\nprint('there', file=sys.stderr)", "hello\nthere\n")
        expect((result.exit_code, result.signal) == (0, None), f"exit code {result.exit_code}, signal {result.signal}")
        expect(result.total_bytes == 12, f"12 bytes were written, total_bytes is {result.total_bytes}")


@check()
async def usage(backend: SandboxBackend) -> None:
    """A result tells wall and CPU seconds and peak memory, and the tier that the backend claims."""
    async with script(backend) as sandbox:
        work = "end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
        code = f"import time\nkept = b'x' * (200 << 20)\n{work}"
        result = await step(sandbox, code)
        expect(result.wall_s >= 0.3, f"0.3 s of work, but wall_s is {result.wall_s}")
        expect(0.25 <= result.cpu_s <= 20, f"0.3 s of work, but cpu_s is {result.cpu_s}")
        expect(200 <= result.peak_mib <= 2000, f"200 MiB were in use, but peak_mib is {result.peak_mib}")
        expect(result.tier == backend.capabilities.tier, f"ran in tier {result.tier}, not {backend.capabilities.tier}")
        expect(result.state == "none", f"a script has no variables to keep, but state is {result.state}")


@check()
async def traceback(backend: SandboxBackend) -> None:
    """An uncaught exception is ``error`` with exit code 1, and its traceback names the script and no place of ours."""
    async with script(backend) as sandbox:
        result = await sandbox.run("x = 1\nprint(x / 0)", timeout=30)
        expect((result.status, result.exit_code) == ("error", 1), f"got {result.status}, exit code {result.exit_code}")
        start = 'Traceback (most recent call last):\n  File "/tmp/step.py", line 2, in <module>\n'
        expect(result.output.startswith(start), f"the traceback starts {result.output[:120]!r}")
        expect(result.output.endswith("ZeroDivisionError: division by zero\n"), f"it ends {result.output[-80:]!r}")


@check()
async def ends(backend: SandboxBackend) -> None:
    """Exit codes and fatal signals are told apart."""
    cases = [
        ("import sys; sys.exit(3)", "error", 3, None),
        ("import os; os._exit(7)", "error", 7, None),
        ("raise SystemExit('bye')", "error", 1, None),
        ("def broken(:", "error", 1, None),
        ("import ctypes; ctypes.string_at(0)", "error", None, 11),
        ("import os; os.abort()", "error", None, 6),
        ("import os; os.kill(os.getpid(), 9)", "killed", None, 9),
    ]
    async with script(backend) as sandbox:
        for code, *expected in cases:
            result = await sandbox.run(code, timeout=30)
            found = [result.status, result.exit_code, result.signal]
            expect(found == expected, f"{code}: expected {expected}, got {found}")


@check()
async def arguments(backend: SandboxBackend) -> None:
    """Arguments arrive as they are, stdin is empty, and the script is ``__main__``."""
    async with script(backend) as sandbox:
        code = "import sys\nif __name__ == '__main__':\n    print(sys.argv[1:], repr(sys.stdin.read()))"
        result = await sandbox.run(code, timeout=30, args=["--seed", "1", "a b", "'\"$HOME`é"])
        expected = f"{['--seed', '1', 'a b', chr(39) + chr(34) + '$HOME`é']} ''\n"
        expect(result.output == expected, f"expected {expected!r}, got {result.output!r}")


@check()
async def bad_requests(backend: SandboxBackend) -> None:
    """A timeout that is not positive, and an argument with a NUL, are refused."""
    async with script(backend) as sandbox:
        for timeout in (0, -1, math.nan):
            await refused(sandbox.run("print(1)", timeout=timeout), ValueError, f"timeout {timeout}")
        await refused(sandbox.run("print(1)", timeout=5, args=["a\0b"]), ValueError, "an argument with a NUL")


@check()
async def place(backend: SandboxBackend) -> None:
    """Scripts start in ``/workspace``, import its modules, and see no file of ours there."""
    async with script(backend) as sandbox:
        await sandbox.write("mine.py", b"VALUE = 41\n")
        code = "import os, mine\nprint(os.getcwd(), mine.VALUE + 1, sorted(os.listdir()), os.path.abspath('x'))"
        await step(sandbox, code, "/workspace 42 ['mine.py'] /workspace/x\n")


@check()
async def scripts_are_separate(backend: SandboxBackend) -> None:
    """A script finds the files of the one before, and nothing else of it."""
    async with script(backend) as sandbox:
        await step(sandbox, "import os\nopen('kept', 'w').write('1')\nx = 1\nos.environ['LEFT'] = '1'")
        await step(
            sandbox, "import os\nprint(open('kept').read(), 'x' in globals(), 'LEFT' in os.environ)", "1 False False\n"
        )


@check()
async def timeout(backend: SandboxBackend) -> None:
    """A step that is too slow is killed in time and keeps what it printed, and the next step works."""
    async with script(backend) as sandbox:
        started = time.monotonic()
        result = await sandbox.run("print('so far', flush=True)\nwhile True: pass", timeout=1.0)
        took = time.monotonic() - started
        expect(result.status == "timeout", f"expected timeout, got {result.status}")
        expect(result.output == "so far\n", f"the output before the timeout is {result.output!r}")
        expect(1.0 <= result.wall_s <= 1.0 + _SLACK_S, f"limit 1 s, wall_s {result.wall_s}")
        expect(took <= 1.0 + _SLACK_S, f"limit 1 s, but it took {took:.1f} s")
        await step(sandbox, "print(2)", "2\n")


@check()
async def whole_tree_ends(backend: SandboxBackend) -> None:
    """Nothing that a step started outlives it, though it leaves the session and holds the output open."""
    code = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        while True:
            time.sleep(0.2)
            open("/workspace/beat" if os.path.isdir("/workspace") else "beat", "a").write(".")
    os._exit(0)
print("done", flush=True)
{}
"""
    count = "import os, time\ndef size(): return os.path.getsize('beat') if os.path.exists('beat') else 0\n"
    count += "before = size()\ntime.sleep(0.8)\nprint(size() - before)"
    async with script(backend) as sandbox:
        for rest, timeout, status in (("", 30.0, "ok"), ("time.sleep(60)", 1.0, "timeout")):
            result = await sandbox.run(code.format(rest), timeout=timeout)
            expect((result.status, result.output) == (status, "done\n"), f"got {result.status}: {result.output!r}")
            expect(result.wall_s < _SLACK_S, f"the step took {result.wall_s:.1f} s")
            await step(sandbox, count, "0\n")


@check()
async def cancelling(backend: SandboxBackend) -> None:
    """A step whose ``run`` is cancelled is killed before that returns, and the sandbox can be used again."""
    code = "import time\nopen('started', 'w').close()\ntime.sleep(3)\nopen('late', 'w').close()"
    async with script(backend) as sandbox:
        task = asyncio.create_task(sandbox.run(code, timeout=60))
        await asyncio.sleep(1.5)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass
        else:
            raise CheckFailure("a cancelled run returned a result")
        await step(sandbox, "import os, time\ntime.sleep(2)\nprint(os.path.exists('late'))", "False\n")


@check()
async def closing(backend: SandboxBackend) -> None:
    """A sandbox may be closed twice, and used no more after."""
    async with script(backend) as sandbox:
        await sandbox.aclose()
        await sandbox.aclose()
        await refused(sandbox.run("print(1)", timeout=5), InfraError, "a step in a closed sandbox")
        await refused(sandbox.read("x", max_bytes=5), InfraError, "reading from a closed sandbox")


@check()
async def libraries(backend: SandboxBackend) -> None:
    """The image ``base`` has numpy, pandas and scikit-learn, and they work."""
    code = """
import numpy as np, pandas as pd
from sklearn.linear_model import LogisticRegression
X = np.arange(40.0).reshape(20, 2)
y = X[:, 0] > 20
print(LogisticRegression().fit(X, y).score(X, y), pd.Series([1, 2]).sum())
"""
    async with script(backend) as sandbox:
        await step(sandbox, code, "1.0 3\n", timeout=120)
