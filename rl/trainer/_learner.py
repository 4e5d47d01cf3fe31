"""``Learner``: a model and its optimizer; turns examples into gradient steps.

    rows ──imitate──▶ likelihood of demonstrations (SFT)
    examples ──improve──▶ policy loss (GRPO and its kin)

Both add up micro-batches, each divided by the totals of the whole batch, and then step once. Logits are computed only
where a token of the loss mask is predicted, in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sandmle.errors import BadInput
from sandmle.rl._torch import Tensor, torch
from sandmle.rl.adapters import adapter_state
from sandmle.rl.batches import Batch, Totals, micro_batches, pad
from sandmle.rl.checkpoints import PolicyWeights
from sandmle.rl.losses.entropy import token_entropy
from sandmle.rl.losses.policy import LossInputs, policy_loss
from sandmle.rl.losses.settings import LossSettings
from sandmle.rl.trainer._gradients import Gradients, Loss, Metrics
from sandmle.rl.trainer._settings import OptimizerSettings
from sandmle.rl.types import Example, Row

if TYPE_CHECKING:
    from transformers import PreTrainedModel

__all__ = ["Learner", "Metrics", "token_logprobs"]


class Learner:
    """The one that changes a policy's weights."""

    def __init__(
        self, policy: PolicyWeights, settings: OptimizerSettings, reference: PreTrainedModel | None = None
    ) -> None:
        """A learner whose optimizer has yet seen nothing.

        Args:
            policy: whose weights it changes.
            settings: of the steps.
            reference: the weights that a KL penalty holds the policy to; they stay as they are.

        Raises:
            BadInput: several micro-batches at once, of a model with dropout: which is first to draw would be chance.
        """
        if settings.micro_batches_at_once > 1 and _drops_out(policy.model):
            raise BadInput("optimizer.micro_batches_at_once must be 1 for a model with dropout")
        self._policy = policy
        self._reference = reference
        self._settings = settings
        if settings.gradient_checkpointing:
            model = policy.model  # whose method has another name from transformers 5 on
            enable = getattr(model, "activation_checkpointing_enable", model.gradient_checkpointing_enable)
            enable({"use_reentrant": False})
        self.optimizer = torch.optim.AdamW(
            [each for each in policy.model.parameters() if each.requires_grad],
            lr=settings.learning_rate,
            betas=settings.betas,
            weight_decay=settings.weight_decay,
        )
        self._gradients = Gradients(policy.model, settings.micro_batches_at_once)

    def state(self) -> dict[str, Any]:
        """What ``restore`` needs to go on: the optimizer, and adapters where there are any."""
        return {"optimizer": self.optimizer.state_dict(), "adapters": adapter_state(self._policy.model)}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from ``state``; all weights but adapters must already be those of that time."""
        self._policy.model.load_state_dict(state["adapters"], strict=False)
        self.optimizer.load_state_dict(state["optimizer"])

    def imitate(self, rows: Sequence[Row], *, rate: float = 1.0) -> Metrics:
        """One step towards the tokens in the rows' loss mask; the loss is their mean negative log-likelihood in nats.

        Args:
            rows: at least one with a token in its mask.
            rate: factor on the learning rate.
        """
        examples = [Example(row, np.zeros(len(row))) for row in rows]
        totals = Totals.of(examples)

        def loss(batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
            new, _ = token_logprobs(self._policy.model, batch)
            mask = torch.from_numpy(batch.mask).to(new.device)
            nll = -torch.where(mask, new, 0.0).sum() / totals.tokens
            return nll, {"nll": nll.detach()}

        return self._step(examples, loss, rate)

    def improve(
        self, examples: Sequence[Example], settings: LossSettings, *, rate: float = 1.0, mini_batches: int = 1
    ) -> Metrics:
        """Steps of policy gradient; the metrics are those of ``sandmle.rl.losses.policy``, means over the steps.

        Args:
            examples: at least one with a token in its mask.
            settings: of the loss.
            rate: factor on the learning rate.
            mini_batches: parts of the batch, in its order, of which each makes a step. With one the ratio of new to old
                probability is 1, so that nothing is clipped.
        """
        if mini_batches > 1:
            examples = self._remembered(examples)
        parts = [[examples[index] for index in part] for part in np.array_split(np.arange(len(examples)), mini_batches)]
        found = [self._improve(part, settings, rate) for part in parts if any(each.row.mask.any() for each in part)]
        return {name: sum(metrics[name] for metrics in found) / len(found) for name in found[0]}

    def _improve(self, examples: Sequence[Example], settings: LossSettings, rate: float) -> Metrics:
        totals = Totals.of(examples)

        def loss(batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
            new, entropy = token_logprobs(self._policy.model, batch)
            found = policy_loss(
                LossInputs(
                    new=new,
                    old=new.detach() if examples[0].old_logprobs is None else _like(batch.old_logprobs, new),
                    sampler=_like(batch.sampler_logprobs, new),
                    advantages=_like(batch.advantages, new),
                    mask=torch.from_numpy(batch.mask).to(new.device),
                    entropy=entropy,
                    reference=None if settings.kl is None else self._by_reference(batch),
                ),
                settings,
                totals,
            )
            return found.loss, dict(found.metrics)

        return self._step(examples, loss, rate)

    def _remembered(self, examples: Sequence[Example]) -> list[Example]:
        """The examples with their log-probabilities under the weights as they are now."""
        found = []
        for example in examples:
            with torch.no_grad():
                now, _ = token_logprobs(self._policy.model, pad([example], self._policy.tokenizer.pad))
            found.append(replace(example, old_logprobs=now[0].double().cpu().numpy()))
        return found

    def _by_reference(self, batch: Batch) -> Tensor | None:
        if self._reference is None:
            return None
        with torch.no_grad():
            return token_logprobs(self._reference, batch)[0]

    def _step(self, examples: Sequence[Example], loss: Loss, rate: float) -> Metrics:
        model, settings = self._policy.model, self._settings
        model.train()
        pad = self._policy.tokenizer.pad
        batches = micro_batches(examples, max_tokens=settings.micro_batch_tokens, pad_id=pad)
        metrics = self._gradients.add(batches, loss)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = settings.learning_rate * rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        model.eval()
        return {**metrics, "grad_norm": float(norm)}


def token_logprobs(model: PreTrainedModel, batch: Batch) -> tuple[Tensor, Tensor]:
    """The log-probability of each token of the loss mask, and the entropy of what it was drawn from.

    Returns:
        Two float32 tensors of shape (rows, width), 0 outside the mask; the second has no gradient.
    """
    device = model.device
    ids, present = torch.from_numpy(batch.token_ids).to(device), torch.from_numpy(batch.present).to(device)
    predicted = torch.from_numpy(batch.mask).to(device)[:, 1:]
    hidden = model.base_model(input_ids=ids, attention_mask=present.long(), use_cache=False).last_hidden_state
    logits = model.get_output_embeddings()(hidden[:, :-1][predicted]).float()
    logprobs = torch.log_softmax(logits, dim=-1)
    chosen = logprobs.gather(1, ids[:, 1:][predicted][:, None])[:, 0]
    entropies = token_entropy(logits.detach())
    shape = predicted.shape
    found = torch.zeros(shape, device=device).masked_scatter(predicted, chosen)
    spread = torch.zeros(shape, device=device).masked_scatter(predicted, entropies)
    widen = torch.nn.functional.pad
    return widen(found, (1, 0)), widen(spread, (1, 0))


def _like(values: np.ndarray, tensor: Tensor) -> Tensor:
    return torch.from_numpy(values).to(tensor)


def _drops_out(model: PreTrainedModel) -> bool:
    rates = model.config.to_dict().items()
    return any(isinstance(rate, float) and rate > 0 and name.endswith(("dropout", "pdrop")) for name, rate in rates)
