"""A script is a fork of a warm interpreter: it must look like a Python just started."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandmle.sandboxes import LocalBackend, Sandbox, SandboxLimits, SandboxSpec
from sandmle.sandboxes._guest import SCRIPT
from sandmle.sandboxes._layout import base_environment, find_interpreter


@pytest.fixture(params=["best", "unisolated"])
async def sandbox(request, backend: LocalBackend, unisolated: LocalBackend) -> AsyncIterator[Sandbox]:
    async with await (unisolated if request.param == "unisolated" else backend).create(SandboxSpec()) as sandbox:
        yield sandbox


async def cold(folder: Path, code: str, *args: str) -> tuple[str, int]:
    """Output and status of ``python -P step.py`` in ``folder``, with its paths shown as a sandbox shows them."""
    (folder / "step.py").write_text(code)
    environment = base_environment(find_interpreter(None), workspace=str(folder), home=str(folder))
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        str(folder / "step.py"),
        *args,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    return output.decode().replace(str(folder / "step.py"), SCRIPT), process.returncode


ENDS = {
    "error in nested calls": "def f(x):\n    return 1 / x\n\ndef g():\n    return f(0)\n\ng()\n",
    "syntax error": "x = 1\ndef broken(:\n    pass\n",
    "indentation error": "if True:\nx = 1\n",
    "cause and context": """
try:
    try:
        {}["key"]
    except KeyError as error:
        raise ValueError("bad") from error
except ValueError:
    raise RuntimeError("while handling")
""",
    "group with notes": """
def fail(n):
    error = ValueError(n)
    error.add_note(f"note {n}")
    return error
raise ExceptionGroup("several", [fail(1), ExceptionGroup("inner", [fail(2)])])
""",
    "module that is not there": "import no_such_module_at_all\n",
    "error of a library": "import numpy as np\nnp.linalg.inv(np.zeros((2, 2)))\n",
    "error in a thread": """
import threading
def work():
    raise ValueError("in a thread")
thread = threading.Thread(target=work)
thread.start()
thread.join()
print("main goes on")
""",
    "hook": """
import sys
def hook(kind, value, trace):
    print("hooked", kind.__name__, value, trace.tb_lineno, trace.tb_next)
sys.excepthook = hook
raise ValueError(1)
""",
    "error in the hook": """
import sys
def hook(kind, value, trace):
    raise TypeError("hook failed")
sys.excepthook = hook
raise ValueError(1)
""",
    "exit in the hook": """
import sys
sys.excepthook = lambda *_: sys.exit(9)
raise ValueError(1)
""",
    "error at exit": "import atexit\natexit.register(lambda: 1 / 0)\nprint('end')\n",
    "error in a finalizer": "class A:\n    def __del__(self):\n        raise ValueError('del')\na = A()\ndel a\n",
    "exit without status": "raise SystemExit\n",
    "exit with text": "import sys\nprint('out')\nsys.exit('text for stderr')\n",
    "exit with none": "import sys\nsys.exit(None)\n",
    "exit with true": "import sys\nsys.exit(True)\n",
    "exit with a large number": "import sys\nsys.exit(259)\n",
    "exit with a negative number": "import sys\nsys.exit(-1)\n",
    "exit with a tuple": "import sys\nsys.exit((1, 2))\n",
    "interrupt": "raise KeyboardInterrupt\n",
    "no error": "print('fine')\n",
    "warning": "import warnings\nwarnings.warn('careful')\nwarnings.warn('deep', stacklevel=1)\n",
    "library warning": """
import numpy as np
from sklearn.linear_model import LogisticRegression
X = np.arange(20.0).reshape(10, 2) % 7
LogisticRegression(max_iter=1).fit(X, X[:, 0] > 3)
np.array([1.0]) / 0
""",
    "unwritable stdout": "import os\nos.close(1)\nprint('lost', flush=True)\n",
    "killed by a signal": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n",
    "aborted": "import os\nos.abort()\n",
}


def without_addresses(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", text)


@pytest.mark.parametrize("code", ENDS.values(), ids=ENDS)
async def test_ends_like_a_cold_python(sandbox: Sandbox, tmp_path: Path, code: str):
    expected, status = await cold(tmp_path, code)
    result = await sandbox.run(code, timeout=60)
    assert without_addresses(result.output) == without_addresses(expected)
    assert (result.exit_code, result.signal) == ((status, None) if status >= 0 else (None, -status))


LAST_RITES = """
import atexit, os, sys, threading, time
class Loud:
    def __init__(self, name):
        self.name = name
    def __del__(self):
        print("freed", self.name)
def late():
    time.sleep(0.2)
    print("thread ends")
kept, cycle = Loud("global"), Loud("cycle")
cycle.itself = cycle
atexit.register(print, "at exit 1")
atexit.register(print, "at exit 2")
threading.Thread(target=late).start()
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
forgotten = open("forgotten.txt", "w")
forgotten.write("written")
sys.holder = open("held.txt", "w")
sys.holder.write("held")
print("no newline", end="")
"""


async def test_threads_atexit_finalizers_and_files(sandbox: Sandbox, tmp_path: Path):
    expected, status = await cold(tmp_path, LAST_RITES)
    assert (expected.count("freed"), status) == (2, 0)
    result = await sandbox.run(LAST_RITES, timeout=60)
    assert result.output == expected
    for name in ("forgotten.txt", "held.txt"):
        assert await sandbox.read(name, max_bytes=100) == (tmp_path / name).read_bytes() != b""


ABOUT = """
import faulthandler, gc, inspect, locale, logging, os, signal, sys, tempfile, threading, time, traceback, warnings
import random, json
def stream(s):
    return [s.name, s.encoding, s.errors, s.line_buffering, s.write_through, s.fileno(), s.isatty(), s.mode]
handlers = {n.name: str(signal.getsignal(n)).split(" at ")[0] for n in signal.valid_signals() if hasattr(n, "name")}
facts = {
    "main": {k: str(v).split(" at ")[0] for k, v in sys.modules["__main__"].__dict__.items() if k.startswith("__")},
    "argv": sys.argv, "orig": sys.orig_argv, "flags": str(sys.flags), "executable": sys.executable,
    "path": [p for p in sys.path[1:] if p.startswith((sys.prefix, sys.base_prefix))],
    "streams": [stream(sys.stdin), stream(sys.stdout), stream(sys.stderr)],
    "signals": handlers, "limit": sys.getrecursionlimit(), "faulthandler": faulthandler.is_enabled(),
    "threads": [(t.name, t.daemon) for t in threading.enumerate()], "main thread": str(threading.main_thread().ident),
    "gc": [gc.isenabled(), gc.get_threshold()], "hash": hash("text"), "umask": os.umask(0o022),
    "here": os.getcwd() == os.path.realpath(os.environ["PYTHONPATH"]), "switch": sys.getswitchinterval(),
    "locale": locale.setlocale(locale.LC_ALL), "stdin": sys.stdin.read(), "env": sorted(os.environ),
    "ours": [name for name in sys.modules if "guest" in name], "dumped": sys.dont_write_bytecode,
    "logging": [logging.root.level, logging.root.handlers], "hooks": [sys.excepthook is sys.__excepthook__],
    "temporary": tempfile.gettempdir() == os.environ["TMPDIR"],
}
del facts["main thread"]
print(json.dumps(facts, indent=1))
"""


async def test_surroundings_are_those_of_a_cold_python(sandbox: Sandbox, tmp_path: Path):
    expected, status = await cold(tmp_path, ABOUT, "--one", "two words")
    assert status == 0, expected
    result = await sandbox.run(ABOUT, timeout=60, args=["--one", "two words"])
    assert result.output == expected


async def test_only_standard_descriptors_and_no_frame_of_ours(sandbox: Sandbox):
    code = """
import os, sys
listing = os.open("/proc/self/fd", os.O_RDONLY)
print(sorted(map(int, os.listdir(listing))) == [0, 1, 2, listing, listing + 1])
frame, files = sys._getframe(), []
while frame:
    files.append(frame.f_code.co_filename)
    frame = frame.f_back
print(files[1:])
"""
    assert (await sandbox.run(code, timeout=60)).output == "True\n['<stdin>']\n"


FORK_SAFETY = {
    "histogram boosting": (
        "from sklearn.ensemble import HistGradientBoostingClassifier as M\n"
        "print(M(max_iter=5).fit(X, y).score(X, y) > 0.8)"
    ),
    "k-means": "from sklearn.cluster import KMeans\nprint(len(KMeans(3, n_init=2).fit(X).cluster_centers_) == 3)",
    "threaded forest": (
        "from sklearn.ensemble import RandomForestClassifier as M\nprint(M(20, n_jobs=2).fit(X, y).score(X, y) > 0.8)"
    ),
    "lightgbm": (
        "import lightgbm\nm = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=2, verbosity=-1).fit(X, y)\n"
        "print(m.score(X.copy(), y) > 0.8)"
    ),
    "forked pool": (
        "import multiprocessing as mp\n"
        "with mp.get_context('fork').Pool(2) as p: print(p.map(abs, range(3)) == [0, 1, 2])"
    ),
    "spawned pool": (
        "import multiprocessing as mp\n"
        "def double(x): return 2 * x\n"
        "if __name__ == '__main__':\n"
        "    with mp.get_context('spawn').Pool(1) as p: print(p.map(double, range(3)) == [0, 2, 4])"
    ),
    "process executor": (
        "from concurrent.futures import ProcessPoolExecutor as E\n"
        "with E(2) as e: print(list(e.map(abs, [-1, 2])) == [1, 2])"
    ),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor as E\n"
        "with E(4) as e: print(sum(e.map(lambda i: float((X @ X.T)[i, i] > 0), range(8))) == 8)"
    ),
    "more OpenMP threads": (
        "from threadpoolctl import threadpool_limits\n"
        "from sklearn.cluster import KMeans\n"
        "with threadpool_limits(3): print(KMeans(3, n_init=2).fit(X).inertia_ > 0)"
    ),
    "linear algebra": "print(abs(np.linalg.inv(X.T @ X) @ (X.T @ X) - np.eye(4)).max() < 1e-9)",
    "subprocess": (
        "import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-c', 'print(7)']) == b'7\\n')"
    ),
    "asyncio": "import asyncio\nprint(asyncio.run(asyncio.sleep(0, True)))",
}


@pytest.mark.parametrize("code", FORK_SAFETY.values(), ids=FORK_SAFETY)
async def test_libraries_survive_the_forks(sandbox: Sandbox, code: str):
    data = "import numpy as np\nX = np.random.default_rng(0).normal(size=(400, 4)); y = X[:, 0] > 0\n"
    result = await sandbox.run(data + code, timeout=120)
    assert (result.status, result.output) == ("ok", "True\n"), result.output


async def test_random_streams_differ_unless_seeded(backend: LocalBackend, tmp_path: Path):
    draw = "print(random.random(), np.random.rand(), np.random.default_rng().random(), random.SystemRandom().random())"
    libraries = "import random, numpy as np, sklearn.model_selection as m\n"
    split = "\nprint(m.train_test_split(list(range(1000)))[0][:5], next(tempfile._get_candidate_names()))"
    async with await backend.create(SandboxSpec()) as one, await backend.create(SandboxSpec()) as two:
        free = [
            (await sandbox.run(libraries + "import tempfile\n" + draw + split, timeout=60)).output
            for sandbox in (one, one, two)
        ]
        columns = list(zip(*(output.split() for output in free), strict=True))
        assert all(len(set(column)) == 3 for column in columns[:4])
        assert len({output.splitlines()[1] for output in free}) == 3
        seeded = libraries + "random.seed(1); np.random.seed(1)\nprint(random.random(), np.random.rand())"
        again = {(await sandbox.run(seeded, timeout=60)).output for sandbox in (one, one, two)}
    assert again == {(await cold(tmp_path, seeded))[0]}


async def test_modules_of_the_workspace_are_read_anew(sandbox: Sandbox):
    for number in range(2):
        await sandbox.write("mine.py", f"VALUE = {number}\n".encode())
        assert (await sandbox.run("import mine; print(mine.VALUE)", timeout=60)).output == f"{number}\n"


async def test_classes_of_the_script_can_be_pickled_and_inspected(sandbox: Sandbox):
    code = """
import inspect, pickle
class Thing:
    def method(self):
        return 1
print(pickle.loads(pickle.dumps(Thing())).method(), inspect.getsource(Thing).count("method"))
"""
    assert (await sandbox.run(code, timeout=60)).output == "1 1\n"


async def test_memory_limit_leaves_the_room_it_names(backend: LocalBackend):
    async with await backend.create(SandboxSpec(limits=SandboxLimits(memory_mib=600))) as sandbox:
        fits = await sandbox.run("import numpy as np; print(np.ones(300 << 17).sum() > 0)", timeout=60)
        assert fits.output == "True\n"
        assert 300 < fits.peak_mib < 600
        refused = await sandbox.run("import numpy as np; np.ones(650 << 17)", timeout=60)
        assert "MemoryError" in refused.output


async def test_imports_cost_next_to_nothing(backend: LocalBackend, tmp_path: Path, record_property):
    code = "import numpy, pandas, sklearn.linear_model"
    async with await backend.create(SandboxSpec()) as sandbox:
        steps = [await sandbox.run(code, timeout=60) for _ in range(3)]
    started = time.perf_counter()
    assert await cold(tmp_path, code) == ("", 0)
    ratio = (time.perf_counter() - started) / min(step.wall_s for step in steps)
    record_property("cold over warm", ratio)
    print(f"cold / warm step that imports: {ratio:.0f}")
    assert {step.status for step in steps} == {"ok"}
    assert min(step.wall_s for step in steps) < 1
