"""The embedded trainer: imitation, then reinforcement, on a laptop's CPU or one GPU.

    tasks ─▶ Player ─▶ groups ─▶ GroupStream (filter, refill) ─▶ examples ─▶ Learner ─▶ weights ─▶ engine

OUT/train.json                  TrainingRecord: the settings
OUT/sft/                        the policy after imitation
OUT/checkpoints/step-NNNNNN/    policy, optimizer and place of every so many updates
OUT/tokens/part-NNNNNN.parquet  the rows that each update learnt from, closed before the update counts
OUT/transcripts/                every episode, where the config asks for them
OUT/metrics-{sft,grpo}.jsonl    one line a step
OUT/policy/                     the policy at the end

A killed run goes on from its last checkpoint when the same command runs again; lines and parts after it are cut off.

This package loads without PyTorch; ``training.atrain`` does not.
"""

from sandmle.rl.trainer._settings import (
    GrpoSettings,
    LoraSettings,
    ModelSettings,
    OptimizerSettings,
    SftOptimizerSettings,
    SftSettings,
    TrainSettings,
    bundled_configs,
)

__all__ = [
    "GrpoSettings",
    "LoraSettings",
    "ModelSettings",
    "OptimizerSettings",
    "SftOptimizerSettings",
    "SftSettings",
    "TrainSettings",
    "bundled_configs",
]
