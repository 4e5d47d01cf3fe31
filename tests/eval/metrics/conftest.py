"""Random valid inputs of every kind of prediction."""

import numpy as np
import pytest

K, PIXELS, TOP = 4, 12, 5
WORDS = ("a", "ab", "Ärger", "7", "b")


def draw_prediction(metric, seed, n):
    """``(truth, prediction)`` of ``n`` rows; every class and label occurs if n is large."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 2 if metric.problem_types == {"binary"} else K, n).astype(float)
    match metric.prediction:
        case "label":
            return classes, rng.permutation(classes)
        case "probability":
            return rng.integers(0, 2, n).astype(float), rng.integers(0, 11, n) / 10
        case "class_probabilities":
            return classes, rng.random((n, K)) + 1e-3
        case "label_probabilities":
            return rng.integers(0, 2, (n, K)).astype(float), rng.integers(0, 11, (n, K)) / 10
        case "label_set":
            return rng.integers(0, 2, (n, K)).astype(float), rng.integers(0, 2, (n, K)).astype(float)
        case "ranked_labels":
            ranked = np.array([rng.permutation(7)[:TOP] for _ in range(n)], dtype=float)
            ranked[np.arange(TOP) >= rng.integers(1, TOP + 1, n)[:, None]] = -1
            return rng.integers(0, 7, n).astype(float), ranked
        case "relevance":
            groups = rng.integers(0, max(n // 8, 1), n)
            return np.column_stack([rng.integers(0, 4, n), groups]).astype(float), rng.integers(0, 6, n) / 5
        case "number":
            return rng.gamma(2, size=n) + 0.1, rng.gamma(2, size=n)
        case "text":
            return _texts(rng, n), _texts(rng, n)
        case "mask":
            return rng.integers(0, 2, (n, PIXELS)).astype(float), rng.integers(0, 2, (n, PIXELS)).astype(float)


def _texts(rng, n):
    return np.array([" ".join(rng.choice(WORDS, rng.integers(0, 5))) for _ in range(n)], dtype=np.str_)


def perfect_prediction(metric, truth):
    """What scores best."""
    match metric.prediction:
        case "class_probabilities":
            return np.eye(K)[truth.astype(int)]
        case "ranked_labels":
            return np.column_stack([truth, np.full((len(truth), TOP - 1), -1.0)])
        case "relevance":
            return truth[:, 0]
        case _:
            return truth


@pytest.fixture(scope="session")
def draw():
    return lambda metric, seed=0, n=200: draw_prediction(metric, seed, n)


@pytest.fixture(scope="session")
def perfect():
    return perfect_prediction
