"""Tokenizers trained on texts, and what a policy's folder says it reads."""

import pytest

pytest.importorskip("tokenizers", reason="needs the extra train")

from sandmle.rl.tokenizers import train_tokenizer

TEXTS = ['import pandas as pd\nx = pd.read_csv("input/train.csv")\n', "import pandas as pd\ny = x.mean()\n"] * 20


@pytest.mark.parametrize("pieces", ["words", "lines"])
def test_any_text_comes_back_as_it_was(pieces):
    tokenizer = train_tokenizer(TEXTS, 400, pieces)
    for text in (*TEXTS[:2], "été\n\n  <|im_end|>", "\n", ""):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_lines_that_repeat_are_one_token_and_no_token_goes_beyond_a_line():
    tokenizer = train_tokenizer(TEXTS, 500, "lines")
    assert len(tokenizer.encode("import pandas as pd\n")) == 1
    assert len(train_tokenizer(TEXTS, 500, "words").encode("import pandas as pd\n")) > 1
    whole = [tokenizer.decode([index]) for index in range(len(tokenizer))]
    assert all("\n" not in text.rstrip("\n") for text in whole)


def test_what_a_policy_reads_is_kept_with_its_weights(tmp_path):
    pytest.importorskip("transformers", reason="needs the extra train")
    from sandmle.rl.checkpoints import TinyModel, TrainerState, load_policy, new_policy, save
    from sandmle.trajectory import Message

    shape = TinyModel(hidden=16, layers=1, heads=2, kv_heads=1, feed_forward=32, context=64)
    policy = new_policy(shape, train_tokenizer(TEXTS, 400), seed=0, reading="digest")
    save(policy, tmp_path / "policy", TrainerState(), None)
    found = load_policy(tmp_path / "policy").renderer
    assert found.reading == "digest"
    assert found.message(Message(role="system", content="rules")) == ()
