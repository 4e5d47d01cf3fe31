# ruff: noqa: PTH123, TID251
"""The libraries of the images, and what is done once in the zygote so that no step has to."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import io
import re
import sys
import warnings

from . import linux

__all__ = ["IMAGES", "load", "pause_openmp"]

_OPENMP = re.compile(r"/lib[gi]?omp[^/]*\.so")
_HARD = 2  # omp_pause_hard of OpenMP 5.0

IMAGES = {
    "base": (
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
}
"""The modules that each image imports; one that can't be imported is left to the code that wants it."""


def load(image: str) -> None:
    """Import and prime the libraries of ``image``, then settle memory and threads for forking."""
    if sys.platform == "linux":  # elsewhere the system's own libraries do not survive a fork
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for library in IMAGES[image]:
                _import(library)
            with contextlib.suppress(Exception):
                _prime()
        pause_openmp()
    gc.collect()
    gc.freeze()
    if sys.platform == "linux":
        linux.gather_pages()


def pause_openmp() -> None:
    """End the threads of every OpenMP library: a forked child would wait for them forever."""
    with open("/proc/self/maps") as stream:
        loaded = {line.split(maxsplit=5)[5].strip() for line in stream if _OPENMP.search(line)}
    for path in loaded:
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(path).omp_pause_resource_all(_HARD)


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
    table = pd.read_csv(io.StringIO(table.to_csv(index=False)))
    features, labels = table[["a", "b", "c"]], table["y"]
    columns = make_column_transformer((StandardScaler(), ["a", "b"]), (OneHotEncoder(), ["c"]))
    cross_val_score(make_pipeline(columns, LogisticRegression()), features, labels, cv=2)
    for model in (RandomForestClassifier(2), HistGradientBoostingClassifier(max_iter=2)):
        model.fit(values, labels).predict(values)
    if "lightgbm" in sys.modules:
        model = sys.modules["lightgbm"].LGBMClassifier(n_estimators=2, n_jobs=1, verbosity=-1)
        model.fit(values, labels).predict(values.copy())
