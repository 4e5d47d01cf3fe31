"""Low-rank adapters (LoRA, arXiv 2106.09685) through peft: a policy's weights stay, small matrices beside them learn.

Adapters are injected into the model, which remains what it was for everybody else: the sampler samples with them. A
checkpoint holds the merged weights, so that it is a whole policy, and apart from them the adapters, to go on from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandmle.errors import EnvironmentProblem
from sandmle.rl._torch import Tensor, torch
from sandmle.rl.trainer._settings import LoraSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["adapter_state", "add_adapters", "merged_state"]

_NAME = "default"


def add_adapters(model: PreTrainedModel, settings: LoraSettings, seed: int) -> None:
    """Freeze ``model`` and put adapters beside all its linear layers but the last; the same for the same seed.

    Raises:
        EnvironmentProblem: peft is not installed.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ModuleNotFoundError as error:
        raise EnvironmentProblem(f"model.lora: {error.name} is not installed: pip install peft") from error
    config = LoraConfig(r=settings.rank, lora_alpha=settings.alpha, target_modules="all-linear")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        inject_adapter_in_model(config, model, adapter_name=_NAME)
    model.eval()


def adapter_state(model: PreTrainedModel) -> dict[str, Tensor]:
    """The adapters' weights by name; empty where there are none."""
    return {name: value for name, value in model.state_dict().items() if ".lora_" in name}


def merged_state(model: PreTrainedModel) -> dict[str, Tensor] | None:
    """All weights with the adapters added to them, by the names that the model had without; None without adapters."""
    weights = model.state_dict()
    if not adapter_state(model):
        return None
    merged = {name.replace(".base_layer.", "."): value for name, value in weights.items() if ".lora_" not in name}
    with torch.no_grad():
        for name, module in model.named_modules():
            if hasattr(module, "get_delta_weight"):
                merged[f"{name}.weight"] = merged[f"{name}.weight"] + module.get_delta_weight(_NAME)
    return merged
