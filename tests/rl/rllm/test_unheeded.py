"""Settings that rLLM's loop would ignore are refused; without rLLM."""

import pytest

from sandmle.errors import BadInput
from sandmle.rl.rllm.unheeded import refuse_unheeded
from sandmle.rl.rollouts import RolloutSettings
from sandmle.rl.trainer import GrpoSettings


def test_all_of_them_are_named_in_one_line():
    with pytest.raises(BadInput) as caught:
        refuse_unheeded(GrpoSettings(batching="lockstep", rollouts=RolloutSettings(permute_rewards=True)))
    assert str(caught.value) == (
        'grpo.batching = "lockstep", grpo.rollouts.permute_rewards = true:'
        " rLLM's loop can't do that; leave it out, or take --trainer sandmle"
    )


def test_the_defaults_and_deadlines_are_heeded():
    refuse_unheeded(GrpoSettings(rollouts=RolloutSettings(deadline_s=5.0, give_up_s=9.0)))
