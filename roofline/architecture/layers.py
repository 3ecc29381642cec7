"""Layers as values: what one block of a model holds, counted exactly.

All counts are parameters of one layer; `weights` are matrices of GEMMs, the rest are vectors. KV and state counts are
elements, so
that a precision can be chosen later.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attention:
    """Softmax attention of one layer. `kind`: full, window, chunked, mla or cross (image tokens)."""

    kind: str
    heads: int
    kv_heads: int
    qk_dim: int
    v_dim: int
    window: int = 0  # tokens; 0 is unbounded
    keeps_cache: bool = True  # False where the layer reads the cache of an earlier one
    query_gate: bool = False  # an output gate as wide as the queries
    q_rank: int = 0  # MLA
    kv_rank: int = 0
    nope_dim: int = 0
    rope_dim: int = 0
    indexer_heads: int = 0
    indexer_dim: int = 0
    indexer_top_k: int = 0
    compressed_dim: int = 0  # a second cache without bound whose entries each stand for `compression` tokens
    compression: int = 1
    shared_kv: bool = False  # one vector serves as key and value
    weights: int = 0
    routed: int = 0  # mixture of attention heads: experts' weights
    active_routed: int = 0
    norms: int = 0
    biases: int = 0
    other: int = 0

    @property
    def params(self) -> int:
        return self.weights + self.routed + self.norms + self.biases + self.other

    @property
    def kv_elements(self) -> int:
        """Elements that one token adds to this layer's cache; 0 where it keeps none."""
        if not self.keeps_cache or self.kind == "cross":
            return 0
        if self.kind == "mla":
            return self.kv_rank + self.rope_dim
        return self.kv_heads * (self.qk_dim if self.shared_kv else self.qk_dim + self.v_dim)

    @property
    def growing_elements(self) -> float:
        """Elements a token adds for good (no window bounds them)."""
        return (0 if self.window else self.kv_elements) + self.compressed_dim / self.compression

    @property
    def window_elements(self) -> int:
        """Elements for each of the first `window` tokens."""
        return self.kv_elements if self.window else 0

    @property
    def indexer_elements(self) -> float:
        return self.indexer_dim / self.compression


@dataclass(frozen=True, slots=True)
class Recurrent:
    """A layer with a constant state: Mamba, gated delta rule, lightning attention, RWKV, RG-LRU, short convolution."""

    kind: str
    weights_in: int
    weights_out: int
    vectors: int = 0
    norms: int = 0
    biases: int = 0
    state: int = 0  # elements of recurrent state, one sequence
    conv_state: int = 0  # elements of the (kernel - 1) kept columns
    flops: int = 0  # of the scan, one token

    @property
    def params(self) -> int:
        return self.weights_in + self.weights_out + self.vectors + self.norms + self.biases


@dataclass(frozen=True, slots=True)
class FeedForward:
    """Dense or mixture-of-experts feed-forward of one layer."""

    kind: str  # dense or moe
    width: int = 0
    matrices: int = 0  # 3 gated, 2 not
    weights: int = 0
    experts: int = 0
    top_k: int = 0
    expert_width: int = 0
    expert_matrices: int = 0
    shared_width: int = 0
    routed: int = 0  # all experts, their biases included
    routed_biases: int = 0
    shared: int = 0
    router: int = 0
    norms: int = 0
    biases: int = 0
    other: int = 0

    @property
    def params(self) -> int:
        return self.weights + self.routed + self.shared + self.router + self.norms + self.biases + self.other

    @property
    def active_routed(self) -> int:
        return self.routed * self.top_k // self.experts if self.experts else 0


@dataclass(frozen=True, slots=True)
class Layer:
    """One block: any of the three parts may be absent (Nemotron-H has blocks of one part)."""

    attention: Attention | None = None
    recurrent: Recurrent | None = None
    feed_forward: FeedForward | None = None
    second_attention: Attention | None = None  # LongCat: two attentions and two dense MLPs around one MoE
    second_feed_forward: FeedForward | None = None
    norms: int = 0
    other: int = 0

    @property
    def attentions(self) -> tuple[Attention, ...]:
        return tuple(a for a in (self.attention, self.second_attention) if a is not None)

    @property
    def feed_forwards(self) -> tuple[FeedForward, ...]:
        return tuple(f for f in (self.feed_forward, self.second_feed_forward) if f is not None)

    @property
    def params(self) -> int:
        parts: list[Attention | FeedForward | Recurrent] = [*self.attentions, *self.feed_forwards]
        parts += [self.recurrent] if self.recurrent else []
        return self.norms + self.other + sum(part.params for part in parts)


@dataclass(frozen=True, slots=True)
class LayerGroup:
    """`count` equal layers; `indices` say where in the stack they stand."""

    layer: Layer
    indices: tuple[int, ...]

    @property
    def count(self) -> int:
        return len(self.indices)

    @property
    def attention(self) -> Attention | None:
        return self.layer.attention

    @property
    def recurrent(self) -> Recurrent | None:
        return self.layer.recurrent

    @property
    def feed_forward(self) -> FeedForward | None:
        return self.layer.feed_forward
