"""The Bayes prediction of every link and metric: no change of it raises the expected score.

A link's template is rendered and run by itself on normal signals; the labels are drawn several times over the same
signals, so that differences of scores are known to their standard error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from sandmle.agents.procedural._render import POINTS, _environment
from sandmle.agents.procedural.problems import METRICS, QUANTILES, RANKED, Link
from sandmle.agents.procedural.rules import NOISE
from sandmle.eval.metrics import Array, get_metric

ROWS, REDRAWS = 3000, 6
LABELS: dict[str, tuple[str, ...]] = {
    "binary": ("no", "yes"),
    "multiclass": ("a", "b", "c", "d"),
    "multilabel": ("p", "q", "r", "s"),
    "ordinal": ("low", "fair", "good", "top"),
    "relevance": ("0", "1", "2", "3"),
}
SHARES: dict[str, tuple[float, ...]] = {
    "binary": (0.27,),
    "multilabel": (0.2, 0.5, 0.35, 0.25),
    "ordinal": (0.35, 0.3, 0.2, 0.15),
    "relevance": (0.5, 0.25, 0.15, 0.1),
}
LINKS: tuple[Link, ...] = ("binary", "multiclass", "multilabel", "ordinal", "gaussian", "lognormal", "relevance")
CASES = [
    (link, metric, 0.0) for link in LINKS for metric in (*METRICS[link], *(RANKED if link == "multiclass" else ()))
]
CASES += [("binary", "mcc", 0.1), ("multiclass", "macro_f1", 0.1), ("multilabel", "jaccard", 0.1)]
Z = 3.5


class Rule:
    """What a link's template reads of a rule."""

    def __init__(self, link: Link) -> None:
        self.center, self.spread, self.shares = 40.0, 0.3 if link == "lognormal" else 8.0, SHARES.get(link, ())


def run_link(link: Link, metric: str, noise: float, label_noise: float) -> dict[str, Any]:
    from statistics import NormalDist

    quantile = QUANTILES.get(metric)
    classes = list(LABELS.get(link, ()))
    text = (
        _environment()
        .get_template(f"generate/links/{link}.py.j2")
        .render(
            rule=Rule(link),
            metric=metric,
            kind=get_metric(metric).prediction,
            classes=classes,
            top=RANKED.get(metric),
            quantile=quantile,
            normal_quantile=NormalDist().inv_cdf(quantile) if quantile else 0.0,
            normal_quantiles=[NormalDist().inv_cdf((k + 0.5) / POINTS) for k in range(POINTS)],
            label_noise=label_noise,
        )
    )
    space = {"np": np, "pd": pd, "NOISE": noise, "POPULATION_SEED": 1, "CLASSES": classes, "TARGET": "target"}
    exec(compile(text, link, "exec"), space)  # the template's own code
    return space


def encode(values: Any, link: Link, kind: str) -> Array:
    """Labels or best predictions as the metric takes them."""
    names = list(LABELS.get(link, ()))
    if isinstance(values, pd.DataFrame):
        values = values.to_numpy() if "target" not in values else values["target"].to_numpy()
        if kind == "ranked_labels":
            return np.array([[names.index(name) for name in cell.split()] for cell in values], dtype=float)
    if link == "multilabel" and np.ndim(values) == 1:
        return np.array([[name in cell.split() for name in names] for cell in values], dtype=float)
    if link == "relevance" or not names or np.asarray(values).dtype.kind == "f":
        return np.asarray(values, dtype=float)
    if np.ndim(values) == 2:
        return np.asarray(values, dtype=float)
    if isinstance(values[0], float):
        return np.asarray(values, dtype=float)
    return np.array([names.index(name) for name in values], dtype=float)


def moved_labels(best: Array, n_classes: int, rng: np.random.Generator) -> dict[str, Array]:
    some = rng.random(len(best)) < 0.03
    out = {f"some become {k}": np.where(some, float(k), best) for k in range(n_classes)}
    out["up"] = np.where(some, np.minimum(best + 1, n_classes - 1), best)
    out["down"] = np.where(some, np.maximum(best - 1, 0), best)
    return out


def moved(best: Array, kind: str, n_classes: int, rng: np.random.Generator) -> dict[str, Array]:
    """Predictions near the best one, from the whole of what a competitor may do to it."""
    match kind:
        case "label":
            return moved_labels(best, n_classes, rng)
        case "label_set":
            flips = rng.random(best.shape) < 0.03
            return {
                "more": np.where(flips, 1.0, best),
                "fewer": np.where(flips, 0.0, best),
                "other": np.where(flips, 1.0 - best, best),
            }
        case "ranked_labels":
            return {"swapped": best[:, [1, 0, *range(2, best.shape[1])]]}
        case "number" | "relevance":
            spread, center = best.std(), best.mean()
            return {
                "up": best + 0.03 * spread,
                "down": best - 0.03 * spread,
                "wider": center + 1.04 * (best - center),
                "narrower": center + 0.96 * (best - center),
                "bent": best + 0.05 * spread * np.sin(3 * (best - center) / spread),
                "noise": best + 0.2 * spread * rng.standard_normal(len(best)),
            }
        case _:
            odds = np.log(np.clip(best, 1e-9, 1) / np.clip(1 - best, 1e-9, 1))
            near = {"sharper": 1.08 * odds, "flatter": 0.92 * odds, "up": odds + 0.05, "down": odds - 0.05}
            near["noise"] = odds + 0.4 * rng.standard_normal(odds.shape)
            found = {name: 1 / (1 + np.exp(-value)) for name, value in near.items()}
            if kind == "class_probabilities":
                return {name: value / value.sum(axis=1, keepdims=True) for name, value in found.items()}
            return found


@pytest.mark.parametrize(("link", "name", "label_noise"), CASES, ids=lambda value: str(value))
def test_no_change_of_the_bayes_prediction_raises_the_expected_score(link: Link, name: str, label_noise: float) -> None:
    metric, rng = get_metric(name), np.random.default_rng(7)
    space = run_link(link, name, NOISE[link][1], label_noise)
    count = {"multiclass": 2, "multilabel": len(LABELS["multilabel"])}.get(link, 1)
    signal, population = rng.standard_normal((ROWS, count)), rng.standard_normal((20_000, count))
    groups = np.repeat(np.arange(ROWS // 10), 10).astype(float)
    truths, bests = [], []
    for seed in range(REDRAWS):
        labels, best, _ = space["label"](np.random.default_rng(seed), signal, population)
        truth = encode(labels, link, metric.prediction)
        truths.append(np.column_stack([truth, groups]) if link == "relevance" else truth)
        bests.append(encode(best, link, metric.prediction))
    assert all(np.array_equal(best, bests[0]) for best in bests)
    sign = -1.0 if metric.lower_is_better else 1.0
    own = np.array([sign * metric.score(truth, bests[0]) for truth in truths])
    for change, prediction in moved(bests[0], metric.prediction, len(LABELS.get(link, ())), rng).items():
        gain = np.array([sign * metric.score(truth, prediction) for truth in truths]) - own
        error = gain.std(ddof=1) / np.sqrt(REDRAWS)
        assert gain.mean() <= Z * error + 1e-4 * abs(own.mean()), (change, gain.mean(), error)


@pytest.mark.parametrize(("link", "name"), [("ordinal", "quadratic_kappa"), ("multiclass", "macro_f1")])
def test_iterated_predictions_beat_the_likeliest_class(link: Link, name: str) -> None:
    """With unequal classes the plain choice is worse: the iterations do find something."""
    rng = np.random.default_rng(3)
    space = run_link(link, name, 0.6, 0.0)
    chance = rng.dirichlet([4.0, 2.0, 1.0, 0.5], 20_000)
    truth = (rng.random((len(chance), 1)) > np.cumsum(chance, axis=1)).sum(axis=1).clip(max=3).astype(float)
    found = space["best_levels" if link == "ordinal" else "best_classes"](chance).astype(float)
    metric = get_metric(name)
    assert metric.score(truth, found) > metric.score(truth, chance.argmax(axis=1).astype(float)) + 0.005


def test_sets_are_the_best_of_all_sets() -> None:
    """Against the expectation computed by hand for two labels: P(a) = 0.4, P(b) = 0.35, independent."""
    space = run_link("multilabel", "jaccard", 0.2, 0.0)
    space["CLASSES"][:] = ["a", "b"]
    found = space["best_sets"](np.array([[0.4, 0.35], [0.9, 0.5]]))
    # none: 0.6 * 0.65 = 0.39; {a}: 0.4 * 0.65 + 0.4 * 0.35 / 2 = 0.33; {a, b}: (0.26 + 0.21) / 2 + 0.14 = 0.375
    assert found.tolist() == [[False, False], [True, True]]
