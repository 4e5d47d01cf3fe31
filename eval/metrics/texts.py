"""Metrics of predicted texts.

Truth and prediction are numpy arrays of str, shape (n,), n >= 1, compared as they are: the grader has already taken
away the space around them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sandmle.eval.metrics._registry import Array, Metric, register
from sandmle.task import ProblemType

__all__ = ["Texts", "code_points", "edit_distances", "text_hits", "token_hits", "true_lengths", "true_tokens"]

Texts = NDArray[np.str_]
SEQ2SEQ: frozenset[ProblemType] = frozenset({"seq2seq"})


def text_hits(truth: Texts, prediction: Texts) -> Array:
    """1 where a row's text is exactly right, else 0."""
    return np.asarray(truth == prediction, dtype=np.float64)


def code_points(texts: Texts) -> NDArray[np.uint32]:
    """Unicode code points, shape (n, longest), 0 past the end of a text."""
    whole = np.ascontiguousarray(texts)
    return whole.view(np.uint32).reshape(len(whole), -1)


def edit_distances(truth: Texts, prediction: Texts) -> Array:
    """Levenshtein distance of each row: fewest insertions, deletions and substitutions of one character.

    Wagner & Fischer's table, one row of it at a time for 256 texts at once: within a row of the table, insertions are a
    running minimum. Texts of like length are taken together, so that one long text costs little.
    """
    true_lengths, lengths = np.char.str_len(truth), np.char.str_len(prediction)
    found = np.zeros(len(truth))
    order = np.lexsort((true_lengths, lengths))
    for start in range(0, len(order), 256):
        rows = order[start : start + 256]
        width, height = int(lengths[rows].max()), int(true_lengths[rows].max())
        true = code_points(truth[rows])[:, :height]
        predicted = code_points(prediction[rows])[:, :width]
        places = np.arange(width + 1, dtype=np.int32)
        table = np.tile(places, (len(rows), 1))
        for step in range(height):
            swapped = table[:, :-1] + (predicted != true[:, step : step + 1])
            best = table + 1
            np.minimum(best[:, 1:], swapped, out=best[:, 1:])
            best = np.minimum.accumulate(best - places, axis=1) + places
            table = np.where((true_lengths[rows] > step)[:, None], best, table)
        found[rows] = table[np.arange(len(rows)), lengths[rows]]
    return found


def true_lengths(truth: Texts, prediction: Texts) -> Array:
    """Characters of each true text."""
    return np.asarray(np.char.str_len(truth), dtype=np.float64)


def true_tokens(truth: Texts, prediction: Texts) -> Array:
    """Tokens of each true text, split at spaces."""
    return np.array([float(len(true.split())) for true in truth.tolist()])


def token_hits(truth: Texts, prediction: Texts) -> Array:
    """How many true tokens, split at spaces, the predicted text has at the same place."""
    return np.array(
        [
            float(sum(token == other for token, other in zip(true.split(), predicted.split(), strict=False)))
            for true, predicted in zip(truth.tolist(), prediction.tolist(), strict=True)
        ]
    )


register(
    Metric(
        name="character_error_rate",
        title="Character error rate",
        lower_is_better=True,
        prediction="text",
        problem_types=SEQ2SEQ,
        note="It is the number of single-character insertions, deletions and substitutions that turn the predicted into"
        " the true texts, over the number of characters of the true texts: 0 is perfect, and it may exceed 1.",
        units=edit_distances,
        weights=true_lengths,
        parts=(code_points,),
    )
)
register(
    Metric(
        name="edit_distance",
        title="Mean Levenshtein distance",
        lower_is_better=True,
        prediction="text",
        problem_types=SEQ2SEQ,
        note="It is the fewest single-character insertions, deletions and substitutions that turn the predicted into"
        " the true text, averaged over rows: 0 is perfect.",
        units=edit_distances,
        parts=(code_points,),
    )
)
register(
    Metric(
        name="exact_match",
        title="Exact match",
        lower_is_better=False,
        prediction="text",
        problem_types=SEQ2SEQ,
        note="It is the share of rows whose text equals the true one character for character, space around it aside;"
        " it lies between 0 and 1.",
        units=text_hits,
    )
)
register(
    Metric(
        name="token_accuracy",
        title="Token-wise agreement",
        lower_is_better=False,
        prediction="text",
        problem_types=SEQ2SEQ,
        note="Texts are split into tokens at spaces. It is the share of all true tokens for which the predicted text"
        " has the same token at the same place, between 0 and 1.",
        units=token_hits,
        weights=true_tokens,
    )
)
