"""Labels, blocks, splits and identifiers of a task in the forms that the leak probes share."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sandmle.eval.acceptance._evidence import Evidence
from sandmle.eval.acceptance._identifiers import identifier_features
from sandmle.eval.acceptance._labels import blocks_of, outcome, read_target
from sandmle.eval.acceptance._nulls import Splits
from sandmle.eval.metrics import Array, Values

__all__ = ["draw_splits", "id_features", "label_blocks", "label_outcome"]

Blocks = NDArray[np.int64]


def id_features(evidence: Evidence) -> Array:
    """Identifier features of train, then test."""
    name = evidence.submission.id_column
    return identifier_features(pd.concat([evidence.train[name], evidence.test[name]], ignore_index=True))


def label_outcome(evidence: Evidence) -> Array:
    """Outcome columns of train, then test; shape (n_train + n_test, m)."""
    return outcome(_both_labels(evidence), evidence.submission)


def label_blocks(evidence: Evidence, *, apart: bool) -> Blocks:
    """Rows of train, then test, whose labels may change places: by group; ``apart`` also by train and test."""
    blocks = blocks_of(_both_labels(evidence), evidence.submission)
    return 2 * blocks + (np.arange(len(blocks)) >= len(evidence.train)) if apart else blocks


def draw_splits(evidence: Evidence, draw: np.random.Generator) -> Splits:
    """Random splits of all rows into train and test, groups kept whole."""
    labels = _both_labels(evidence)
    grouped = evidence.kind == "relevance"
    units = labels[:, 1].astype(np.int64) if grouped else np.arange(len(labels))
    return Splits.draw(units, len(evidence.train), draw)


def _both_labels(evidence: Evidence) -> Values:
    """Labels in truth form of train, then test; groups of test are numbered after those of train."""
    train, test = read_target(evidence.train, evidence.target, evidence.submission), evidence.truth
    if evidence.kind == "relevance":
        numbers = np.unique(test[:, 1], return_inverse=True)[1] + train[:, 1].max() + 1
        test = np.column_stack([test[:, 0], numbers])
    return np.concatenate([train, test])
