"""The code that is timed."""

from __future__ import annotations

__all__ = ["BOMB", "CELLS", "SCRIPTS", "SPIN", "TORCH"]

TYPICAL = """
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

table = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 5)), columns=list("abcde"))
labels = table["a"] + table["b"] > 0
train, test, train_labels, test_labels = train_test_split(table, labels, random_state=0)
print(LogisticRegression().fit(train, train_labels).score(test, test_labels))
"""
SCRIPTS = {"typical": TYPICAL, "empty": "pass\n"}
TORCH = """
import torch

model = torch.nn.Linear(4, 1)
loss = model(torch.ones(8, 4)).square().mean()
loss.backward()
print(float(model.weight.grad.sum()) != 0)
"""

_DATA = """
import numpy as np
X = np.random.default_rng(0).normal(size=(20_000, 20))
y = X[:, 0] * X[:, 1] > 0
"""
_FITS = (
    "import lightgbm\na = lightgbm.LGBMClassifier(n_jobs=1, verbosity=-1).fit(X, y)",
    "import sklearn.ensemble\nb = sklearn.ensemble.HistGradientBoostingClassifier().fit(X, y)",
    "c = sklearn.ensemble.RandomForestClassifier(n_jobs=1).fit(X, y)",
    "import sklearn.linear_model\nd = sklearn.linear_model.LogisticRegression().fit(X, y)",
    "p = a.predict_proba(X)",
    "q = b.predict_proba(X)",
    "r = c.predict_proba(X)",
)
CELLS = (_DATA, *_FITS)
"""Eight cells of an ordinary notebook: data, three ensembles and a line with their default settings, predictions."""

SPIN = "while True: pass\n"
BOMB = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
