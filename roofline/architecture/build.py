"""Assembling a model out of its layers by the conventions of its family."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from roofline.architecture import attention, feedforward, patterns, recurrent
from roofline.architecture.family import Family
from roofline.architecture.layers import Attention, FeedForward, Layer, Recurrent
from roofline.architecture.reading import Reader

AttentionOf = Callable[[Reader, Family, str, int], Attention]
FeedForwardOf = Callable[[Reader, Family, str, int], FeedForward | None]
NormsOf = Callable[[Reader, Family, str, str, int], int]


@dataclass(slots=True)
class Draft:
    """A model under construction: parameter counts outside the layers, and the layers in order."""

    layers: list[Layer] = field(default_factory=list)
    embedding: int = 0
    lm_head: int = 0
    lookup: int = 0  # tables that are only looked up, the input embedding apart
    norms: int = 0
    biases: int = 0
    other: int = 0


def norm_size(family: Family, width: int) -> int:
    return {"rms": 1, "layer": 2, "none": 0}[family.norm] * width


def tied(reader: Reader, family: Family) -> bool:
    return reader.flag("tie_word_embeddings") and not family.never_tied


def outside(reader: Reader, family: Family) -> Draft:
    """Embedding, head, final norm and learned positions of an ordinary model."""
    hidden, vocab = reader.dim("hidden_size"), reader.dim("vocab_size")
    bias = vocab * reader.flags(family.lm_head_bias)
    draft = Draft(embedding=vocab * hidden, lm_head=0 if tied(reader, family) else vocab * hidden + bias)
    draft.norms = norm_size(family, hidden) * (family.final_norm + family.embedding_norm)
    draft.biases = bias if tied(reader, family) else 0
    if family.positions:
        draft.lookup = (reader.dim(family.positions) + family.position_offset) * hidden
    return draft


def plain_attention(reader: Reader, family: Family, kind: str, index: int) -> Attention:
    """Grouped-query or latent attention as the configuration's structure says."""
    window = patterns.window_size(reader, family) if kind != patterns.FULL else 0
    if attention.is_latent(reader, family):
        return attention.latent(reader, family, kind_window=window)
    heads, kv_heads, dim = attention.head_dims(reader)
    if reader.flags(family.multi_query):
        kv_heads = 1
    return attention.grouped(
        reader, family, kind=kind, window=window, heads=heads, kv_heads=kv_heads, qk_dim=dim, v_dim=dim
    )


def plain_feed_forward(reader: Reader, family: Family, kind: str, index: int) -> FeedForward:
    if kind == patterns.MOE:
        return feedforward.experts(reader, family, index)
    return feedforward.dense(reader, family, feedforward.dense_width(reader, family, index))


def plain_norms(reader: Reader, family: Family, mixer: str, feed_forward: str, index: int) -> int:
    return family.layer_norms * norm_size(family, reader.dim("hidden_size"))


def plain_recurrent(reader: Reader, family: Family) -> Recurrent:
    """The family's recurrence with its usual keys."""
    kind = family.recurrent
    if kind == "gated_delta":
        return recurrent.gated_delta(reader)
    if kind == "kimi_delta":
        linear = reader.section("linear_attn_config")
        return recurrent.kimi_delta(reader, full_rank_gate=bool(linear.get("use_full_rank_gate")))
    if kind == "kimi_delta_full":
        return recurrent.kimi_delta(reader, full_rank_gate=True, full_rank_decay=True)
    if kind == "lightning":
        heads, _, dim = attention.head_dims(reader)
        return recurrent.lightning(reader, heads, dim)
    if kind == "short_conv":
        return recurrent.short_conv(reader)
    if kind == "rg_lru":
        return recurrent.rg_lru(reader)
    if kind == "mamba1":
        return recurrent.mamba1(reader, inner_norms=True)
    return bamba_mixer(reader)


def bamba_mixer(reader: Reader, *, norm: bool = True, out_bias: str = "mamba_proj_bias") -> Recurrent:
    """Mamba-2 with keys as Bamba, Granite and Falcon-H1 write them."""
    heads = reader.dim("mamba_n_heads")
    inner = reader.count("mamba_d_ssm") or reader.dim("mamba_expand", 2) * reader.dim("hidden_size")
    head_dim = inner // heads if reader.get("mamba_d_head") in (None, "auto") else reader.dim("mamba_d_head")
    return recurrent.mamba2(
        reader,
        heads=heads,
        head_dim=head_dim,
        groups=reader.dim("mamba_n_groups", 1),
        inner=inner,
        norm=norm,
        out_bias=out_bias,
    )


def standard(
    reader: Reader,
    family: Family,
    *,
    attention_of: AttentionOf = plain_attention,
    feed_forward_of: FeedForwardOf = plain_feed_forward,
    norms_of: NormsOf = plain_norms,
    differs_by: Sequence[object] | None = None,
) -> Draft:
    """A stack of layers with one mixer and one feed-forward each. Equal layers are built once; `differs_by` has a value
    for each layer, by which layers of the same kinds may still differ."""
    draft = outside(reader, family)
    count = patterns.layer_count(reader)
    kinds = zip(patterns.mixers(reader, family, count), patterns.feed_forwards(reader, family, count), strict=True)
    own_values = _own_values(reader, count)
    built: dict[tuple[object, ...], Layer] = {}
    for index, (mixer, feed_forward) in enumerate(kinds):
        key = (mixer, feed_forward, own_values and own_values[index], differs_by and differs_by[index])
        if key not in built:
            own = reader.at(index) if own_values else reader
            built[key] = Layer(
                attention=attention_of(own, family, mixer, index) if mixer != patterns.RECURRENT else None,
                recurrent=plain_recurrent(own, family) if mixer == patterns.RECURRENT else None,
                feed_forward=feed_forward_of(own, family, feed_forward, index),
                norms=norms_of(own, family, mixer, feed_forward, index),
            )
        draft.layers.append(built[key])
    return draft


LISTS = ("intermediate_size", "moe_intermediate_size", "num_experts", "num_experts_per_tok", "n_shared_experts")


def _own_values(reader: Reader, count: int) -> list[tuple[object, ...]] | None:
    """What the configuration states for each layer apart; None where it states nothing so."""
    lists = [value for value in map(reader.get, LISTS) if isinstance(value, list | tuple)]
    section = reader.section("per_layer_config")
    if not lists and not section:
        return None
    return [(*(repr(each[i]) if i < len(each) else "" for each in lists), i if section else 0) for i in range(count)]


def changed(layers: list[Layer], *, other: int = 0, norms: int = 0) -> list[Layer]:
    """The layers with so many parameters more; equal ones stay one object."""
    made = {id(layer): replace(layer, other=layer.other + other, norms=layer.norms + norms) for layer in layers}
    return [made[id(layer)] for layer in layers]
