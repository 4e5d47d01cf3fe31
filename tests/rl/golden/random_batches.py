"""Random batches for the oracle: ragged rows with holes in their masks, groups of ragged rollouts, and random settings.

A batch is a dict of arrays. Numbers are multiples of 1/1024, so that they are exact in the committed file, where all
batches are joined end to end as int16.

    sizes                           rows, width, groups of the batch
    group, masked                   of each row; every group has at least two rows that are not masked
    turns                           of each row, 1 to 4
    turn_rewards                    (rows, 4), 0 after the last turn
    mask                            (rows, width); some rows are all padding
    new, old, sampler, reference    (rows, width), log-probabilities
    advantages                      (rows, width)
    numbers                         clip_low, clip_high, dual_clip, sampler_cap, kl_weight
    choices                         index of aggregation, correction and KL estimator (4: none); horizon
"""

from __future__ import annotations

from typing import get_args

import numpy as np

from sandmle.rl.losses import Aggregation, KlEstimator, LossSettings, SamplerCorrection

UNIT = 1024
TURNS = 4
AGGREGATIONS, CORRECTIONS, ESTIMATORS = get_args(Aggregation), get_args(SamplerCorrection), get_args(KlEstimator)
TOKEN_ARRAYS = ("new", "old", "sampler", "reference", "advantages")
ROW_ARRAYS = ("group", "masked", "turns")


def draw(seed):
    rng = np.random.default_rng(seed)
    groups = int(rng.integers(1, 3))
    group = np.repeat(np.arange(groups), rng.integers(2, 4, groups))
    rows, width = len(group), int(rng.integers(1, 7))
    turns = rng.integers(1, TURNS + 1, rows)
    lengths = rng.integers(0, width + 1, rows)
    lengths[0] = width
    mask = (np.arange(width) < lengths[:, None]) & (rng.random((rows, width)) < 0.8)
    mask[0, 0] = True
    masked = np.zeros(rows, dtype=bool)
    for each in range(groups):
        there = np.flatnonzero(group == each)
        masked[there[2:]] = rng.random(len(there) - 2) < 0.5
    new = -rng.exponential(1.5, (rows, width))
    spread = rng.choice([0.01, 0.3, 1.5])
    near = {name: np.minimum(new + rng.normal(0, spread, new.shape), 0) for name in ("old", "sampler", "reference")}
    return {
        "sizes": np.array([rows, width, groups]),
        "group": group,
        "masked": masked,
        "turns": turns,
        "turn_rewards": units(rng.integers(0, 8, (rows, TURNS)) / 16 * (np.arange(TURNS) < turns[:, None])),
        "mask": mask,
        "new": units(new),
        **{name: units(values) for name, values in near.items()},
        "advantages": units(rng.normal(0, 1, (rows, width))),
        "numbers": units(rng.uniform([0.1, 0.1, 1.2, 1.0, 0.01], [0.4, 0.6, 4.0, 3.0, 1.0])),
        "choices": np.array([rng.integers(4), rng.integers(3), rng.integers(5), rng.integers(1, 9)]),
    }


def units(values):
    return np.round(np.asarray(values) * UNIT) / UNIT


def loss_settings(batch):
    aggregation, correction, kl, horizon = (int(choice) for choice in batch["choices"])
    low, high, dual, cap, weight = (float(number) for number in batch["numbers"])
    return LossSettings(
        clip_low=low,
        clip_high=high,
        dual_clip=dual,
        aggregation=AGGREGATIONS[aggregation],
        horizon=horizon if AGGREGATIONS[aggregation] == "seq-mean-token-sum-norm" else None,
        sampler_correction=CORRECTIONS[correction],
        sampler_cap=cap,
        kl=ESTIMATORS[kl] if kl < len(ESTIMATORS) else None,
        kl_weight=weight,
    )


def join(batches):
    """All batches as flat arrays."""
    joined = {"sizes": np.stack([batch["sizes"] for batch in batches]).astype(np.int8)}
    for name in (*ROW_ARRAYS, "mask"):
        joined[name] = np.concatenate([batch[name].ravel() for batch in batches]).astype(np.int8)
    for name in (*TOKEN_ARRAYS, "turn_rewards"):
        joined[name] = np.concatenate([batch[name].ravel() * UNIT for batch in batches]).astype(np.int16)
    joined["numbers"] = np.stack([batch["numbers"] * UNIT for batch in batches]).astype(np.int16)
    joined["choices"] = np.stack([batch["choices"] for batch in batches]).astype(np.int8)
    return joined


def split(joined):
    """The inverse of ``join``."""
    row = token = 0
    for index, sizes in enumerate(joined["sizes"]):
        rows, width, _ = map(int, sizes)
        of_rows, of_tokens = slice(row, row + rows), slice(token, token + rows * width)
        row, token = of_rows.stop, of_tokens.stop
        turn_rewards = joined["turn_rewards"][of_rows.start * TURNS : of_rows.stop * TURNS]
        yield {
            "sizes": sizes,
            "group": joined["group"][of_rows],
            "masked": joined["masked"][of_rows].astype(bool),
            "turns": joined["turns"][of_rows],
            "turn_rewards": turn_rewards.reshape(rows, TURNS) / UNIT,
            "mask": joined["mask"][of_tokens].reshape(rows, width).astype(bool),
            **{name: joined[name][of_tokens].reshape(rows, width) / UNIT for name in TOKEN_ARRAYS},
            "numbers": joined["numbers"][index] / UNIT,
            "choices": joined["choices"][index],
        }
