"""An architecture: the layers of a model and every count that follows from them."""

from dataclasses import dataclass
from functools import cached_property

from roofline.architecture.layers import Attention, FeedForward, LayerGroup, Recurrent
from roofline.architecture.quantization import Quantization
from roofline.columns import Model

CACHE_BYTES = 2  # the contract counts caches and state at 16 bit


@dataclass(frozen=True)
class Architecture:
    """A language model, counted. All figures are of the text model unless they say vision."""

    name: str
    model_type: str
    hidden: int
    vocab: int
    max_position: int
    groups: tuple[LayerGroup, ...]
    embedding_params: int
    lm_head_params: int
    lookup_params: int
    outer_norms: int
    outer_biases: int
    outer_other: int
    vision_params: int | None = None
    quantization: Quantization | None = None
    warnings: tuple[str, ...] = ()
    rope_table_factor: float = 1.0  # linear rope scaling: engines keep a table of max_position x factor positions

    def __hash__(self) -> int:
        """Of what tells models apart; hashing every layer would cost more than parsing."""
        return hash((self.name, self.model_type, self.hidden, self.vocab, len(self.groups), self.outer_norms))

    @property
    def layers(self) -> int:
        return sum(group.count for group in self.groups)

    @cached_property
    def order(self) -> tuple[int, ...]:
        """For each layer the index of its group."""
        places = {index: number for number, group in enumerate(self.groups) for index in group.indices}
        return tuple(places[index] for index in sorted(places))

    @property
    def is_moe(self) -> bool:
        return any(f.experts for _, f in self.feed_forwards())

    @property
    def is_mla(self) -> bool:
        return any(a.kind == "mla" for _, a in self.attentions())

    @property
    def is_hybrid(self) -> bool:
        """Recurrent layers beside attention."""
        return bool(self.recurrents()) and bool(self.attentions())

    def attentions(self) -> list[tuple[int, Attention]]:
        """(layers, attention) over all groups."""
        return [(group.count, attention) for group in self.groups for attention in group.layer.attentions]

    def feed_forwards(self) -> list[tuple[int, FeedForward]]:
        return [(group.count, feed_forward) for group in self.groups for feed_forward in group.layer.feed_forwards]

    def recurrents(self) -> list[tuple[int, Recurrent]]:
        return [(group.count, group.recurrent) for group in self.groups if group.recurrent is not None]

    @cached_property
    def _parts(self) -> dict[str, int]:
        attentions, forwards, recurrents = self.attentions(), self.feed_forwards(), self.recurrents()
        inner: list[tuple[int, Attention | FeedForward | Recurrent]] = [*attentions, *forwards, *recurrents]
        return {
            "embedding": self.embedding_params,
            "lm_head": self.lm_head_params,
            "lookup": self.lookup_params,
            "attention": sum(n * (a.weights + a.routed) for n, a in attentions),
            "mlp": sum(n * f.weights for n, f in forwards),
            "routed_experts": sum(n * f.routed for n, f in forwards),
            "shared_experts": sum(n * f.shared for n, f in forwards),
            "router": sum(n * f.router for n, f in forwards),
            "recurrent": sum(n * (r.weights_in + r.weights_out + r.vectors) for n, r in recurrents),
            "norms": self.outer_norms
            + sum(n * part.norms for n, part in inner)
            + sum(g.count * g.layer.norms for g in self.groups),
            "biases": self.outer_biases + sum(n * part.biases for n, part in inner),
            "other": self.outer_other
            + sum(n * a.other for n, a in attentions)
            + sum(n * f.other for n, f in forwards)
            + sum(g.count * g.layer.other for g in self.groups),
        }

    def parts(self) -> dict[str, int]:
        """Parameters by part; they add up to `total_params`."""
        return dict(self._parts)

    @cached_property
    def total_params(self) -> int:
        return sum(self._parts.values())

    @cached_property
    def active_params(self) -> int:
        """Parameters that one token meets: k of E routed experts; tables included."""
        idle = sum(n * (f.routed - f.active_routed) for n, f in self.feed_forwards())
        return self.total_params - idle - sum(n * (a.routed - a.active_routed) for n, a in self.attentions())

    @cached_property
    def flops_per_token(self) -> int:
        """Forward FLOPs of one token without attention scores: 2 x active parameters that are multiplied.

        Not looked up.
        """
        looked_up = self.lookup_params + (self.embedding_params if self.lm_head_params else 0)
        return 2 * (self.active_params - looked_up)

    @cached_property
    def kv_bytes_per_token(self) -> int:
        return round(CACHE_BYTES * sum(n * a.growing_elements for n, a in self.attentions()))

    @cached_property
    def kv_window_bytes_per_token(self) -> int:
        return CACHE_BYTES * sum(n * a.window_elements for n, a in self.attentions())

    @cached_property
    def window(self) -> int | None:
        """The window of the layers that have one; None where none keeps a windowed cache.

        The widest where they differ.
        """
        return max((a.window for _, a in self.attentions() if a.window_elements), default=None)

    @cached_property
    def kv_indexer_bytes_per_token(self) -> int:
        return round(CACHE_BYTES * sum(n * a.indexer_elements for n, a in self.attentions()))

    @cached_property
    def state_bytes_per_sequence(self) -> int:
        return CACHE_BYTES * sum(n * (r.state + r.conv_state) for n, r in self.recurrents())

    def summary(self) -> dict[str, int | str | None]:
        """The `model` block of a prediction."""
        return {
            "name": self.name,
            "total_params": self.total_params,
            "active_params": self.active_params,
            "embedding_params": self.embedding_params,
            "lm_head_params": self.lm_head_params,
            "vision_params": self.vision_params,
            "kv_bytes_per_token": self.kv_bytes_per_token,
            "kv_window_bytes_per_token": self.kv_window_bytes_per_token,
            "window": self.window,
            "kv_indexer_bytes_per_token": self.kv_indexer_bytes_per_token,
            "state_bytes_per_sequence": self.state_bytes_per_sequence,
            "flops_per_token_forward": self.flops_per_token,
        }

    def columns(self) -> Model:
        """The engine's record of this model, scalars; one object for all callers, not to be changed."""
        return self._columns

    @cached_property
    def _columns(self) -> Model:
        from roofline.architecture.to_columns import columns

        return columns(self)
