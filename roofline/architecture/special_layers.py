"""Builders of models whose layers differ one from the next: searched and scaled ones."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from roofline.architecture import attention, build, feedforward, patterns
from roofline.architecture.build import Draft
from roofline.architecture.errors import InvalidConfig
from roofline.architecture.family import Family
from roofline.architecture.layers import Attention, FeedForward, Layer
from roofline.architecture.reading import Reader


def nas(reader: Reader, family: Family) -> Draft:
    """Searched models (Nemotron-NAS, Deci): each block has its own KV groups and width, or none.

    Or a linear layer in its place.
    """
    count = patterns.layer_count(reader)
    blocks = reader.get("block_configs")
    if not isinstance(blocks, list | tuple):
        return _deci(reader, family, count)
    if len(blocks) < count or not all(isinstance(block, Mapping) for block in blocks):
        raise InvalidConfig(
            f"{reader.model_type}: block_configs has one section for each of {count} layers", fields=("block_configs",)
        )
    draft = build.outside(reader, family)
    built: dict[str, Layer] = {}
    for block in blocks[:count]:
        key = repr(block)
        if key not in built:
            built[key] = _searched(reader, family, block)
        draft.layers.append(built[key])
    return draft


def _deci(reader: Reader, family: Family, count: int) -> Draft:
    per_layer = reader.per_layer("num_key_value_heads_per_layer", count, least=1)
    if per_layer is None:
        raise InvalidConfig(f"{reader.model_type}: block_configs is missing", fields=("block_configs",))

    def of(reader: Reader, family: Family, kind: str, index: int) -> Attention:
        heads = reader.dim("num_attention_heads")
        dim = attention.head_dim(reader, heads)
        return attention.grouped(
            reader, family, kind=kind, window=0, heads=heads, kv_heads=per_layer[index], qk_dim=dim, v_dim=dim
        )

    return build.standard(reader, family, attention_of=of, differs_by=per_layer)


def _searched(reader: Reader, family: Family, block: Mapping[str, Any]) -> Layer:
    hidden = reader.dim("hidden_size")
    attn, ffn = _part(block, "attention"), _part(block, "ffn")
    return Layer(
        attention=_searched_attention(reader, family, attn),
        feed_forward=_searched_forward(reader, family, ffn),
        norms=sum(hidden for section in (attn, ffn) if not section.get("no_op")),
        other=sum(hidden * hidden for section in (attn, ffn) if section.get("replace_with_linear")),
    )


def _part(block: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = block.get(name)
    return section if isinstance(section, Mapping) else {}


def _searched_attention(reader: Reader, family: Family, section: Mapping[str, Any]) -> Attention | None:
    if section.get("no_op") or section.get("replace_with_linear"):
        return None
    heads = reader.dim("num_attention_heads")
    group = reader.whole("n_heads_in_group", section.get("n_heads_in_group", 1), least=1)
    dim = attention.head_dim(reader, heads)
    return attention.grouped(
        reader, family, kind="full", window=0, heads=heads, kv_heads=max(1, heads // group), qk_dim=dim, v_dim=dim
    )


def _searched_forward(reader: Reader, family: Family, section: Mapping[str, Any]) -> FeedForward | None:
    """The multiplier counts a plain feed-forward of 4·d; two thirds of it, rounded up to 256, are the gated width."""
    if section.get("no_op") or section.get("replace_with_linear"):
        return None
    if section.get("intermediate_size") is not None:
        return feedforward.dense(
            reader, family, reader.whole("intermediate_size", section["intermediate_size"], least=1)
        )
    ratio = section.get("ffn_mult")
    if not isinstance(ratio, int | float) or isinstance(ratio, bool) or not 0 < ratio < 1000:
        raise InvalidConfig(f"{reader.model_type}: a block of block_configs has no ffn_mult", fields=("block_configs",))
    width = int(2 * ratio * reader.dim("hidden_size") / 3)
    return feedforward.dense(reader, family, -(-width // 256) * 256)


def openelm(reader: Reader, family: Family) -> Draft:
    """OpenELM: heads and widths grow with depth."""
    count = patterns.layer_count(reader)
    heads, kv_heads = (
        reader.per_layer("num_query_heads", count, least=1),
        reader.per_layer("num_kv_heads", count, least=1),
    )
    kv_heads = kv_heads or reader.per_layer("num_key_value_heads", count, least=1)
    ratios, hidden, dim = reader.get("ffn_multipliers"), reader.dim("model_dim"), reader.dim("head_dim")
    if heads is None or kv_heads is None or not isinstance(ratios, list | tuple) or len(ratios) < count:
        raise InvalidConfig(
            "openelm: num_query_heads, num_kv_heads and ffn_multipliers have an entry for each layer",
            fields=("ffn_multipliers",),
        )
    if not all(isinstance(ratio, int | float) and 0 < ratio < 1000 for ratio in ratios):
        raise InvalidConfig("openelm: ffn_multipliers are numbers", fields=("ffn_multipliers",))
    reader.values["hidden_size"] = hidden
    reader.values["tie_word_embeddings"] = reader.flag("share_input_output_layers", True)
    divisor = reader.dim("ffn_dim_divisor", 256)
    draft = build.outside(reader, family)
    for index in range(count):
        own = attention.grouped(
            reader, family, kind="full", window=0, heads=heads[index], kv_heads=kv_heads[index], qk_dim=dim, v_dim=dim
        )
        width = _divisible(float(ratios[index]) * hidden, divisor)
        draft.layers.append(
            Layer(attention=own, feed_forward=feedforward.dense(reader, family, width), norms=2 * hidden)
        )
    return draft


def _divisible(value: float, divisor: int) -> int:
    """The nearest multiple that is not below nine tenths."""
    rounded = max(divisor, int(value + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * value else rounded


def jais(reader: Reader, family: Family) -> Draft:
    """Jais: a GPT-2 with ALiBi and, where the activation says so, a gate."""
    learned = reader.get("position_embedding_type") != "alibi"
    gated = reader.get("activation_function") == "swiglu"
    return build.standard(reader, replace(family, gated=gated, positions="max_position_embeddings" if learned else ""))
