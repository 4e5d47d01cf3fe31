"""Ten turns of a policy in this process, in the ReAct scaffold and a real sandbox: every token as it was sampled."""
# ruff: noqa: E402 - imports follow the skips

import asyncio
from contextlib import nullcontext
from importlib.resources import files

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra train")
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from sandmle.agents.chat.tokens import Sample, SamplingSettings
from sandmle.agents.context import LEFT_OUT
from sandmle.rl.batches import pad
from sandmle.rl.checkpoints import TinyModel, new_policy
from sandmle.rl.engine.local import LocalEngine
from sandmle.rl.rollouts import Player, RolloutSettings
from sandmle.rl.rows import sampled_rows
from sandmle.rl.tokenizers import FastTokenizer
from sandmle.rl.trainer import OptimizerSettings
from sandmle.rl.trainer._learner import Learner, token_logprobs
from sandmle.rl.types import Example
from sandmle.sandboxes import LocalBackend
from sandmle.seeds import get_seed, materialize
from sandmle.trajectory import EpisodeStatus

TURNS, ROOM, STEPS = 10, 4_096, 30
WORDS = ("mean", "mode", "tree", "line", "net", "rank", "fold", "bag")


def write_reply(words):
    """A reply with a remark for each word; it prints enough to fill a context."""
    code = "".join(f"# perhaps {word}\n" for word in words) + "for _ in range(3):\n    print('look ' * 20)\n"
    return f"<tool_call>\npython\n<code>\n{code}</code>\n</tool_call>"


class Demonstrator:
    """An engine that draws the words of its replies."""

    def __init__(self, renderer):
        self.renderer, self.rng = renderer, np.random.default_rng(0)

    def player(self):
        return nullcontext()

    async def sample(self, prompt, settings, stop, *, key):
        ids = self.renderer.reply_ids(write_reply(self.rng.choice(WORDS, 4)))
        return Sample(ids, (0.0,) * len(ids))


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """A task and where its code runs."""
    return materialize(get_seed("iris"), tmp_path_factory.mktemp("tasks")), LocalBackend(allow_unisolated=True)


async def play(stage, policy, engine, room=ROOM):
    task, backend = stage
    sampling = SamplingSettings(max_new_tokens=60, max_tokens=room)
    settings = RolloutSettings(turns=TURNS, sampling=sampling)
    player = Player("train:policy", [task], engine, policy.renderer, backend, settings, seed=0)
    return (await player.episode(task, 0, 0)).episode


def tokenizer(texts):
    """Whole lines become ids, so that a reply has few and each tells which comes next."""
    made = Tokenizer(models.BPE())
    lines = pre_tokenizers.Split("\n", "merged_with_previous")
    made.pre_tokenizer = pre_tokenizers.Sequence([lines, pre_tokenizers.ByteLevel(False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    special, alphabet = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=800, special_tokens=special, initial_alphabet=alphabet)
    made.train_from_iterator(texts, trainer)
    return FastTokenizer(made)


@pytest.fixture(scope="module")
def policy(stage):
    """Tiny, and fluent in replies of one form: it was shown ten turns until it had learnt them, nearly."""
    shape = TinyModel(hidden=32, layers=1, heads=2, kv_heads=1, feed_forward=64, context=8192)
    read = [files("sandmle.prompts").joinpath("react.md").read_text(), (stage[0].public / "description.md").read_text()]
    policy = new_policy(shape, tokenizer([*read, *[write_reply(WORDS)] * 50]), seed=0)
    (row,) = sampled_rows(asyncio.run(play(stage, policy, Demonstrator(policy.renderer)))).rows
    learner = Learner(policy, OptimizerSettings(learning_rate=2e-2))
    for step in range(STEPS):
        learner.imitate([row], rate=1 - step / STEPS)
    return policy


def trainer_logprobs(policy, row):
    with torch.no_grad():
        found, _ = token_logprobs(policy.model, pad([Example(row, np.zeros(len(row)))], policy.tokenizer.pad))
    return found[0].numpy()


async def test_sampler_and_trainer_agree_over_ten_turns_and_no_prefix_breaks(stage, policy):
    episode = await play(stage, policy, LocalEngine(policy.model, seed=3))
    found = sampled_rows(episode)
    assert (episode.status, len(episode.turns)) == (EpisodeStatus.MAX_TURNS, TURNS)
    assert (found.breaks, episode.pruned) == (0, 0)
    (row,) = found.rows
    assert row.mask.sum() == sum(len(turn.tokens.completion_ids) for turn in episode.turns)
    assert row.sampler_logprobs[row.mask].mean() < -0.2, "it has a choice"
    assert np.abs(trainer_logprobs(policy, row) - row.sampler_logprobs)[row.mask].max() < 1e-4


async def test_every_prune_of_the_context_is_one_prefix_break(stage, policy):
    free = await play(stage, policy, LocalEngine(policy.model, seed=3))
    sent = [len(turn.tokens.prompt_ids) for turn in free.turns]
    episode = await play(stage, policy, LocalEngine(policy.model, seed=3), room=sent[4])
    prompts = [policy.tokenizer.decode(turn.tokens.prompt_ids) for turn in episode.turns]
    left_out = np.array([prompt.count(LEFT_OUT) for prompt in prompts])
    assert episode.pruned == left_out[-1] > 0
    assert sampled_rows(episode).breaks == np.count_nonzero(np.diff(left_out))
    for row in sampled_rows(episode).rows:
        assert np.abs(trainer_logprobs(policy, row) - row.sampler_logprobs)[row.mask].max() < 1e-4
