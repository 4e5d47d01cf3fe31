"""Parts of short scripts, and how they are put together: a reader, features, a model, a writer.

Some parts are good ideas and some bad habits, in the proportions of somebody who is learning: what crashes, what reads
the wrong column, what ignores the features, what takes a row's number for one. Which is which depends on the task, and
nobody tells.

Vocabulary:
    recipe      the parts of one script but for its kind of prediction
    part        a few lines, by name; its weight says how often the mix takes it
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np

__all__ = ["KINDS", "SLOTS", "Kind", "Part", "Recipe", "compose", "draw", "right_writer"]

Kind = Literal["label", "probability", "class_probabilities", "number"]
"""What the mix can predict."""

KINDS: tuple[Kind, ...] = get_args(Kind)


class Part(NamedTuple):
    """Some lines of a script.

    Attributes:
        weight: how often the mix takes it, relative to the others of its slot.
        lines: as they stand in the script.
        needs: import lines.
        habit: a bad one, which no search for a good recipe considers.
    """

    weight: float
    lines: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    habit: bool = False


class Recipe(NamedTuple):
    """The name of a part in each slot."""

    target: str
    frame: str
    days: str
    words: str
    scale: str
    more: str
    model: str


_PAIRS = "from itertools import combinations"


def _pairs(weight: float, formula: str) -> Part:
    """A column for each two of the numbers."""
    made = f"p = pd.DataFrame({{i + j: {formula} for i, j in combinations(n, 2)}})"
    return Part(weight, (made, "x = pd.concat([x, p], axis=1)"), (_PAIRS,))


TARGET = {
    "last": Part(6, ("y = train[train.columns[-1]]",)),
    "sample": Part(3, ("y = train[out.columns[1]]",)),
    "guessed": Part(1, ('y = train["target"]',), habit=True),
}
FRAME = {
    "shared": Part(6, ("x = x[test.columns[1:]]",)),
    "with-id": Part(2, ("x = x[test.columns]",), habit=True),
    "row-number": Part(1.5, ("x = x[test.columns[1:]]", 'x["row"] = np.arange(len(x))'), habit=True),
    "with-target": Part(1, habit=True),
}
DAYS = {
    "none": Part(5),
    "weekday": Part(
        2,
        (
            'for d in x.columns[x.columns.str.endswith("_on")]:',
            "    x[d] = pd.to_datetime(x[d]).dt.dayofweek",
        ),
    ),
    "month": Part(
        2,
        (
            'for d in x.columns[x.columns.str.endswith("_on")]:',
            "    x[d] = pd.to_datetime(x[d]).dt.month",
        ),
    ),
}
WORDS = {
    "numbers-only": Part(4, ('x = x.select_dtypes("number")',)),
    "codes": Part(2, ('for c in x.select_dtypes(exclude="number"):', "    x[c] = pd.factorize(x[c])[0]")),
    "dummies": Part(3, ("x = pd.get_dummies(x, dtype=float)", "x = x.loc[:, x.columns.isin(n) | (x.sum().abs() > 5)]")),
    "untouched": Part(1.5, habit=True),
}
SCALE = {
    "filled": Part(4, ("x = x.fillna(x.median())",)),
    "standard": Part(3, ("x = ((x - x.mean()) / x.std()).fillna(0)",)),
    "log": Part(2, ("x[n] = np.log1p(x[n].clip(lower=0))", "x = ((x - x.mean()) / x.std()).fillna(0)")),
    "ranks": Part(2, ("x[n] = x[n].rank(pct=True) * 2 - 1", "x = x.fillna(0)")),
    "as-is": Part(2, habit=True),
}
MORE = {
    "none": Part(7),
    "squares": Part(1, ('x = pd.concat([x, (x[n] ** 2).add_suffix("2")], axis=1)',)),
    "products": _pairs(1.5, "x[i] * x[j]"),
    "signs": _pairs(1, "np.sign(x[i] * x[j])"),
    "sums": _pairs(1, "(x[i] + x[j]).abs()"),
    "gaps": _pairs(1, "(x[i] - x[j]).abs()"),
    "larger": _pairs(1, "np.maximum(x[i], x[j])"),
}


class _Model(NamedTuple):
    """A model for classes and one for numbers."""

    weight: float
    classes: str
    numbers: str
    needs: tuple[str, str]
    habit: bool = False


def _both(weight: float, module: str, classes: str, numbers: str, *, habit: bool = False) -> _Model:
    """Two models of one module."""
    names = [text.partition("(")[0] for text in (classes, numbers)]
    return _Model(
        weight,
        f"model = {classes}",
        f"model = {numbers}",
        (f"from {module} import {names[0]}", f"from {module} import {names[1]}"),
        habit,
    )


_ENSEMBLE = "sklearn.ensemble"
MODEL = {
    "dummy": _both(2, "sklearn.dummy", 'DummyClassifier(strategy="prior")', "DummyRegressor()", habit=True),
    "tree": _both(2, "sklearn.tree", "DecisionTreeClassifier()", "DecisionTreeRegressor()", habit=True),
    "neighbours": _both(2, "sklearn.neighbors", "KNeighborsClassifier()", "KNeighborsRegressor()"),
    "linear": _both(3, "sklearn.linear_model", "LogisticRegression(max_iter=500)", "Ridge()"),
    "shrunk": _both(1.5, "sklearn.linear_model", "LogisticRegression(C=0.1, max_iter=500)", "Ridge(alpha=30)"),
    "sparse": _both(
        1,
        "sklearn.linear_model",
        'LogisticRegression(C=0.3, penalty="l1", solver="liblinear")',
        "LassoCV()",
    ),
    "forest": _both(2, _ENSEMBLE, "RandomForestClassifier(50)", "RandomForestRegressor(50)"),
    "extra": _both(1, _ENSEMBLE, "ExtraTreesClassifier(50)", "ExtraTreesRegressor(50)"),
    "boosted": _both(1.5, _ENSEMBLE, "GradientBoostingClassifier()", "GradientBoostingRegressor()"),
    "slow-boosted": _both(
        1,
        _ENSEMBLE,
        "GradientBoostingClassifier(max_depth=2, subsample=0.5)",
        "GradientBoostingRegressor(max_depth=2, subsample=0.5)",
    ),
    "kernel": _both(1, "sklearn.svm", "SVC(probability=True)", "SVR(C=10)"),
    "plain": _Model(
        1.5,
        "model = Ridge()",
        "model = LogisticRegression(max_iter=500)",
        ("from sklearn.linear_model import Ridge", "from sklearn.linear_model import LogisticRegression"),
        habit=True,
    ),
}

SLOTS: Mapping[str, Mapping[str, Part | _Model]] = {
    "target": TARGET,
    "frame": FRAME,
    "days": DAYS,
    "words": WORDS,
    "scale": SCALE,
    "more": MORE,
    "model": MODEL,
}

_READ = (
    'train = pd.read_csv("input/train.csv")',
    'test = pd.read_csv("input/test.csv")',
    'out = pd.read_csv("input/sample_submission.csv")',
    "x = pd.concat([train, test], ignore_index=True)",
)
_TOLD = (
    'told = open("input/description.md").read().split("probability of `")[-1].split("`")[0]',
    "p = model.predict_proba(b)[:, list(model.classes_.astype(str)).index(told)]",
)
WRITERS: Mapping[str, Mapping[str, Part]] = {
    "number": {
        "predict": Part(6, ("out[out.columns[1]] = model.predict(b)",)),
        "classes": Part(1, ("out[out.columns[1]] = model.predict_proba(b)[:, 1]",), habit=True),
        "rounded": Part(1, ("out[out.columns[1]] = model.predict(b).round()",), habit=True),
    },
    "label": {
        "predict": Part(6, ("out[out.columns[1]] = model.predict(b)",)),
        "classes": Part(2, ("out[out.columns[1]] = model.predict_proba(b)[:, 1]",), habit=True),
    },
    "probability": {
        "told": Part(3, (*_TOLD, "out[out.columns[1]] = p")),
        "second": Part(4, ("out[out.columns[1]] = model.predict_proba(b)[:, 1]",)),
        "predict": Part(2, ("out[out.columns[1]] = model.predict(b)",), habit=True),
    },
    "class_probabilities": {
        "named": Part(
            4,
            (
                "p = pd.DataFrame(model.predict_proba(b), columns=model.classes_.astype(str))",
                "out[out.columns[1:]] = p[out.columns[1:]]",
            ),
        ),
        "in-order": Part(3, ("out[out.columns[1:]] = model.predict_proba(b)",)),
        "predict": Part(1.5, ("out[out.columns[1]] = model.predict(b)",), habit=True),
    },
}


def compose(recipe: Recipe, kind: Kind, writer: str) -> str:
    """A complete script.

    Args:
        recipe: its parts.
        kind: what is to be predicted, as the writer takes it.
        writer: one of ``WRITERS[kind]``.
    """
    model = MODEL[recipe.model]
    number = int(kind == "number")
    parts = [FRAME[recipe.frame], DAYS[recipe.days], WORDS[recipe.words], SCALE[recipe.scale], MORE[recipe.more]]
    needs = ["import numpy as np", "import pandas as pd", *(line for part in parts for line in part.needs)]
    lines = [
        *needs,
        model.needs[number],
        *_READ,
        *TARGET[recipe.target].lines,
        *(line for part in parts[:2] for line in part.lines),
        'n = x.select_dtypes("number").columns',
        *(line for part in parts[2:] for line in part.lines),
        "a, b = x[: len(train)], x[len(train) :]",
        model.numbers if number else model.classes,
        "model.fit(a, y)",
        *WRITERS[kind][writer].lines,
        'out.to_csv("submission.csv", index=False)',
        'print("written")',
    ]
    return "\n".join(lines) + "\n"


def right_writer(kind: Kind) -> str:
    """The writer that is right for every task that asks for ``kind``."""
    return next(iter(WRITERS[kind]))


def draw(rng: np.random.Generator, kind: Kind) -> tuple[Recipe, str]:
    """A recipe of the mix, and a writer for ``kind``."""
    picked = [_pick(rng, {name: part.weight for name, part in slot.items()}) for slot in SLOTS.values()]
    return Recipe(*picked), _pick(rng, {name: part.weight for name, part in WRITERS[kind].items()})


def _pick(rng: np.random.Generator, weights: Mapping[str, float]) -> str:
    names = list(weights)
    shares = np.array([weights[name] for name in names])
    return names[int(rng.choice(len(names), p=shares / shares.sum()))]
