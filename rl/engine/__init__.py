"""An engine in our own process: replies sampled in batches from the very weights that are trained.

    episodes ──sample()──▶ waiting ──admit──▶ Decoder: one cache for all ──step──▶ finished replies

Two ways to fill a batch:

- ``continuous``: a prompt joins as soon as it comes, a reply leaves as soon as it ends; nothing waits for the slowest.
- ``lockstep``: a batch starts when every episode that plays waits for a reply. What is computed together then depends
  on nothing but the episodes themselves, so on one thread a run can be repeated to the last bit.

``local`` and ``decoder`` need the extra ``train``; this package alone does not.
"""

from sandmle.rl.engine.batching import Batching

__all__ = ["Batching"]
