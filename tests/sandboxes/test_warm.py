"""What the zygote prepares once: libraries that can't be loaded, what they put off until first use, threads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandmle.sandboxes import LocalBackend, SandboxSpec, _guest
from sandmle.sandboxes._layout import base_environment, find_interpreter

GUEST_PARENT = Path(_guest.__file__).resolve().parents[1]


UNLOADABLE = """
import sys
sys.path[:0] = sys.argv[1:]
from _guest import warm
warm.IMAGES["base"] = ("broken", "absent", "json.tool")
warm.load("base")
print([name for name in sys.modules if name.startswith(("broken", "absent", "json.tool"))])
"""


def test_library_that_cannot_be_loaded_is_left_out(tmp_path: Path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "part.py").touch()
    (tmp_path / "broken" / "__init__.py").write_text(
        "import broken.part\nraise OSError('libgomp.so.1: no such file')\n"
    )
    command = [sys.executable, "-P", "-c", UNLOADABLE, str(GUEST_PARENT), str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "['json.tool']\n"


PARALLEL = """
import os, sys
sys.path.insert(0, sys.argv[1])
from _guest import warm
import numpy as np
from sklearn.cluster import KMeans  # which, unlike boosting, starts no threads of Python's beside those of OpenMP
def fit():
    X = np.random.default_rng(0).normal(size=(2000, 4))
    return KMeans(2, n_init=1).fit(X)
fit()
before = len(os.listdir("/proc/self/task"))
warm.pause_openmp()
after = len(os.listdir("/proc/self/task"))
pid = os.fork()
if pid == 0:
    fit()
    os._exit(0)
os.waitpid(pid, 0)
print(before, after)
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core starts no OpenMP threads")
def test_openmp_threads_are_ended_before_forks():
    environment = base_environment(find_interpreter(None), workspace="/tmp", home="/tmp", cpus=2)
    environment["OPENBLAS_NUM_THREADS"] = "1"
    command = [sys.executable, "-P", "-c", PARALLEL, str(GUEST_PARENT)]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert outcome.stdout == "2 1\n", outcome.stderr


USUAL = """
import sys
before = set(sys.modules)
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
table = pd.DataFrame({"a": range(30), "b": ["x", "y"] * 15})
table.to_csv("table.csv", index=False)
features = pd.get_dummies(pd.read_csv("table.csv"))
for model in (LogisticRegression(), HistGradientBoostingClassifier(max_iter=2)):
    model.fit(features, features["a"] > 9).predict_proba(features)
print(sorted(set(sys.modules) - before))
"""


async def test_usual_script_imports_nothing_that_the_zygote_has_not(backend: LocalBackend):
    async with await backend.create(SandboxSpec()) as sandbox:
        result = await sandbox.run(USUAL, timeout=60)
    assert result.output == "[]\n"
