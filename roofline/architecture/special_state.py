"""Builders of models whose layers keep a constant state, alone or beside attention."""

from dataclasses import replace

from roofline.architecture import build, feedforward, patterns, recurrent
from roofline.architecture.build import Draft
from roofline.architecture.errors import InvalidConfig
from roofline.architecture.family import Family
from roofline.architecture.layers import Attention, FeedForward, Layer, Recurrent
from roofline.architecture.reading import Reader


def _only(reader: Reader, family: Family, mixer: Recurrent, norms: int) -> Draft:
    draft = build.outside(reader, family)
    draft.layers = [Layer(recurrent=mixer, norms=norms)] * patterns.layer_count(reader)
    return draft


def mamba(reader: Reader, family: Family) -> Draft:
    """Mamba and Falcon-Mamba: one mixer and one norm a layer."""
    return _only(reader, family, recurrent.mamba1(reader, inner_norms=False), reader.dim("hidden_size"))


def mamba2(reader: Reader, family: Family) -> Draft:
    """Mamba-2 alone."""
    heads, dim = reader.dim("mamba_n_heads"), reader.dim("mamba_d_head", 64)
    inner = reader.dim("mamba_expand", 2) * reader.dim("hidden_size")
    mixer = recurrent.mamba2(
        reader,
        heads=heads,
        head_dim=dim,
        groups=reader.dim("mamba_n_groups", 8),
        inner=inner,
        norm=True,
        in_bias="use_bias",
        out_bias="use_bias",
    )
    return _only(reader, family, mixer, reader.dim("hidden_size"))


def rwkv(reader: Reader, family: Family) -> Draft:
    """RWKV-4: time mixing and channel mixing; five vectors of state a layer."""
    hidden = reader.dim("hidden_size")
    width, inner = reader.dim("attention_hidden_size", hidden), reader.dim("intermediate_size", 4 * hidden)
    mixer = Recurrent(
        kind="rwkv",
        weights_in=3 * hidden * width,
        weights_out=width * hidden,
        vectors=2 * width + 3 * hidden,
        state=2 * hidden + 3 * width,
        flops=10 * width,
    )
    channel = FeedForward(
        kind="dense", width=inner, matrices=2, weights=2 * hidden * inner + hidden * hidden, other=2 * hidden
    )
    draft = build.outside(reader, replace(family, norm="layer"))
    first = Layer(recurrent=mixer, feed_forward=channel, norms=6 * hidden)
    later = Layer(recurrent=mixer, feed_forward=channel, norms=4 * hidden)
    draft.layers = [first] + [later] * (patterns.layer_count(reader) - 1)
    return draft


def rwkv5(reader: Reader, family: Family) -> Draft:
    """RWKV-5: matrix-valued heads, a gate, and a feed-forward of 3.5 times the width rounded down to 32."""
    hidden = reader.dim("hidden_size")
    width, head = reader.dim("attention_hidden_size", hidden), reader.dim("rwkv_head_size", 64)
    inner = reader.dim("intermediate_size", int(3.5 * hidden) // 32 * 32)
    mixer = Recurrent(
        kind="rwkv",
        weights_in=4 * hidden * width,
        weights_out=width * hidden,
        vectors=4 * hidden + 2 * width,
        norms=2 * width,
        state=width * head,
        conv_state=2 * hidden,
        flops=6 * width * head,
    )
    channel = FeedForward(
        kind="dense", width=inner, matrices=2, weights=2 * hidden * inner + hidden * hidden, other=2 * hidden
    )
    draft = build.outside(reader, replace(family, norm="layer"))
    first = Layer(recurrent=mixer, feed_forward=channel, norms=6 * hidden)
    later = Layer(recurrent=mixer, feed_forward=channel, norms=4 * hidden)
    draft.layers = [first] + [later] * (patterns.layer_count(reader) - 1)
    return draft


def xlstm(reader: Reader, family: Family) -> Draft:
    """xLSTM: a matrix memory with q and k at half width, an output gate, scalar input and forget gates."""
    hidden, heads = reader.dim("hidden_size"), reader.dim("num_attention_heads")
    keys, values = _rounded(reader, "qk_dim_factor", 0.5), _rounded(reader, "v_dim_factor", 1.0)
    inner = _rounded(reader, "ffn_proj_factor", 2.667)
    bias = reader.flag("use_bias")
    mixer = Recurrent(
        kind="mlstm",
        weights_in=hidden * (2 * keys + 2 * values + 2 * heads),
        weights_out=values * hidden,
        norms=values,
        biases=2 * heads + bias * (2 * keys + 2 * values + hidden),
        state=keys * values // heads + keys + heads,
        flops=8 * keys * values // heads,
    )
    forward = FeedForward(
        kind="dense", width=inner, matrices=3, weights=3 * hidden * inner, biases=bias * (2 * inner + hidden)
    )
    draft = build.outside(reader, replace(family, final_norm=reader.flag("add_out_norm", True)))
    norm = hidden * (2 if bias else 1)
    draft.layers = [Layer(recurrent=mixer, feed_forward=forward, norms=2 * norm)] * patterns.layer_count(reader)
    return draft


def _rounded(reader: Reader, key: str, default: float) -> int:
    """A share of the model width, rounded up to 64."""
    value = reader.get(key)
    factor = (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 100 else default
    )
    wanted = reader.dim("hidden_size") * factor
    multiple = reader.dim("ffn_round_up_to_multiple_of", 64) if key == "ffn_proj_factor" else 64
    return int(multiple * ((wanted + multiple - 1) // multiple))


def jamba(reader: Reader, family: Family) -> Draft:
    """Jamba: one expert means a dense feed-forward."""
    if reader.has("num_experts") and reader.count("num_experts") <= 1:
        reader.values["num_experts"] = None
    return build.standard(reader, family)


def falcon_h1(reader: Reader, family: Family) -> Draft:
    """Falcon-H1: attention and Mamba-2 side by side in each layer."""
    mixer = build.bamba_mixer(reader, norm=reader.flag("mamba_rms_norm"), out_bias="projectors_bias")
    own = build.plain_attention(reader, family, patterns.FULL, 0)
    forward = build.plain_feed_forward(reader, family, patterns.DENSE, 0)
    layer = Layer(attention=own, recurrent=mixer, feed_forward=forward, norms=2 * reader.dim("hidden_size"))
    draft = build.outside(reader, family)
    draft.layers = [layer] * patterns.layer_count(reader)
    return draft


def granite_hybrid(reader: Reader, family: Family) -> Draft:
    """Granite 4: a shared MLP always, experts where there are any."""
    shared = reader.dim("shared_intermediate_size", 1024)
    hidden = reader.dim("hidden_size")

    def forward(reader: Reader, family: Family, kind: str, index: int) -> FeedForward:
        if kind == patterns.MOE:
            return feedforward.experts(reader, family, index)
        return FeedForward(kind="dense", width=shared, matrices=3, weights=3 * hidden * shared)

    reader.values["n_shared_experts"] = None
    return build.standard(reader, replace(family, all_moe=True), feed_forward_of=forward)


def lfm3(reader: Reader, family: Family) -> Draft:
    """LFM3: sandwich norms behind a switch."""
    return build.standard(reader, replace(family, layer_norms=4 if reader.flag("use_sandwich_norm", True) else 2))


def griffin(reader: Reader, family: Family) -> Draft:
    """RecurrentGemma: two RG-LRU layers, then one of windowed attention."""
    count = patterns.layer_count(reader)
    pattern = reader.get("layer_types")
    pattern = (
        list(pattern) if isinstance(pattern, list | tuple) and pattern else ["recurrent", "recurrent", "attention"]
    )
    types = (pattern * (count // len(pattern) + 1))[:count]
    reader.values["layer_types"] = ["sliding_attention" if kind == "attention" else kind for kind in types]
    return build.standard(reader, family)


# Letters of hybrid_override_pattern and words of layers_block_type.
BLOCKS = {
    "M": "mamba", "*": "attention", "-": "mlp", "E": "moe",
    "mamba": "mamba", "mamba2": "mamba", "linear_attention": "mamba",
    "attention": "attention", "full_attention": "attention", "mlp": "mlp", "moe": "moe",
}  # fmt: skip


def _blocks(reader: Reader) -> list[str]:
    words = reader.get("layer_types") or reader.get("hybrid_override_pattern") or ["mamba", "moe", "attention", "mlp"]
    if not isinstance(words, str | list | tuple) or len(words) > 4096:
        raise InvalidConfig(
            f"{reader.model_type}: hybrid_override_pattern is a text or a list of blocks",
            fields=("hybrid_override_pattern",),
        )
    unknown = [str(word)[:20] for word in words if not isinstance(word, str) or word not in BLOCKS]
    if unknown:
        raise InvalidConfig(
            f"{reader.model_type}: unknown block {unknown[0]!r} in the pattern", fields=("hybrid_override_pattern",)
        )
    return [BLOCKS[word] for word in words]


def nemotron_h(reader: Reader, family: Family) -> Draft:
    """Nemotron-H: each block is one of Mamba-2, attention, MLP or experts, with one norm."""
    hidden = reader.dim("hidden_size")
    makers = {
        "mamba": lambda: Layer(recurrent=_nemotron_mamba(reader), norms=hidden),
        "attention": lambda: Layer(attention=build.plain_attention(reader, family, patterns.FULL, 0), norms=hidden),
        "mlp": lambda: Layer(
            feed_forward=feedforward.dense(reader, family, feedforward.dense_width(reader, family)), norms=hidden
        ),
        "moe": lambda: Layer(feed_forward=feedforward.experts(reader, family), norms=hidden),
    }
    blocks = _blocks(reader)
    built = {kind: makers[kind]() for kind in dict.fromkeys(blocks)}
    draft = build.outside(reader, family)
    draft.layers = [built[kind] for kind in blocks]
    return draft


def _nemotron_mamba(reader: Reader) -> Recurrent:
    heads, dim = reader.dim("mamba_n_heads"), reader.dim("mamba_d_head", 64)
    return recurrent.mamba2(
        reader,
        heads=heads,
        head_dim=dim,
        groups=reader.dim("mamba_n_groups", 8),
        inner=heads * dim,
        norm=True,
        in_bias="use_bias",
        out_bias="use_bias",
    )


def zamba(reader: Reader, family: Family) -> Draft:
    """Zamba: Mamba layers; some are preceded by one attention block that all of them share."""
    hidden = reader.dim("hidden_size")
    heads, wide = reader.dim("num_attention_heads"), 2 * hidden
    mixer = _zamba_mamba(reader)
    period, offset = reader.dim("attn_layer_period", 6), reader.count("attn_layer_offset", 4)
    count = patterns.layer_count(reader)
    hybrid = _zamba_hybrids(reader, count) or [
        2,
        *(index + 3 for index in range(count - 3) if index % period == offset),
    ]
    kv_heads, dim = reader.dim("num_key_value_heads", heads), wide // heads
    weights = wide * dim * (heads + 2 * kv_heads) + heads * dim * hidden
    shared = Attention(kind="full", heads=heads, kv_heads=kv_heads, qk_dim=dim, v_dim=dim, weights=weights, norms=wide)
    forward = feedforward.dense(reader, replace(family, biases="none"), reader.dim("intermediate_size", 4 * hidden))
    return _shared_stack(reader, family, mixer, shared, replace(forward, norms=hidden), hybrid, blocks=1)


def _zamba_hybrids(reader: Reader, count: int) -> list[int]:
    types = reader.get("layer_types")
    if not isinstance(types, list | tuple):
        return []
    return [index for index, kind in enumerate(types[:count]) if kind == "hybrid"]


def _zamba_mamba(reader: Reader) -> Recurrent:
    """Mamba-1 in several heads: the x and dt projections are block-diagonal."""
    hidden = reader.dim("hidden_size")
    inner = reader.dim("mamba_expand", 2) * hidden
    state, kernel, rank = (
        reader.dim("mamba_d_state", 16),
        reader.dim("mamba_d_conv", 4),
        reader.dim("mamba_dt_rank", -(-hidden // 16)),
    )
    return Recurrent(
        kind="mamba",
        weights_in=hidden * 2 * inner + (rank + 2 * state) * inner + rank * inner,
        weights_out=inner * hidden,
        vectors=inner * kernel + inner * state + inner,
        biases=inner * reader.flag("mamba_conv_bias", True)
        + inner
        + reader.flag("mamba_proj_bias") * (2 * inner + hidden),
        state=inner * state,
        conv_state=inner * (kernel - 1),
        flops=6 * inner * state,
    )


def _shared_stack(
    reader: Reader,
    family: Family,
    mixer: Recurrent,
    shared: Attention,
    forward: FeedForward,
    hybrid: list[int],
    *,
    blocks: int,
    adapters: int = 0,
) -> Draft:
    """The shared block's parameters count once, its cache in each layer that calls it.

    Each caller has a projection of its own.
    """
    hidden = reader.dim("hidden_size")
    draft = build.outside(reader, family)
    plain = Layer(recurrent=mixer, norms=hidden)
    first = Layer(
        attention=shared, recurrent=mixer, feed_forward=forward, norms=hidden, other=hidden * hidden + adapters
    )
    again = Layer(
        attention=replace(shared, weights=0, norms=0, biases=0, other=0),
        recurrent=mixer,
        feed_forward=replace(forward, weights=0, norms=0, biases=0, other=0),
        norms=hidden,
        other=hidden * hidden + adapters,
    )
    calls = {index: number for number, index in enumerate(hybrid)}
    draft.layers = [
        plain if index not in calls else first if calls[index] < blocks else again
        for index in range(patterns.layer_count(reader))
    ]
    return draft


def zamba2(reader: Reader, family: Family) -> Draft:
    """Zamba2: as Zamba with Mamba-2, several shared blocks in turn and a low-rank adapter for each call."""
    hidden = reader.dim("hidden_size")
    wide, heads = 2 * hidden, reader.dim("num_attention_heads")
    inner = reader.dim("mamba_expand", 2) * hidden
    mamba_heads = reader.dim("mamba_n_heads", 8)
    mixer = recurrent.mamba2(
        reader,
        heads=mamba_heads,
        head_dim=inner // mamba_heads,
        groups=reader.dim("mamba_n_groups", 1),
        inner=inner,
        norm=True,
        in_bias="add_bias_linear",
        out_bias="add_bias_linear",
        conv_bias="yes",
    )
    count, blocks = patterns.layer_count(reader), reader.dim("num_mem_blocks", 1)
    hybrid = _zamba_hybrids(reader, count)
    if not hybrid:
        hybrid = [*range(6, 43, 6), 47, 51] if count == 54 else []
    if not hybrid:
        raise InvalidConfig("zamba2: layers_block_type must say which layers are hybrid", fields=("layers_block_type",))
    kv_heads = reader.dim("num_key_value_heads", heads)
    dim = wide // heads
    shared = Attention(
        kind="full",
        heads=heads,
        kv_heads=kv_heads,
        qk_dim=dim,
        v_dim=dim,
        weights=wide * dim * (heads + 2 * kv_heads) + heads * dim * hidden,
        norms=wide,
    )
    width, rank = reader.dim("intermediate_size", 4 * hidden), reader.dim("adapter_rank", 128)
    bias = reader.flag("add_bias_linear")
    forward = FeedForward(
        kind="dense",
        width=width,
        matrices=3,
        weights=3 * hidden * width,
        norms=hidden,
        biases=bias * (2 * width + hidden),
    )
    adapters = rank * (hidden + 2 * width) + reader.flag("use_shared_attention_adapter") * 3 * 2 * rank * wide
    return _shared_stack(reader, family, mixer, shared, forward, hybrid, blocks=blocks, adapters=adapters)


def olmo_hybrid(reader: Reader, family: Family) -> Draft:
    """OLMo-Hybrid: sizes of the recurrence follow from those of attention where they are not stated."""
    heads, hidden = reader.dim("num_attention_heads"), reader.dim("hidden_size")
    values = reader.values
    for key in ("linear_num_key_heads", "linear_num_value_heads"):
        values[key] = values.get(key) or heads
    values["linear_key_head_dim"] = values.get("linear_key_head_dim") or int(
        0.75 * hidden / reader.dim("linear_num_key_heads")
    )
    values["linear_value_head_dim"] = values.get("linear_value_head_dim") or 2 * reader.dim("linear_key_head_dim")
    return build.standard(reader, family)
