"""What memory and divisibility depend on in the paper's models, as their public ``config.json`` files have it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ARCHITECTURES", "Architecture"]


@dataclass(frozen=True)
class Architecture:
    """A decoder of the Qwen3 family: grouped-query attention with normed queries and keys, SwiGLU, untied embeddings.

    Attributes:
        name: of the model on the hub.
        layers: transformer blocks.
        hidden: width of the residual stream.
        heads: query heads.
        kv_heads: key and value heads.
        head_size: width of a head.
        feed_forward: inner width of the feed-forward network, of one expert where there are experts.
        experts: experts a layer; 0 for a dense network.
        active: experts a token goes through.
        vocabulary: rows of the embedding.
        context: positions it was made for.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    feed_forward: int
    experts: int = 0
    active: int = 0
    head_size: int = 128
    vocabulary: int = 151_936
    context: int = 40_960

    @property
    def layer_parameters(self) -> int:
        """Of one block: attention with its two norms of heads, feed-forward (and router), two norms."""
        attention = 2 * self.hidden * self.head_size * (self.heads + self.kv_heads) + 2 * self.head_size
        network = 3 * self.hidden * self.feed_forward
        if self.experts:
            network = self.experts * (network + self.hidden)
        return attention + network + 2 * self.hidden

    @property
    def parameters(self) -> int:
        """Of the whole model: blocks, embedding, output layer, last norm."""
        return self.layers * self.layer_parameters + 2 * self.vocabulary * self.hidden + self.hidden

    @property
    def kv_bytes(self) -> int:
        """Bytes of the cached keys and values of one token, in 16 bits."""
        return 2 * 2 * self.layers * self.kv_heads * self.head_size


ARCHITECTURES = {
    "qwen3-8b": Architecture("Qwen/Qwen3-8B", layers=36, hidden=4_096, heads=32, kv_heads=8, feed_forward=12_288),
    "qwen3-14b": Architecture("Qwen/Qwen3-14B", layers=40, hidden=5_120, heads=40, kv_heads=8, feed_forward=17_408),
    "qwen3-30b-a3b": Architecture(
        "Qwen/Qwen3-30B-A3B",
        layers=48,
        hidden=2_048,
        heads=32,
        kv_heads=4,
        feed_forward=768,
        experts=128,
        active=8,
    ),
}
"""By the names that recipes use."""
