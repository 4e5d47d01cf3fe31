"""Thresholds of real tasks: baselines that were really run, and the tiers that follow from their scores.

A real task has no hidden rule, so neither an informed baseline nor a Bayes score. In their stead stand

    dummy      the best constant
    ladder     generic rungs, which are styles of the frozen search's script: linear, trees, blend, search (64 ideas)
    reference  ``tuned``: what is known to work for the modality, chosen and blended by cross-validation on the training
               rows alone, on three seeds

Running them takes minutes, so their scores are published in ``measured.json``, by the hash of the data that they ran
on. Data of another hash (another version of the package that carries them) are measured anew where they are used.
"""

from sandmle.eval.acceptance import Baselines, Measured
from sandmle.eval.reference._measure import arguments, measure
from sandmle.eval.reference._record import MeasuredTasks, published
from sandmle.eval.reference._script import baseline_script

__all__ = ["Baselines", "Measured", "MeasuredTasks", "arguments", "baseline_script", "measure", "published"]
