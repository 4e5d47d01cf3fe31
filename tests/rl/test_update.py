"""From the stream of groups to an update: a policy of four words learns which one pays, however batches are split."""
# ruff: noqa: E402 - imports follow the skip

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from sandmle.rl.algorithms import make_estimator
from sandmle.rl.batches import Totals, make_examples, micro_batches
from sandmle.rl.groups import GroupSettings, run_group
from sandmle.rl.losses import LossSettings
from sandmle.rl.losses.policy import LossInputs, policy_loss
from sandmle.rl.stream import GroupStream
from sandmle.rl.types import CONTEXT, Rollout, Row

WORDS, PAYS, PROMPT = 4, 2, 0


class Policy:
    """A word's probability, whatever came before it."""

    def __init__(self):
        self.weights = torch.zeros(WORDS, dtype=torch.float64, requires_grad=True)

    def logprobs(self, token_ids):
        return self.weights.log_softmax(0)[token_ids]

    async def rollout(self, index, repeat, version):
        """One to three words; the reward is the share of words that pay."""
        rng = np.random.default_rng([index, repeat])
        probabilities = self.weights.detach().softmax(0).numpy()
        said = rng.choice(WORDS, size=rng.integers(1, 4), p=probabilities)
        ids = np.array([PROMPT, *said])
        turns = np.where(np.arange(len(ids)) > 0, 0, CONTEXT)
        row = Row(ids, turns, turns != CONTEXT, np.log(probabilities)[ids], version)
        return Rollout(f"{index}-{repeat}", str(index), (float(np.mean(said == PAYS)),), (row,))


async def train(estimator, loss, *, updates, max_tokens=100, rate=0.5):
    """The policy, and the mean reward of each update."""
    policy, rewards = Policy(), []

    async def roll(index):
        rollouts = [policy.rollout(index, repeat, stream.version) for repeat in range(4)]
        return await run_group(str(index), rollouts, deadline_s=None)

    async with GroupStream(roll, estimator, GroupSettings(), batch=4) as stream:
        for _ in range(updates):
            groups, tally = await stream.take()
            rewards.append(tally.mean_reward)
            examples = [example for group in groups for example in make_examples(group, estimator)]
            totals = Totals.of(examples)
            for batch in micro_batches(examples, max_tokens=max_tokens, pad_id=PROMPT):
                new = policy.logprobs(torch.from_numpy(batch.token_ids))
                sampler, advantages = torch.from_numpy(batch.sampler_logprobs), torch.from_numpy(batch.advantages)
                inputs = LossInputs(new, new.detach(), sampler, advantages, torch.from_numpy(batch.mask))
                policy_loss(inputs, loss, totals).loss.backward()
            with torch.no_grad():
                policy.weights -= rate * policy.weights.grad
            policy.weights.grad = None
            stream.advance()
    return policy, rewards


@pytest.mark.parametrize(("name", "rate"), [("grpo", 0.5), ("rloo", 2.0), ("step-wise", 0.5)])
async def test_the_policy_learns_which_word_pays(name, rate):
    policy, rewards = await train(make_estimator({"name": name}), LossSettings(), updates=20, rate=rate)
    assert rewards[0] < 0.5
    assert policy.weights.softmax(0)[PAYS] > 0.9


@pytest.mark.parametrize("aggregation", ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum"])
async def test_the_size_of_micro_batches_has_no_influence_on_what_is_learnt(aggregation):
    grpo, loss = make_estimator({"name": "grpo"}), LossSettings(aggregation=aggregation)
    found = [(await train(grpo, loss, updates=5, max_tokens=room))[0].weights for room in (4, 9, 1000)]
    assert not torch.equal(found[0], torch.zeros(WORDS))
    assert torch.allclose(found[0], found[1], rtol=0, atol=1e-12)
    assert torch.allclose(found[0], found[2], rtol=0, atol=1e-12)
