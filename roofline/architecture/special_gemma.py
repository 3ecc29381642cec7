"""Gemma 3n and Gemma 4: per-layer embeddings, layers that share a KV cache, two head sizes."""

from dataclasses import replace

from roofline.architecture import attention, build, feedforward, patterns
from roofline.architecture.build import Draft
from roofline.architecture.family import Family
from roofline.architecture.layers import Attention, FeedForward
from roofline.architecture.reading import Reader


def _first_shared(reader: Reader) -> int:
    """Layers from here on read the cache of an earlier layer of their kind."""
    return patterns.layer_count(reader) - reader.count("num_kv_shared_layers")


def per_layer_tables(reader: Reader, draft: Draft) -> None:
    """A table of V' x L·p that is looked up, its projection from the model width, and two small projections a layer."""
    width = reader.count("hidden_size_per_layer_input")
    if not width:
        return
    hidden, layers = reader.dim("hidden_size"), patterns.layer_count(reader)
    draft.lookup += reader.dim("vocab_size_per_layer_input", reader.dim("vocab_size")) * layers * width
    draft.other += hidden * layers * width
    draft.norms += width
    draft.layers = build.changed(draft.layers, other=2 * hidden * width, norms=hidden)


def gemma3n(reader: Reader, family: Family) -> Draft:
    """Gemma 3n: AltUp streams, a low-rank LAuReL branch and per-layer embeddings."""
    hidden, streams = reader.dim("hidden_size"), reader.dim("altup_num_inputs", 4)
    rank, first = reader.dim("laurel_rank", 64), _first_shared(reader)

    def of(reader: Reader, family: Family, kind: str, index: int) -> Attention:
        return _grouped(reader, family, kind, index >= first)

    shares = [index >= first for index in range(patterns.layer_count(reader))]
    draft = build.standard(reader, family, attention_of=of, differs_by=shares)
    altup = hidden + streams**2 + streams**3 + streams * hidden
    draft.layers = build.changed(draft.layers, other=altup + 2 * hidden * rank, norms=2 * hidden)
    draft.other += 2 * (streams - 1) * hidden * hidden
    per_layer_tables(reader, draft)
    return draft


def _grouped(reader: Reader, family: Family, kind: str, shares: bool, **sizes: int) -> Attention:
    heads, kv_heads, dim = attention.head_dims(reader)
    dim, kv_heads = sizes.get("dim", dim), sizes.get("kv_heads", kv_heads)
    window = patterns.window_size(reader, family) if kind == patterns.WINDOW else 0
    return attention.grouped(
        reader,
        family,
        kind=kind,
        window=window,
        heads=heads,
        kv_heads=kv_heads,
        qk_dim=dim,
        v_dim=dim,
        projects_kv=not shares,
        keys_are_values=bool(sizes.get("keys_are_values")),
    )


def gemma4(reader: Reader, family: Family) -> Draft:
    """Gemma 4: global layers have heads of their own size, may use keys as values; experts may stand beside the MLP."""
    count, first = patterns.layer_count(reader), _first_shared(reader)
    same = reader.flag("attention_k_eq_v")
    kinds = patterns.mixers(reader, family, count)
    if kinds[-1] != patterns.FULL:
        reader.values["layer_types"] = [
            "full_attention" if kind == patterns.FULL else "sliding_attention" for kind in kinds[:-1]
        ] + ["full_attention"]
    global_sizes = {"dim": reader.dim("global_head_dim", 512), "keys_are_values": same}
    if same and reader.has("num_global_key_value_heads"):
        global_sizes["kv_heads"] = reader.dim("num_global_key_value_heads")

    def of(reader: Reader, family: Family, kind: str, index: int) -> Attention:
        return _grouped(reader, family, kind, index >= first, **(global_sizes if kind == patterns.FULL else {}))

    def forward(reader: Reader, family: Family, kind: str, index: int) -> FeedForward:
        width = feedforward.dense_width(reader, family, index)
        doubled = reader.flag("use_double_wide_mlp") and index >= first
        return feedforward.dense(reader, family, width * (2 if doubled else 1))

    experts = reader.flag("enable_moe_block")
    if not experts:
        reader.values["num_experts"] = None
    plain = replace(family, all_moe=False)
    draft = build.standard(
        _without_experts(reader),
        plain,
        attention_of=of,
        feed_forward_of=forward,
        differs_by=[index >= first for index in range(count)],
    )
    if experts:
        _add_experts(reader, family, draft)
    per_layer_tables(reader, draft)
    return draft


def _without_experts(reader: Reader) -> Reader:
    dense = Reader({}, {**reader.values, "num_experts": None}, model_type=reader.model_type)
    dense.missing = reader.missing
    return dense


def _add_experts(reader: Reader, family: Family, draft: Draft) -> None:
    """Experts beside the dense MLP, three more norms, a router with scales."""
    hidden = reader.dim("hidden_size")
    mixture = feedforward.experts(reader, family)
    mixture = replace(mixture, other=hidden + mixture.experts)
    draft.layers = [
        replace(layer, second_feed_forward=mixture, norms=layer.norms + 3 * hidden) for layer in draft.layers
    ]
