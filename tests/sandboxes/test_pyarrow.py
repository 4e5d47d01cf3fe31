"""pandas imports pyarrow wherever it is installed: the warm interpreter must stay as easy to fork as without it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sandmle.sandboxes import LocalBackend, SandboxSpec
from sandmle.sandboxes._layout import base_environment, find_interpreter

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

THREADS = "import os, pandas, pyarrow; pandas.Series(['a']).str.upper(); print(len(os.listdir('/proc/self/task')))"
TABLES = """
import io, pandas as pd, pyarrow as pa, pyarrow.parquet as pq
table = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
table.to_parquet("table.parquet")
print(pd.read_parquet("table.parquet").equals(table), pq.read_table("table.parquet").num_rows)
print(pa.array(range(100_000)).cast(pa.float64()).sum().as_py(), pa.table(table).group_by("a").aggregate([]).num_rows)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
def test_loading_it_starts_no_thread():
    environment = base_environment(find_interpreter(None), workspace="/tmp", home="/tmp")
    ran = subprocess.run([sys.executable, "-P", "-c", THREADS], capture_output=True, text=True, env=environment)
    assert (ran.stdout, ran.stderr) == ("1\n", "")


async def test_a_step_uses_it_as_a_cold_python_would(backend: LocalBackend):
    async with await backend.create(SandboxSpec()) as sandbox:
        for _ in range(2):
            result = await sandbox.run(TABLES, timeout=60)
            assert (result.status, result.output) == ("ok", "True 2\n4999950000.0 2\n")
