"""Attacks on the next step, or another sandbox's: poison in memory, on the disk, in what Python reads at its start."""

from __future__ import annotations

import pytest

from sandmle.sandboxes import LocalBackend, Sandbox, SandboxSpec

CHECK = """
import json, os, sys, numpy as np, pandas as pd, sklearn.metrics
from sklearn.linear_model import LogisticRegression
print(np.mean([1, 3]), sklearn.metrics.accuracy_score([0, 1], [1, 1]), json.dumps(sorted([2, 1])), 3 + 4)
print("/nowhere" in sys.path, "POISON" in os.environ, pd.get_option("display.max_rows"), LogisticRegression().C)
"""
CLEAN = "2.0 0.5 [1, 2] 7\nFalse False 60 1.0\n"

IN_MEMORY = {
    "numpy": "import numpy; numpy.mean = lambda *_: 'poisoned'",
    "sklearn": "import sklearn.metrics; sklearn.metrics.accuracy_score = lambda *_: 1.0",
    "a class": "import sklearn.linear_model as m; m.LogisticRegression.__init__ = lambda self: setattr(self, 'C', 9)",
    "builtins": "import builtins, json; json.dumps = builtins.sorted = None",
    "path": "import os, sys; sys.path.insert(0, '/nowhere'); os.environ['POISON'] = '1'; os.putenv('POISON', '1')",
    "options": "import pandas; pandas.set_option('display.max_rows', 1)",
    "a number": "import ctypes; ctypes.c_int32.from_address(id(7) + 24).value = 8",
    "modules": "import sys, types; sys.modules['numpy'] = types.ModuleType('numpy')",
    "import hooks": "import sys; sys.meta_path.insert(0, type('F', (), {'find_spec': staticmethod(print)}))",
    "random": "import os; os.register_at_fork(after_in_child=lambda: os._exit(3))",
}


@pytest.mark.parametrize("poison", IN_MEMORY.values(), ids=IN_MEMORY)
async def test_in_memory(backend: LocalBackend, poison: str):
    async with await backend.create(SandboxSpec()) as one, await backend.create(SandboxSpec()) as two:
        assert (await one.run(poison, timeout=60)).status in ("ok", "error")
        outputs = [(await sandbox.run(CHECK, timeout=60)).output for sandbox in (one, two)]
    async with await backend.create(SandboxSpec()) as three:
        outputs.append((await three.run(CHECK, timeout=60)).output)
    assert outputs == [CLEAN] * 3


@pytest.mark.parametrize(
    "target",
    [
        "os.path.dirname(numpy.__file__) + '/__init__.py'",
        "os.path.dirname(sklearn.__file__) + '/base.py'",
        "os.path.dirname(numpy.__file__) + '/__pycache__/x.pyc'",
        "site.getsitepackages()[0] + '/evil.pth'",
        "site.getsitepackages()[0] + '/sitecustomize.py'",
        "site.getsitepackages()[0] + '/usercustomize.py'",
        "os.path.dirname(os.__file__) + '/sitecustomize.py'",
        "sys.prefix + '/pyvenv.cfg'",
        "os.path.dirname(sys.executable) + '/python.pth'",
        "'/etc/ld.so.preload'",
        "'/etc/ld.so.cache'",
    ],
)
async def test_on_disk(outcomes, target: str):
    imports = "(os, sys, __import__('site'), __import__('numpy'), __import__('sklearn'))"
    attack = f"(lambda os, sys, site, numpy, sklearn: open({target}, 'a'))(*{imports})"
    assert (await outcomes(attack))[0] in ("EROFS", "EACCES", "EPERM")


PLANTED = {
    "sitecustomize": ("/workspace/sitecustomize.py", "print('POISONED')"),
    "usercustomize": ("/workspace/usercustomize.py", "print('POISONED')"),
    "user site": ("/tmp/.local/lib/python{version}/site-packages/evil.pth", "import sys; print('POISONED')"),
    "startup file": ("/tmp/.pythonstartup", "print('POISONED')"),
    "numpy": ("/workspace/numpy.py", "print('POISONED')"),
    "sklearn": ("/workspace/sklearn/__init__.py", "print('POISONED')"),
    "encodings": ("/workspace/encodings/__init__.py", "print('POISONED')"),
    "traceback": ("/workspace/traceback.py", "print('POISONED')"),
    "script": ("/workspace/step.py", "print('POISONED')"),
    "guest": ("/workspace/_guest/__init__.py", "print('POISONED')"),
    "guest elsewhere": ("/tmp/_guest/steps.py", "print('POISONED')"),
    "preload": ("/workspace/libc.so.6", "POISONED"),
}


@pytest.mark.parametrize("name", PLANTED)
async def test_planted_file(sandbox: Sandbox, name: str):
    path, text = PLANTED[name]
    plant = f"""
import os, sys
path = {path!r}.format(version=f"{{sys.version_info[0]}}.{{sys.version_info[1]}}")
os.makedirs(os.path.dirname(path), exist_ok=True)
open(path, "w").write({text!r})
os.environ.update(PYTHONSTARTUP=path, LD_PRELOAD=path, LD_LIBRARY_PATH="/workspace", PYTHONPATH="/tmp", BASH_ENV=path)
"""
    assert (await sandbox.run(plant, timeout=30)).status == "ok"
    assert (await sandbox.run(CHECK, timeout=60)).output == CLEAN
    broken = await sandbox.run("import os; print([k for k in os.environ if k.startswith('LD_')])\n1 / 0", timeout=30)
    assert "POISONED" not in broken.output
    assert broken.output.startswith("[]\nTraceback")


async def test_bytecode_of_the_workspace(sandbox: Sandbox):
    """Nobody but code itself writes or trusts __pycache__, so that a module that changes is read anew."""
    for number in range(2):
        await sandbox.write("mine.py", f"VALUE = {number}\n".encode())
        assert (await sandbox.run("import mine; print(mine.VALUE)", timeout=60)).output == f"{number}\n"
    assert (await sandbox.run("import os; print(os.path.exists('__pycache__'))", timeout=60)).output == "False\n"


async def test_replacing_the_script_while_it_runs(sandbox: Sandbox):
    code = "import os\ntry:\n    os.replace('/workspace/x', '/tmp/step.py')\nexcept OSError: print('refused')"
    await sandbox.write("x", b"print('POISONED')")
    assert (await sandbox.run(code, timeout=30)).output == "refused\n"
