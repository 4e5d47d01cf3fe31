"""Losses of a policy, a file for each part; ``policy`` puts them together.

    settings      what a training config says of the loss; loads without PyTorch, as does this package
    policy        the loss of a micro-batch
    clip          PPO's clipped ratio, clip-higher, dual clip
    importance    truncated importance sampling between sampler and trainer
    kl            estimates of the divergence from reference weights
    aggregation   from the losses of tokens to one
    entropy       of the next token's distribution

All others need the extra ``train`` and say so where it is missing.
"""

from sandmle.rl.losses.settings import Aggregation, KlEstimator, LossSettings, SamplerCorrection

__all__ = ["Aggregation", "KlEstimator", "LossSettings", "SamplerCorrection"]
