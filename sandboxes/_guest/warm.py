# ruff: noqa: PTH123, TID251
"""The libraries of the images, and what is done once in the zygote so that no step has to."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import operator
import os
import re
import sys
import warnings
import weakref

from . import heap, linux

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["IMAGES", "load", "pause_openmp", "set_threads"]

_OPENMP = re.compile(r"/lib[gi]?omp[^/]*\.so")
_HARD = 2  # omp_pause_hard of OpenMP 5.0
_openmp: dict[str, Any] = {}
_EXIT_HANDLERS = (
    ("logging", "shutdown"),
    ("weakref", "finalize._exitfunc"),
    ("multiprocessing.util", "_exit_function"),
    ("torch.utils.data._utils", "_set_python_exit_flag"),
)
"""What code may rely on at its end, in the order of registration."""

_BASE = (
    "numpy",
    "pandas",
    "sklearn.cluster",
    "sklearn.compose",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "sklearn.metrics",
    "sklearn.model_selection",
    "sklearn.neighbors",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.svm",
    "lightgbm",
)
IMAGES = {"base": _BASE, "torch": (*_BASE, "torch", "torch.nn.functional", "torch.optim", "torch.utils.data")}
"""The modules that each image imports; one that can't be imported is left to the code that wants it."""


def load(image: str) -> None:
    """Import and prime the libraries of ``image``, then settle memory and threads for forking."""
    if sys.platform == "linux":  # elsewhere the system's own libraries do not survive a fork
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for library in IMAGES[image]:
                _import(library)
            for prime in (_prime, _prime_torch):
                with contextlib.suppress(Exception):
                    prime()
        _find_openmp()
        _pause_known()
        os.register_at_fork(before=_pause_known)
        _forget_exit_handlers()
    gc.collect()
    gc.freeze()
    if sys.platform == "linux":
        try:
            heap.move_to_file()
        except OSError:
            linux.gather_pages()


def pause_openmp() -> None:
    """End the threads of every OpenMP library: a forked child would wait for them forever."""
    with contextlib.suppress(OSError):
        if len(os.listdir("/proc/self/task")) == 1:  # noqa: PTH208
            return
    _find_openmp()
    _pause_known()


def set_threads(count: int) -> None:
    """Let the libraries that are loaded use so many threads."""
    with contextlib.suppress(Exception):
        sys.modules["threadpoolctl"].threadpool_limits(count)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(count)


def _find_openmp() -> None:
    with contextlib.suppress(OSError), open("/proc/self/maps") as stream:
        loaded = {line.split(maxsplit=5)[5].strip() for line in stream if _OPENMP.search(line)}
        for path in loaded - _openmp.keys():
            with contextlib.suppress(OSError):
                _openmp[path] = ctypes.CDLL(path)


def _pause_known() -> None:
    for library in _openmp.values():
        with contextlib.suppress(AttributeError):
            library.omp_pause_resource_all(_HARD)


def _forget_exit_handlers() -> None:
    """Unregister what libraries do at exit, such as reports of their caches, but for what matters to code.

    Finalizers that they have made are called at exit too: torch's alone, which forget its operators, take 80 ms.
    """
    atexit._clear()
    for module, name in _EXIT_HANDLERS:
        if module in sys.modules:
            with contextlib.suppress(AttributeError):
                atexit.register(operator.attrgetter(name)(sys.modules[module]))
    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        finalizer.atexit = False


def _import(library: str) -> None:
    """Import a library; if it can't be, forget its parts, so that code that wants it sees the same error."""
    try:
        importlib.import_module(library)
    except Exception:  # noqa: BLE001 - whatever it is, it is the code's that imports it
        top = library.partition(".")[0]
        for name in [name for name in sys.modules if name == top or name.startswith(f"{top}.")]:
            if top not in sys.modules:
                del sys.modules[name]


def _prime() -> None:
    """Fit small models once, which makes the libraries do what they put off until first use."""
    import multiprocessing.heap
    import multiprocessing.synchronize  # noqa: F401 - tier C must find both loaded, to change them

    import numpy as np
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    values = np.random.default_rng(0).normal(size=(40, 2))
    table = pd.DataFrame(values, columns=["a", "b"]).assign(c="x", y=values[:, 0] > 0)
    descriptor = os.memfd_create("table")
    table.to_csv(f"/proc/self/fd/{descriptor}", index=False)
    table = pd.read_csv(f"/proc/self/fd/{descriptor}")
    os.close(descriptor)
    features, labels = table[["a", "b", "c"]], table["y"]
    columns = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["c"]))
    cross_val_score(make_pipeline(columns, LogisticRegression()), features, labels, cv=2)
    for model in (RandomForestClassifier(2), HistGradientBoostingClassifier(max_iter=2)):
        model.fit(values, labels).predict(values)
    if "lightgbm" in sys.modules:
        model = sys.modules["lightgbm"].LGBMClassifier(n_estimators=2, n_jobs=1, verbosity=-1)
        model.fit(values, labels).predict(values.copy())


def _prime_torch() -> None:
    """Have torch import what it puts off: the first step of an optimizer needs half of its compiler.

    A torch for GPUs must not compute in the zygote: it would look for GPUs, of which the zygote is shown none, and its
    forks would never find any. So there a child computes, and the zygote imports what the child has imported.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if torch.version.cuda is None and torch.version.hip is None:
        _train_network()
        return
    for name in _imported_by(_train_network):
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def _train_network() -> None:
    torch, data = sys.modules["torch"], sys.modules["torch.utils.data"]
    nn = torch.nn
    values = torch.linspace(-1, 1, 64).reshape(16, 4)
    pairs = data.TensorDataset(values, (values[:, 0] > 0).long())
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Dropout(), nn.Linear(8, 2))
    for optimizer in (torch.optim.Adam(model.parameters()), torch.optim.SGD(model.parameters(), lr=0.1)):
        for batch, labels in data.DataLoader(pairs, batch_size=8, shuffle=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(batch), labels).backward()
            optimizer.step()
    with torch.no_grad():
        model.eval()(values).softmax(1).numpy()


def _imported_by(work: Callable[[], None]) -> list[str]:
    """The names of the modules that ``work`` imports, found out in a child, in order."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        before = set(sys.modules)
        with contextlib.suppress(BaseException), os.fdopen(writer, "w") as stream:
            work()
            stream.write("\n".join(name for name in sys.modules if name not in before))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        names = stream.read().split()
    os.waitpid(pid, 0)
    return names
