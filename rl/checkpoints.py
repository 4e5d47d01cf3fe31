"""A policy on disk: a folder as transformers and vLLM read it, and with it what a trainer needs to go on exactly.

    FOLDER/config.json, model.safetensors, tokenizer.json, tokenizer_config.json     the policy
    FOLDER/reading.json                                                              what it is shown of messages
    FOLDER/trainer.pt                                                                optimizer, and adapters apart
    FOLDER/trainer.json                                                              where training stands

There is no state of random generators to keep: every draw is made from the run's seed and the place where it is made.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandmle.agents.chat.tokens import ChatMarkup, Reading
from sandmle.errors import BadInput, EnvironmentProblem
from sandmle.files import disk_errors, publish_folder, scratch_folder, write_text
from sandmle.record import Record, VersionedRecord
from sandmle.rl.tokenizers import FILE, FastTokenizer, load_tokenizer

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

__all__ = [
    "READING",
    "PolicyWeights",
    "TinyModel",
    "TrainerState",
    "latest_checkpoint",
    "load_policy",
    "load_renderer",
    "new_policy",
    "prune_checkpoints",
    "save",
]

READING = "reading.json"
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class TinyModel(Record):
    """The shape of a small policy of the Qwen3 architecture with random weights.

    Attributes:
        hidden: width; a multiple of ``heads``.
        head_dim: width of one head; None for ``hidden / heads``.
        context: most positions.
    """

    hidden: int = 160
    layers: int = 4
    heads: int = 5
    kv_heads: int = 5
    head_dim: int | None = None
    feed_forward: int = 480
    context: int = 4_096


class TrainerState(VersionedRecord):
    """Where training stands.

    Attributes:
        updates: made so far, which is the weight version.
        groups: indices of groups drawn so far, those that were dropped included.
    """

    updates: int = 0
    groups: int = 0


@dataclass(frozen=True, eq=False)
class PolicyWeights:
    """A model with its tokenizer and its chat format."""

    model: PreTrainedModel
    tokenizer: FastTokenizer
    renderer: ChatMarkup


def new_policy(shape: TinyModel, tokenizer: FastTokenizer, seed: int, reading: Reading = "whole") -> PolicyWeights:
    """A policy with random weights, the same for the same seed."""
    torch, transformers = _libraries()
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_dim or shape.hidden // shape.heads,
        intermediate_size=shape.feed_forward,
        max_position_embeddings=shape.context,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.special("<|im_end|>"),
        pad_token_id=tokenizer.pad,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = transformers.Qwen3ForCausalLM(config)
    return PolicyWeights(model.eval(), tokenizer, ChatMarkup(tokenizer, reading))


def load_policy(
    folder: Path, *, device: str = "cpu", dtype: str = "float32", compute: str = "float32"
) -> PolicyWeights:
    """Read a policy's folder, or a file of weights in the format GGUF, whose quantised weights are widened.

    Args:
        folder: with weights and ``tokenizer.json``; or the path of a ``.gguf`` file.
        device: such as ``cuda``.
        dtype: of the weights, such as ``bfloat16``.
        compute: what the layers compute in, all but the last.

    Raises:
        BadInput: the folder holds no policy, or one whose chat format is not ChatML.
        EnvironmentProblem: the extra ``train`` is not installed.
    """
    torch, transformers = _libraries()
    packed = {"gguf_file": folder.name} if folder.suffix == ".gguf" else {}
    place = folder.parent if packed else folder
    try:
        tokenizer = _packed_tokenizer(folder) if packed else load_tokenizer(folder)
        model = transformers.AutoModelForCausalLM.from_pretrained(place, dtype=getattr(torch, dtype), **packed)
    except (OSError, ValueError) as error:
        raise BadInput(f"{folder}: no policy ({' '.join(str(error).split())[:200]})") from error
    except ImportError as error:
        raise EnvironmentProblem(f"{folder}: needs `pip install gguf` ({' '.join(str(error).split())[:80]})") from error
    if packed:
        _forget_packing(model)
    model = model.to(device).eval()
    if compute != "float32":
        _compute_in(model, getattr(torch, compute))
    return PolicyWeights(model, tokenizer, ChatMarkup(tokenizer, _reading(place)))


def load_renderer(weights: str) -> ChatMarkup:
    """The chat format of a policy without its weights, by its folder or its name on the hub.

    Raises:
        BadInput: there is no tokenizer, or its chat format is not ChatML.
        EnvironmentProblem: the extra ``train`` is not installed.
    """
    folder = Path(weights)
    if folder.is_dir():
        return ChatMarkup(load_tokenizer(folder), _reading(folder))
    _, transformers = _libraries()
    try:
        loaded = transformers.AutoTokenizer.from_pretrained(weights)
    except (OSError, ValueError) as error:
        raise BadInput(f"{weights}: no tokenizer ({' '.join(str(error).split())[:200]})") from error
    return ChatMarkup(FastTokenizer(loaded.backend_tokenizer))


def _reading(folder: Path) -> Reading:
    kept = folder / READING
    reading: Reading = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else "whole"
    return reading


def _packed_tokenizer(file: Path) -> FastTokenizer:
    """The tokenizer inside a GGUF file."""
    _, transformers = _libraries()
    loaded = transformers.AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
    return FastTokenizer(loaded.backend_tokenizer)


def _forget_packing(model: PreTrainedModel) -> None:
    """Say that the weights are plain numbers now, or transformers would refuse to save them."""
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config


def _compute_in(model: PreTrainedModel, dtype: torch.dtype) -> None:
    """Have the layers of ``model`` compute in ``dtype`` and hand over what they found in that of the weights."""
    torch, _ = _libraries()
    body = model.base_model
    body.forward = torch.autocast(model.device.type, dtype=dtype)(body.forward)

    def widen(_module: object, _inputs: object, output: Any) -> None:  # noqa: ANN401 - lazy type
        output.last_hidden_state = output.last_hidden_state.to(model.dtype)

    body.register_forward_hook(widen)


def save(policy: PolicyWeights, folder: Path, state: TrainerState, learner: dict[str, Any] | None) -> None:
    """Write a checkpoint; it is there as a whole or not at all.

    Args:
        policy: adapters are written merged into the weights.
        folder: replaced if it is there.
        state: where training stands.
        learner: what a ``Learner`` needs to go on; None where nobody will.

    Raises:
        EnvironmentProblem: the disk is full.
    """
    torch, _ = _libraries()
    from sandmle.rl.adapters import merged_state

    with disk_errors(folder), scratch_folder(folder.parent) as scratch:
        inside = scratch / folder.name
        policy.model.save_pretrained(inside, state_dict=merged_state(policy.model))
        policy.tokenizer.tokenizer.save(str(inside / FILE))
        write_text(inside / "tokenizer_config.json", json.dumps(_tokenizer_config(), indent=2) + "\n")
        write_text(inside / READING, json.dumps(policy.renderer.reading) + "\n")
        if learner is not None:
            torch.save(learner, inside / "trainer.pt")
        write_text(inside / "trainer.json", state.to_text())
        publish_folder(inside, folder)


def latest_checkpoint(folder: Path) -> Path | None:
    """The checkpoint ``step-N`` of the highest N in ``folder``."""
    found = [each for each in folder.glob("step-*") if (each / "trainer.json").is_file()]
    return max(found, default=None)


def prune_checkpoints(folder: Path, keep: int) -> None:
    """Remove all checkpoints in ``folder`` but the ``keep`` latest."""
    for each in sorted(folder.glob("step-*"))[:-keep]:
        shutil.rmtree(each)


def _tokenizer_config() -> dict[str, Any]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>",
        "chat_template": CHAT_TEMPLATE,
    }


def _libraries() -> tuple[Any, Any]:
    """PyTorch and transformers."""
    try:
        import torch
        import transformers
    except ModuleNotFoundError as error:
        raise EnvironmentProblem(f"{error.name} is not installed: pip install 'sandmle[train]'") from error
    transformers.utils.logging.disable_progress_bar()
    return torch, transformers
