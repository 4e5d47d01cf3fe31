"""The decoder against one full forward pass for each token, and the engine around it."""

import asyncio
import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
transformers = pytest.importorskip("transformers", reason="needs the extra train")

from sandmle.agents.chat.tokens import SamplingSettings  # noqa: E402
from sandmle.rl.engine.decoder import Decoder, Wanted  # noqa: E402
from sandmle.rl.engine.local import LocalEngine  # noqa: E402

STOP = 5


@pytest.fixture(scope="module")
def model():
    """A tiny Qwen3 with random weights, wide enough that its choices differ."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    config = transformers.Qwen3Config(
        vocab_size=64,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        intermediate_size=64,
        max_position_embeddings=512,
        initializer_range=0.4,
    )
    return transformers.Qwen3ForCausalLM(config).eval()


def wanted(seed, prompt, *, temperature=1.0, tokens=24):
    return Wanted(prompt, STOP, tokens, temperature, np.random.default_rng(seed))


def alone(model, seed, prompt, *, temperature=1.0, tokens=24):
    """The reference: no cache, no padding, the whole sequence again for each token."""
    rng, ids, logprobs = np.random.default_rng(seed), list(prompt), []
    while len(logprobs) < tokens and (not logprobs or ids[-1] != STOP):
        with torch.inference_mode():
            logits = model(torch.tensor([ids])).logits[0, -1]
        scaled = torch.log_softmax(logits.double() / (temperature or 1.0), -1).exp().cumsum(-1)
        draw = rng.random()
        token = int((scaled <= draw * scaled[-1]).sum()) if temperature else int(logits.argmax())
        logprobs.append(float(torch.log_softmax(logits, -1)[token]))
        ids.append(token)
    return ids[len(prompt) :], logprobs


PROMPTS = [[7, 8, 9], [10], [11, 12, 13, 14, 15, 16, 17, 18], [20, 21], [30, 31, 32, 33, 34]]


@pytest.mark.parametrize(("temperature", "burst"), [(1.0, 1), (0.0, 1), (0.7, 1), (1.0, 8), (0.0, 8)])
def test_joining_and_leaving_changes_no_sequence(model, temperature, burst):
    """Nor does it matter how many tokens are sampled before anybody looks at them."""
    decoder = Decoder(model)
    sequences = [wanted(seed, prompt, temperature=temperature) for seed, prompt in enumerate(PROMPTS)]
    finished = decoder.admit(sequences[:2])
    for _ in range(0, 3, burst):
        finished += decoder.step(burst)
    finished += decoder.admit(sequences[2:4])
    for _ in range(0, 5, burst):
        finished += decoder.step(burst)
    finished += decoder.admit(sequences[4:])
    while len(decoder):
        finished += decoder.step(burst)
    assert sorted(map(id, finished)) == sorted(map(id, sequences))
    for seed, each in enumerate(sequences):
        ids, logprobs = alone(model, seed, PROMPTS[seed], temperature=temperature)
        assert each.ids == ids
        assert each.logprobs == pytest.approx(logprobs, abs=1e-5)


@pytest.mark.parametrize("burst", [1, 8])
def test_what_was_said_is_not_read_again(model, burst, monkeypatch):
    """Three turns of five episodes, each prompt going on from the last: one forward pass reads only observations."""
    decoder, read = Decoder(model), []
    forward = decoder._forward
    monkeypatch.setattr(decoder, "_forward", lambda ids, *rest: read.append(tuple(ids.shape)) or forward(ids, *rest))
    prompts = [list(prompt) for prompt in PROMPTS]
    for turn, observation in enumerate([[], [40], [41, 42, 43]]):
        prompts = [[*prompt, *observation[: 1 + row]] for row, prompt in enumerate(prompts)]
        sequences = [wanted(10 * turn + row, prompt, tokens=8) for row, prompt in enumerate(prompts)]
        read.clear()
        decoder.admit(sequences)
        while len(decoder):
            decoder.step(burst)
        assert read[0] == (5, 8 if turn == 0 else 1 + len(observation))  # the last token of a reply is new, too
        for row, each in enumerate(sequences):
            ids, logprobs = alone(model, 10 * turn + row, prompts[row], tokens=8)
            assert each.ids == ids
            assert each.logprobs == pytest.approx(logprobs, abs=1e-5)
            prompts[row] = [*prompts[row], *ids]


def test_a_prompt_of_several_samples_is_read_once(model, monkeypatch):
    decoder, read = Decoder(model), []
    forward = decoder._forward
    monkeypatch.setattr(decoder, "_forward", lambda ids, *rest: read.append(tuple(ids.shape)) or forward(ids, *rest))
    sequences = [wanted(seed, PROMPTS[seed // 4]) for seed in range(8)]
    decoder.admit(sequences)
    assert read == [(2, 3)]
    while len(decoder):
        decoder.step()
    assert [each.ids for each in sequences] == [alone(model, seed, PROMPTS[seed // 4])[0] for seed in range(8)]


def test_prompts_with_and_without_a_prefix_are_read_apart(model, monkeypatch):
    """Together a long prefix beside a long new prompt would take as many columns as both."""
    decoder = Decoder(model)
    first = wanted(0, list(range(10, 60)), tokens=4)
    decoder.admit([first])
    while len(decoder):
        decoder.step()
    prompts = [list(range(5, 45)), [*first.prompt, *first.ids, 40], [7]]
    sequences = [wanted(1 + row, prompt, tokens=6) for row, prompt in enumerate(prompts)]
    decoder.admit(sequences)
    assert decoder._present.shape[1] == len(prompts[1])
    while len(decoder):
        decoder.step()
    for row, each in enumerate(sequences):
        ids, logprobs = alone(model, 1 + row, prompts[row], tokens=6)
        assert each.ids == ids
        assert each.logprobs == pytest.approx(logprobs, abs=1e-5)


def test_nothing_computed_with_other_weights_is_used(model):
    """Neither of finished sequences nor of those that ran when the weights changed."""
    changed = copy.deepcopy(model)
    decoder = Decoder(changed)
    before, across = wanted(0, PROMPTS[0], tokens=4), wanted(1, PROMPTS[1], tokens=12)
    decoder.admit([before, across])
    while len(decoder) == 2:
        decoder.step()
    with torch.no_grad():
        changed.lm_head.weight.neg_()
        changed.model.embed_tokens.weight.mul_(0.5)
    decoder.forget()
    while len(decoder):
        decoder.step()
    prompts = [[*each.prompt, *each.ids, 40] for each in (before, across)]
    later = [wanted(2 + row, prompt, tokens=6) for row, prompt in enumerate(prompts)]
    decoder.admit(later)
    while len(decoder):
        decoder.step()
    for row, each in enumerate(later):
        ids, logprobs = alone(changed, 2 + row, prompts[row], tokens=6)
        assert each.ids == ids
        assert each.logprobs == pytest.approx(logprobs, abs=1e-5)


def test_a_dropped_sequence_leaves_the_others_alone(model):
    decoder = Decoder(model)
    kept, gone = wanted(0, PROMPTS[0]), wanted(1, PROMPTS[2])
    decoder.admit([kept, gone])
    decoder.drop(gone)
    while len(decoder):
        decoder.step()
    assert kept.ids == alone(model, 0, PROMPTS[0])[0]


@pytest.mark.parametrize("batching", ["lockstep", "continuous"])
async def test_the_engine_gives_every_call_its_own_draws(model, batching):
    async def play(engine, name):
        with engine.player():
            settings = SamplingSettings(max_new_tokens=12)
            first = await engine.sample((7, 8, 9), settings, STOP, key=f"{name}/1")
            second = await engine.sample((7, 8, 9, *first.ids, 10), settings, STOP, key=f"{name}/2")
            return first, second

    async def run(names):
        engine = LocalEngine(model, seed=3, batching=batching, max_batch=2)
        return dict(zip(names, await asyncio.gather(*(play(engine, name) for name in names)), strict=True))

    every, few = await run(["a", "b", "c", "d", "e"]), await run(["c", "a"])
    assert [sample.ids for sample in every["c"]] == [sample.ids for sample in few["c"]]
    assert len({samples[0].ids for samples in every.values()}) > 1
    assert all(sample.weight_version == 0 for samples in every.values() for sample in samples)


async def test_whoever_leaves_is_not_waited_for(model):
    engine = LocalEngine(model, seed=0, batching="lockstep")
    settings = SamplingSettings(max_new_tokens=4)

    async def leave_early():
        with engine.player():
            await asyncio.sleep(0)

    async def stay():
        with engine.player():
            return await engine.sample((7,), settings, STOP, key="stay")

    left, sample = await asyncio.gather(leave_early(), stay())
    assert left is None
    assert sample.ids
    with engine.player():
        call = asyncio.create_task(engine.sample((7,), settings, STOP, key="cancelled"))
        await asyncio.sleep(0)
        call.cancel()
        assert (await engine.sample((7,), settings, STOP, key="stay")).ids == sample.ids


async def test_a_reply_carries_the_version_of_the_weights_that_it_began_with(model):
    engine = LocalEngine(model, seed=0)
    settings = SamplingSettings(max_new_tokens=60, max_tokens=100)
    reply = asyncio.create_task(engine.sample((7, 8, 9), settings, -1, key="a"))
    while not len(engine._decoder):  # noqa: ASYNC110 - nothing tells when it has begun
        await asyncio.sleep(0)
    async with engine.updating():
        assert not reply.done()
        engine.weight_version = 1
    assert (await reply).weight_version == 0
    assert (await engine.sample((7, 8, 9), settings, -1, key="b")).weight_version == 1


async def test_the_engine_forgets_when_weights_change_and_when_the_last_episode_ends(model):
    engine = LocalEngine(model, seed=0)
    settings = SamplingSettings(max_new_tokens=4)
    known = engine._decoder._prefixes
    with engine.player():
        await engine.sample((7, 8), settings, STOP, key="a")
        assert len(known) == 1
    await engine.sample((7,), settings, STOP, key="b")
    assert len(known) == 1
    await engine.sample((10,), settings, STOP, key="c")
    assert len(known) == 2
    async with engine.updating():
        assert len(known) == 0
    await engine.sample((11,), settings, STOP, key="d")
    assert len(known) == 1
