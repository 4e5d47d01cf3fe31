"""The settings of a policy loss; they load without PyTorch, so that a config is judged before it is needed."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sandmle.record import Record

__all__ = ["Aggregation", "KlEstimator", "LossSettings", "SamplerCorrection"]

Aggregation = Literal["token-mean", "seq-mean-token-mean", "seq-mean-token-sum", "seq-mean-token-sum-norm"]
KlEstimator = Literal["k1", "k2", "k3", "abs"]
SamplerCorrection = Literal["none", "token", "sequence"]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class LossSettings(Record):
    """A policy loss. The defaults are the paper's where it tells them; docs/training.md holds every formula.

    Attributes:
        clip_low: where the advantage is negative, the ratio of new to old probability earns nothing below 1 - this.
        clip_high: where it is positive, nothing above 1 + this; more than ``clip_low`` is clip-higher.
        dual_clip: where it is negative, the ratio costs no more than at this value; None for no bound.
        aggregation: how the losses of tokens become one.
        horizon: what ``seq-mean-token-sum-norm`` divides by, in tokens; a constant, so that padding has no say.
        sampler_correction: importance weights between sampler and trainer: none, one a token, or one a row.
        sampler_cap: what they are truncated at.
        kl: the estimator of the penalty that holds the policy to reference weights; None for no penalty.
        kl_weight: of the penalty in the loss.
    """

    clip_low: Annotated[float, Field(gt=0, lt=1)] = 0.2
    clip_high: Positive = 0.28
    dual_clip: Annotated[float, Field(gt=1, allow_inf_nan=False)] | None = 3.0
    aggregation: Aggregation = "seq-mean-token-mean"
    horizon: Annotated[int, Field(ge=1)] | None = None
    sampler_correction: SamplerCorrection = "token"
    sampler_cap: Positive = 2.0
    kl: KlEstimator | None = None
    kl_weight: Positive = 0.001

    @model_validator(mode="after")
    def _horizon_where_it_is_used(self) -> Self:
        if (self.aggregation == "seq-mean-token-sum-norm") != (self.horizon is not None):
            raise ValueError("horizon: give it with the aggregation seq-mean-token-sum-norm, and with no other")
        return self
