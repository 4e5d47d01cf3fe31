"""Libraries with threads, and random generators, in children of processes that have used them.

The zygote is such a parent of every step, a cell's process of the next cell and of every fork, and a script of what it
forks itself. Where torch is not installed for the tests' own interpreter, SANDMLE_TEST_TORCH_PYTHON may name another.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import venv
from pathlib import Path

import pytest

from sandmle.errors import EnvironmentProblem
from sandmle.sandboxes import LocalBackend, Sandbox, SandboxLimits, SandboxSpec

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere libraries are not loaded before the fork")

TORCH_PYTHON = os.environ.get("SANDMLE_TEST_TORCH_PYTHON", sys.executable)
HAS_TORCH = "SANDMLE_TEST_TORCH_PYTHON" in os.environ or importlib.util.find_spec("torch") is not None
HAS_ARROW = importlib.util.find_spec("pyarrow") is not None
torch_only = pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")

DATA = "import numpy as np\nX = np.random.default_rng(0).normal(size=(2000, 4)); y = X[:, 0] > 0\n"
USES = {
    "lightgbm": (
        "import lightgbm\nm = lightgbm.LGBMClassifier(n_estimators=5, n_jobs=2, verbosity=-1).fit(X, y)\n"
        "good = bool(m.score(X.copy(), y) > 0.8)"
    ),
    "histogram boosting": (
        "from sklearn.ensemble import HistGradientBoostingClassifier as M\n"
        "good = M(max_iter=5).fit(X, y).score(X, y) > 0.8"
    ),
    "k-means": "from sklearn.cluster import KMeans\ngood = len(KMeans(3, n_init=2).fit(X).cluster_centers_) == 3",
    "threaded forest": (
        "from sklearn.ensemble import RandomForestClassifier as M\ngood = M(20, n_jobs=2).fit(X, y).score(X, y) > 0.8"
    ),
    "loky": "from joblib import Parallel, delayed\ngood = Parallel(2)(delayed(abs)(i) for i in (-1, 2)) == [1, 2]",
    "linear algebra": "good = bool(abs(np.linalg.inv(X.T @ X) @ (X.T @ X) - np.eye(4)).max() < 1e-9)",
}
if HAS_ARROW:
    USES["pyarrow"] = (
        "import pyarrow as pa, pyarrow.compute, pyarrow.parquet as pq\n"
        "table = pa.table({'x': X[:, 0]}); pq.write_table(table, 'x.parquet')\n"
        "good = pa.compute.sum(pq.read_table('x.parquet', use_threads=True)['x']).as_py() != 0"
    )
TORCH = {
    "backward": (
        "import torch\nm = torch.nn.Linear(4, 1); o = torch.optim.Adam(m.parameters())\n"
        "for _ in range(3):\n"
        "    o.zero_grad(); (m(torch.rand(512, 4)) ** 2).mean().backward(); o.step()\n"
        "good = all(p.grad is not None for p in m.parameters())"
    ),
    "matrix product": "import torch\na = torch.rand(400, 400)\ngood = bool((a @ a).sum() > 0)",
    "loader with workers": (
        "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        "data = DataLoader(TensorDataset(torch.arange(8.0)), batch_size=4, num_workers=2)\n"
        "good = sum(float(batch.sum()) for batch, in data) == 28"
    ),
}
CASES = [("base", name, use) for name, use in USES.items()]
CASES += [pytest.param("torch", name, use, marks=torch_only) for name, use in TORCH.items()]
CASES = [case if isinstance(case, type(pytest.param())) else pytest.param(*case) for case in CASES]
IDS = [str(case.values[1]) for case in CASES]
FORKED_CASES = [pytest.param(*case.values, marks=case.marks, id=name) for case, name in zip(CASES, IDS, strict=True)]
del FORKED_CASES[IDS.index("loky")]  # whose pool survives no fork of a script's own, in a sandbox or out of it

FORKED = """
import os
pid = os.fork()
if pid == 0:
    good = False
    try:
        work()
    finally:
        os._exit(0 if good else 1)
print(good, os.waitpid(pid, 0)[1])
"""


@pytest.fixture(scope="module")
def torch_backend() -> LocalBackend:
    return LocalBackend(concurrency=2, allow_unisolated=True, python=Path(TORCH_PYTHON))


def spec(image: str, *, stateful: bool = False) -> SandboxSpec:
    return SandboxSpec(image=image, stateful=stateful, limits=SandboxLimits(cpus=2))  # type: ignore[arg-type]


@pytest.mark.parametrize(("image", "name", "use"), FORKED_CASES)
async def test_script_and_what_it_forks(
    backend: LocalBackend, torch_backend: LocalBackend, image: str, name: str, use: str
):
    chosen = torch_backend if image == "torch" else backend
    indented = "".join(f"    {line}\n" for line in use.splitlines())
    code = f"{DATA}good = False\ndef work():\n    global good\n{indented}\nwork()\n{FORKED}"
    async with await chosen.create(spec(image)) as sandbox:
        result = await sandbox.run(code, timeout=120)
    assert (result.status, result.output) == ("ok", "True 0\n"), (name, result.output)


@pytest.mark.parametrize(("image", "name", "use"), CASES, ids=IDS)
async def test_cells_and_their_forks(
    backend: LocalBackend, torch_backend: LocalBackend, image: str, name: str, use: str
):
    chosen = torch_backend if image == "torch" else backend
    async with await chosen.create(spec(image, stateful=True)) as sandbox:
        sandboxes: list[Sandbox] = [sandbox]
        try:
            for _ in range(2):
                assert (await sandbox.run(f"{DATA}{use}\ngood", timeout=120)).output == "True\n", name
            sandboxes += await sandbox.fork(2)
            for one in sandboxes:
                result = await one.run(f"{use}\ngood", timeout=120)
                assert (result.status, result.output) == ("ok", "True\n"), (name, result.output)
        finally:
            for child in sandboxes[1:]:
                await child.aclose()


DRAW = "print(random.random(), np.random.rand(), random.SystemRandom().random())"
DRAW_TORCH = DRAW + "\nprint(float(torch.rand(1)), torch.nn.Linear(1, 1).weight.item())"
SEED = "random.seed(3); np.random.seed(3)\n"
SEED_TORCH = SEED + "torch.manual_seed(3)\n"
STREAMS = [
    pytest.param("base", "import random, numpy as np\n", DRAW, SEED),
    pytest.param("torch", "import random, torch, numpy as np\n", DRAW_TORCH, SEED_TORCH, marks=torch_only),
]


@pytest.mark.parametrize(("image", "libraries", "draw", "seed"), STREAMS, ids=["base", "torch"])
async def test_streams_of_steps_differ_unless_seeded(
    backend: LocalBackend, torch_backend: LocalBackend, image: str, libraries: str, draw: str, seed: str
):
    chosen = torch_backend if image == "torch" else backend
    async with await chosen.create(spec(image)) as one, await chosen.create(spec(image)) as two:
        free = [(await sandbox.run(libraries + draw, timeout=60)).output.split() for sandbox in (one, one, two)]
        seeded = [
            (await sandbox.run(libraries + seed + draw, timeout=60)).output.split() for sandbox in (one, one, two)
        ]
    assert all(len(set(column)) == 3 for column in zip(*free, strict=True))
    columns = list(zip(*seeded, strict=True))
    assert [len(set(column)) for column in columns] == [1, 1, 3, *([1] * (len(columns) - 3))]


@pytest.mark.parametrize(("image", "libraries", "draw", "seed"), STREAMS, ids=["base", "torch"])
async def test_streams_of_forks_differ_and_repeat_under_one_seed(
    backend: LocalBackend, torch_backend: LocalBackend, image: str, libraries: str, draw: str, seed: str
):
    chosen = torch_backend if image == "torch" else backend
    if chosen.capabilities.fork != "process":
        pytest.skip("forks are made by replay here")
    rounds = []
    for _ in range(2):
        async with await chosen.create(spec(image, stateful=True)) as sandbox:
            await sandbox.run(libraries + seed, timeout=60)
            children = await sandbox.fork(2)
            found = [(await one.run(draw, timeout=60)).output.split() for one in (sandbox, *children)]
            for child in children:
                await child.aclose()
        for row in found:
            del row[2]  # of the system
        assert all(len(set(column)) == 3 for column in zip(*found, strict=True)), found
        rounds.append(found)
    assert rounds[0] == rounds[1]


@torch_only
async def test_torch_step_imports_and_leaves_for_next_to_nothing(torch_backend: LocalBackend):
    code = "import torch\no = torch.optim.Adam([torch.nn.Parameter(torch.rand(2))])\no.step()"
    async with await torch_backend.create(spec("torch")) as sandbox:
        results = [await sandbox.run(code, timeout=60) for _ in range(5)]
    assert {result.status for result in results} == {"ok"}
    assert min(result.wall_s for result in results) < 1, "cold, it takes several seconds"


@torch_only
async def test_exit_handlers_of_code_still_run(torch_backend: LocalBackend):
    code = """
import atexit, logging, os, tempfile, weakref
class Thing: pass
thing = Thing()
weakref.finalize(thing, print, "finalized")
atexit.register(print, "exited")
folder = tempfile.TemporaryDirectory()
print(os.path.isdir(folder.name))
"""
    async with await torch_backend.create(spec("torch")) as sandbox:
        result = await sandbox.run(code, timeout=60)
    assert sorted(result.output.splitlines())[:3] == ["True", "exited", "finalized"], result.output


async def test_image_without_its_library_is_refused(tmp_path: Path):
    venv.create(tmp_path / "bare", symlinks=True)
    async with LocalBackend(allow_unisolated=True, python=tmp_path / "bare" / "bin" / "python") as backend:
        with pytest.raises(EnvironmentProblem, match="image torch: torch is not installed"):
            await backend.create(SandboxSpec(image="torch"))
        async with await backend.create(SandboxSpec()) as sandbox:
            assert (await sandbox.run("print(1)", timeout=60)).output == "1\n"
