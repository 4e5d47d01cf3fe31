"""Token-faithful chat: what was sampled is what later prompts repeat, whatever its text would be encoded as."""

from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from sandmle.agents.chat import ContextOverflow
from sandmle.agents.chat.tokens import ChatMarkup, Sample, SamplingSettings, TokenChat
from sandmle.errors import BadInput
from sandmle.trajectory import Message

START, STOP, PAIR = 256, 257, 258


class ByteCodec:
    """Bytes, and one merge: ``th`` is one id. So ``th`` has two spellings, of which encoding knows one."""

    def encode(self, text):
        ids = []
        for part, more in _parts(text.encode().split(b"th")):
            ids += [*part, *([PAIR] if more else [])]
        return ids

    def decode(self, ids):
        return b"".join(b"th" if each == PAIR else bytes([each]) for each in ids if each not in (START, STOP)).decode(
            errors="replace"
        )

    def special(self, name):
        return {"<|im_start|>": START, "<|im_end|>": STOP}.get(name)


def _parts(parts):
    return [(part, place < len(parts) - 1) for place, part in enumerate(parts)]


class Replies:
    """An engine that gives the replies of a list, as ids."""

    def __init__(self, *replies):
        self.replies, self.prompts, self.keys = list(replies), [], []

    def player(self):
        return nullcontext()

    async def sample(self, prompt, settings, stop, *, key):
        self.prompts.append(prompt)
        self.keys.append(key)
        ids = self.replies.pop(0)
        return Sample(tuple(ids), (-0.5,) * len(ids), weight_version=7)


RENDERER = ChatMarkup(ByteCodec())
SPLIT_TH = (*b"t", *b"h", *b"e", STOP)


def chat(engine, **settings):
    return TokenChat(engine=engine, renderer=RENDERER, sampling=SamplingSettings(**settings), key="episode")


def test_chat_markup_is_chatml():
    codec = ByteCodec()
    ids = (*RENDERER.message(Message(role="user", content="hi")), *RENDERER.prompt_end())
    assert ids == (START, *codec.encode("user\nhi"), STOP, *b"\n", START, *codec.encode("assistant\n"))


def test_a_tokenizer_without_chatml_is_refused():
    codec = ByteCodec()
    codec.special = lambda name: None
    with pytest.raises(BadInput, match="im_start"):
        ChatMarkup(codec)


async def test_a_reply_is_repeated_as_it_was_sampled():
    engine = Replies(SPLIT_TH, SPLIT_TH)
    model = chat(engine)
    opening = [SystemMessage("s"), HumanMessage("go")]
    first = await model.ainvoke(opening)
    assert first.text == "the"
    assert first.additional_kwargs["weight_version"] == 7
    await model.ainvoke([*opening, AIMessage(first.text), HumanMessage("more")])
    one, other = engine.prompts
    assert other[: len(one) + len(SPLIT_TH)] == (*one, *SPLIT_TH)


async def test_a_fresh_chat_repeats_no_reply_of_the_one_before_and_draws_alike():
    engine = Replies(SPLIT_TH, SPLIT_TH)
    model = chat(engine)
    conversation = [HumanMessage("go"), AIMessage("the"), HumanMessage("more")]
    await model.ainvoke([HumanMessage("go")])
    fresh = model.fresh()
    assert fresh.prompt_ids(conversation) == chat(Replies()).prompt_ids(conversation)
    assert model.prompt_ids(conversation) != fresh.prompt_ids(conversation)
    await fresh.ainvoke([HumanMessage("go")])
    assert engine.keys == ["episode/1", "episode/1"]
    assert fresh.sampling == model.sampling


async def test_a_reply_that_was_cut_off_is_closed_in_later_prompts():
    engine = Replies(tuple(b"cut"), SPLIT_TH)
    model = chat(engine)
    first = await model.ainvoke([HumanMessage("go")])
    await model.ainvoke([HumanMessage("go"), AIMessage(first.text), HumanMessage("more")])
    one, other = engine.prompts
    assert other[len(one) : len(one) + 5] == (*b"cut", STOP, *b"\n")


async def test_a_prompt_that_fills_the_context_is_an_overflow():
    with pytest.raises(ContextOverflow):
        await chat(Replies(), max_tokens=10).ainvoke([HumanMessage("far too long")])


texts = st.text(alphabet="the \n<|>", max_size=6)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
def test_a_longer_conversation_begins_with_the_shorter(turns):
    model, messages, before = chat(Replies()), [], ()
    for asked, replied in turns:
        messages.append(HumanMessage(asked))
        prompt = model.prompt_ids(messages)
        assert prompt[: len(before)] == before
        sampled = (*replied.encode(), STOP)
        model._sampled.setdefault(RENDERER.text(sampled), []).append(sampled)
        before = (*prompt, *sampled)
        messages.append(AIMessage(RENDERER.text(sampled)))
