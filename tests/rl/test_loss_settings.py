"""Settings of losses are judged without PyTorch, and its absence is told in one line."""

import subprocess
import sys

import pytest
from pydantic import ValidationError

from sandmle.rl.losses import LossSettings


def test_the_defaults_are_the_papers():
    settings = LossSettings()
    assert settings.clip_high == 0.28
    assert settings.aggregation == "seq-mean-token-mean"
    assert settings.kl is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"aggregation": "seq-mean-token-sum-norm"}, "horizon"),
        ({"horizon": 100}, "horizon"),
        ({"clip_low": 1.0}, "clip_low"),
        ({"clip_high": float("inf")}, "clip_high"),
        ({"dual_clip": 1.0}, "dual_clip"),
        ({"sampler_cap": 0}, "sampler_cap"),
        ({"kl": "low_var_kl"}, "kl"),
        ({"aggregation": "token-sum"}, "aggregation"),
    ],
)
def test_settings_that_can_not_work_are_refused(changes, words):
    with pytest.raises(ValidationError, match=words):
        LossSettings(**changes)


def test_without_torch_all_but_losses_works_and_losses_tell_what_to_install():
    code = """
import sys
sys.modules["torch"] = None
import sandmle.rl.stream, sandmle.rl.losses
from sandmle.errors import EnvironmentProblem
try:
    import sandmle.rl.losses.policy
except EnvironmentProblem as problem:
    print(problem)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "PyTorch is not installed: pip install 'sandmle[train]'\n"
