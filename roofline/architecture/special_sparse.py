"""Latest large models: latent attention with extras (A.X-K2, dots3, HY-V4) and Inkling's convolved keys and values."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from roofline.architecture import attention, build, patterns
from roofline.architecture.build import Draft
from roofline.architecture.family import Family
from roofline.architecture.layers import Attention, FeedForward
from roofline.architecture.reading import Reader


def axk2(reader: Reader, family: Family) -> Draft:
    """A.X-K2: queries and an output gate come from one projection of the query rank, twice over.

    Norms have a low-rank gate.
    """
    hidden, rank = reader.dim("hidden_size"), reader.dim("gated_norm_rank", 16)
    heads, q_rank = reader.dim("num_attention_heads"), reader.dim("q_lora_rank")

    def of(reader: Reader, family: Family, kind: str, index: int) -> Attention:
        plain = attention.latent(reader, family)
        added = q_rank * heads * plain.qk_dim + 2 * q_rank * heads * plain.v_dim
        gated = replace(plain, weights=plain.weights + added, query_gate=True)
        return attention.with_indexer(gated, reader)

    def norms(reader: Reader, family: Family, mixer: str, feed_forward: str, index: int) -> int:
        gates = 2 if feed_forward == patterns.MOE else 1
        return 2 * hidden + gates * 2 * rank * hidden

    return build.standard(reader, family, attention_of=of, norms_of=norms)


def dots3(reader: Reader, family: Family) -> Draft:
    """dots3: sparse latent layers, and windowed ones with ranks and heads of their own; a gate for each head."""
    count = patterns.layer_count(reader)
    if not isinstance(reader.get("layer_types"), list | tuple):
        kinds = ["full_attention" if index < 2 or index % 4 == 1 else "sliding_attention" for index in range(count)]
        reader.values["layer_types"] = kinds
    reader.values["sliding_window"] = reader.get("sliding_window") or 512
    own = {} if reader.section("per_layer_config") else _window_sizes(reader)

    def of(reader: Reader, family: Family, kind: str, index: int) -> Attention:
        windowed = kind == patterns.WINDOW
        layer = Reader(own, reader.values, model_type=reader.model_type) if windowed and own else reader
        window = patterns.window_size(reader, family) if windowed else 0
        plain = attention.latent(layer, family, kind_window=window)
        plain = replace(plain, norms=plain.norms + plain.rope_dim)
        return plain if windowed or reader.get("use_dsa") is False else attention.with_indexer(plain, reader)

    return build.standard(reader, family, attention_of=of)


def _window_sizes(reader: Reader) -> Mapping[str, Any]:
    defaults = {
        "num_attention_heads": 64,
        "q_lora_rank": 1024,
        "kv_lora_rank": 1024,
        "qk_nope_head_dim": 192,
        "v_head_dim": 128,
    }
    sizes = {name: reader.dim(f"swa_{name}", value) for name, value in defaults.items()}
    width = reader.dim("swa_head_dim", 256) - sizes["qk_nope_head_dim"]
    return {**sizes, "qk_rope_head_dim": reader.dim("swa_qk_rope_head_dim", max(width, 1))}


def hy_v4(reader: Reader, family: Family) -> Draft:
    """HY-V4: sinks, a gated output, indexers on some layers, and hyper-connections between several streams."""
    hidden, streams, count = reader.dim("hidden_size"), reader.dim("hc_mult", 4), patterns.layer_count(reader)
    names = {"full": "full", "shared": "shared"}
    owners = patterns.named(reader, "indexer_types", count, names)
    owners = owners or ["full" if index == 0 or (index - 1) % 4 == 0 else "shared" for index in range(count)]

    def of(reader: Reader, family: Family, kind: str, index: int) -> Attention:
        return attention.with_indexer(attention.latent(reader, family), reader, owns=owners[index] == "full")

    draft = build.standard(reader, family, attention_of=of, differs_by=owners)
    mixing = 2 * (2 * streams * streams * hidden + 2 * streams + 2)
    draft.layers = build.changed(draft.layers, other=mixing)
    draft.other += streams * streams * hidden + streams + 1
    return draft


def inkling(reader: Reader, family: Family) -> Draft:
    """Inkling: relative positions from a projection, short convolutions over keys.

    Values and both outputs of a layer.
    """
    hidden, kernel, count = reader.dim("hidden_size"), reader.dim("conv_kernel_size", 4), patterns.layer_count(reader)
    _inkling_keys(reader, count)

    def of(reader: Reader, family: Family, kind: str, index: int) -> Attention:
        prefix = "swa_" if kind == patterns.WINDOW else ""
        heads = reader.dim(f"{prefix}num_attention_heads", reader.dim("num_attention_heads"))
        kv_heads = reader.dim(f"{prefix}num_key_value_heads", reader.dim("num_key_value_heads"))
        dim, window = reader.dim(f"{prefix}head_dim", reader.dim("head_dim")), patterns.window_size(reader, family)
        window = window if prefix else 0
        plain = attention.grouped(
            reader, family, kind=kind, window=window, heads=heads, kv_heads=kv_heads, qk_dim=dim, v_dim=dim
        )
        relative, extent = reader.dim("d_rel", 16), window or reader.dim("rel_extent", 1024)
        added = hidden * heads * relative
        other = relative * extent + 2 * kv_heads * dim * kernel
        return replace(plain, weights=plain.weights + added, other=plain.other + other)

    draft = build.standard(reader, family, attention_of=of, feed_forward_of=_inkling_forward)
    draft.layers = build.changed(draft.layers, other=2 * hidden * kernel)
    return draft


def _inkling_keys(reader: Reader, count: int) -> None:
    if not isinstance(reader.get("layer_types"), list | tuple):
        local = reader.get("local_layer_ids")
        chosen = set(local) if isinstance(local, list | tuple) else {index for index in range(count) if (index + 1) % 6}
        reader.values["layer_types"] = ["hybrid_sliding" if index in chosen else "hybrid" for index in range(count)]
    if reader.has("dense_intermediate_size"):
        reader.values["moe_intermediate_size"] = reader.get("intermediate_size")
        reader.values["intermediate_size"] = reader.get("dense_intermediate_size")
    if reader.has("dense_mlp_idx") and not reader.has("mlp_layer_types"):
        reader.values["first_k_dense_replace"] = reader.get("dense_mlp_idx")


def _inkling_forward(reader: Reader, family: Family, kind: str, index: int) -> FeedForward:
    """Shared experts have a row each in the router; a scale stands over either kind of feed-forward."""
    plain = build.plain_feed_forward(reader, family, kind, index)
    if kind == patterns.DENSE:
        return replace(plain, other=plain.other + 1)
    rows = reader.dim("hidden_size") * reader.count("n_shared_experts")
    return replace(plain, router=plain.router + rows, other=plain.other + 1)
