"""How far the policy is from reference weights: estimates of KL(policy || reference) from sampled tokens.

With d the new minus the reference log-probability of a token that the policy sampled (Schulman 2020,
"Approximating KL divergence"):

    k1    d                    unbiased; as a loss its expected gradient is 0, so it is of use as a figure only
    k2    d^2 / 2              biased, small variance; its gradient is that of the divergence
    k3    exp(-d) - 1 + d      unbiased, never negative
    abs   |d|
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sandmle.rl._torch import Tensor
from sandmle.rl.losses.clip import LOG_RATIO_BOUND
from sandmle.rl.losses.settings import KlEstimator

__all__ = ["K3_BOUND", "kl_estimate"]

K3_BOUND = 10.0
"""Estimates of k3 are cut to this, as verl cuts them."""


def _k3(distance: Tensor) -> Tensor:
    back = (-distance).clamp(-LOG_RATIO_BOUND, LOG_RATIO_BOUND)
    return (back.exp() - 1 - back).clamp(max=K3_BOUND)


_ESTIMATES: Mapping[KlEstimator, Callable[[Tensor], Tensor]] = MappingProxyType(
    {
        "k1": lambda distance: distance,
        "k2": lambda distance: distance.square() / 2,
        "k3": _k3,
        "abs": lambda distance: distance.abs(),
    }
)


def kl_estimate(distance: Tensor, estimator: KlEstimator) -> Tensor:
    """The estimate of each token, in nats, from new minus reference log-probabilities."""
    return _ESTIMATES[estimator](distance)
