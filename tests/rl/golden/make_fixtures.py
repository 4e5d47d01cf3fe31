"""Write verl.npz: random batches, and what verl makes of them.

    pip download --no-deps verl==0.9.1 -d SOMEWHERE && unzip SOMEWHERE/verl-*.whl -d SOMEWHERE
    OMP_NUM_THREADS=1 python tests/rl/golden/make_fixtures.py SOMEWHERE/verl

Answers are float64 rounded to 1e-9, and nan where a batch has none, as the divergence of a loss without penalty.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import random_batches
import verl_oracle

BATCHES = 1000
TARGET = Path(__file__).with_name("verl.npz")
FLAT = ("grpo_sample", "grpo_none", "rloo", "step_wise", "gradient")
NUMBERS = ("loss", "policy_loss", "kl", "update_kl", "clipped", "dual_clipped", "entropy")
SAMPLER_NUMBERS = ("sampler_kl", "sampler_kl_k3", "sampler_weight")


def main(folder):
    version = Path(folder, "version", "version").read_text(encoding="utf-8").strip()
    if version != verl_oracle.VERSION:
        raise SystemExit(f"{folder} is verl {version}; the fixtures are of {verl_oracle.VERSION}")
    verl = verl_oracle.load(folder)
    batches = [random_batches.draw([7, index]) for index in range(BATCHES)]
    answers = [verl_oracle.answer(verl, batch) for batch in batches]
    flat = {f"verl_{name}": np.concatenate([answer[name].ravel() for answer in answers]) for name in FLAT}
    numbers = {
        f"verl_{name}": np.array([answer.get(name, np.nan) for answer in answers])
        for name in (*NUMBERS, *SAMPLER_NUMBERS)
    }
    rounded = {name: np.round(values, 9) for name, values in {**flat, **numbers}.items()}
    np.savez_compressed(TARGET, **random_batches.join(batches), **rounded)
    print(f"{TARGET.name}: {BATCHES} batches, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
