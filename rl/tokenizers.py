"""Tokenizers as ``TextCodec``s: one read from a model's folder, or a small one trained on given texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sandmle.errors import BadInput, EnvironmentProblem

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["FILE", "FastTokenizer", "Pieces", "load_tokenizer", "train_tokenizer"]

FILE = "tokenizer.json"
Pieces = Literal["words", "lines"]
"""What a token never reaches beyond."""
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")


class FastTokenizer:
    """A tokenizer of the library ``tokenizers``. A special token's name inside a text is text like any other."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Takes ``tokenizer`` over and changes it: special tokens are no longer read out of texts."""
        tokenizer.encode_special_tokens = True
        self.tokenizer = tokenizer

    def __len__(self) -> int:
        """Ids, special tokens included."""
        return self.tokenizer.get_vocab_size(with_added_tokens=True)

    def encode(self, text: str) -> list[int]:
        """See ``sandmle.agents.chat.tokens.TextCodec``."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Sequence[int]) -> str:
        """See ``sandmle.agents.chat.tokens.TextCodec``."""
        return self.tokenizer.decode(list(ids), skip_special_tokens=True)

    def special(self, name: str) -> int | None:
        """See ``sandmle.agents.chat.tokens.TextCodec``."""
        return self.tokenizer.token_to_id(name)

    @property
    def pad(self) -> int:
        """An id to pad with; the mask hides it, so any will do."""
        return self.special("<|endoftext|>") or 0


def load_tokenizer(folder: Path) -> FastTokenizer:
    """The tokenizer in a model's folder.

    Raises:
        BadInput: ``tokenizer.json`` is missing or broken.
        EnvironmentProblem: the extra ``train`` is not installed.
    """
    library, path = _library(), folder / FILE
    if not path.exists():
        raise BadInput(f"{folder}: no policy there: {FILE} is missing")
    try:
        return FastTokenizer(library.from_file(str(path)))
    except Exception as error:
        raise BadInput(f"{path}: no tokenizer ({error})") from error


def train_tokenizer(texts: Iterable[str], size: int, pieces: Pieces = "words") -> FastTokenizer:
    """A byte-level BPE tokenizer with ChatML's special tokens.

    Args:
        texts: what it will have to write; the same texts in the same order give the same tokenizer.
        size: ids in all; at least 256 bytes and the special tokens are kept.
        pieces: ``lines`` writes texts that repeat whole lines, such as code of one hand, in few tokens.

    Raises:
        EnvironmentProblem: the extra ``train`` is not installed.
    """
    library = _library()
    from tokenizers import decoders, models, pre_tokenizers, trainers

    tokenizer = library(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if pieces == "lines":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split("\n", behavior="merged_with_previous"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return FastTokenizer(tokenizer)


def _library() -> type[Tokenizer]:
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise EnvironmentProblem("the library tokenizers is not installed: pip install 'sandmle[train]'") from error
    return Tokenizer
