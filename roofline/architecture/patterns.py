"""Which layer is what: attention over everything, over a window, a recurrence; a dense feed-forward or experts.

Explicit lists in the configuration win; then the keys of known rules; then the pattern of the family.
"""

from typing import Any

from roofline.architecture.errors import InvalidConfig
from roofline.architecture.family import Family
from roofline.architecture.reading import Reader

FULL, WINDOW, CHUNKED, RECURRENT, BOTH, NONE = "full", "window", "chunked", "recurrent", "both", "none"
DENSE, MOE = "dense", "moe"

# Names that configurations use in layer_types and its relatives.
MIXERS = {
    "full_attention": FULL,
    "attention": FULL,
    "global": FULL,
    "global_attention": FULL,
    "indexed_attention": FULL,
    "minimax_m3_sparse": FULL,
    "full": FULL,
    "hybrid": FULL,
    "sliding_attention": WINDOW,
    "sliding_window_attention": WINDOW,
    "hybrid_sliding": WINDOW,
    "local": WINDOW,
    "local_attention": WINDOW,
    "sliding": WINDOW,
    "chunked_attention": CHUNKED,
    "linear_attention": RECURRENT,
    "mamba": RECURRENT,
    "mamba2": RECURRENT,
    "recurrent": RECURRENT,
    "conv": RECURRENT,
    "short_conv": RECURRENT,
    "kda": RECURRENT,
    "mlp": NONE,
    "moe": NONE,
}
FEED_FORWARDS = {"dense": DENSE, "mlp": DENSE, "sparse": MOE, "moe": MOE, "hash_moe": MOE}


def layer_count(reader: Reader) -> int:
    """Layers stated, or as many as an explicit list has."""
    if reader.has("num_hidden_layers"):
        return reader.dim("num_hidden_layers")
    types = reader.get("layer_types")
    if isinstance(types, list | tuple) and types:
        return reader.whole("num_hidden_layers", len(types), least=1)
    return reader.dim("num_hidden_layers")


def named(reader: Reader, key: str, layers: int, names: dict[str, str]) -> list[str] | None:
    """The list under `key` in our words; entries beyond the layers (multi-token prediction) are dropped."""
    value = reader.get(key)
    if not isinstance(value, list | tuple) or not value:
        return None
    if len(value) < layers:
        raise InvalidConfig(f"{reader.model_type}: {key} has {len(value)} entries for {layers} layers", fields=(key,))
    try:
        return [names[item] for item in value[:layers]]
    except (KeyError, TypeError):
        unknown = next(item for item in value[:layers] if not isinstance(item, str) or item not in names)
        raise InvalidConfig(
            f"{reader.model_type}: {key} names an unknown kind of layer: {str(unknown)[:40]}", fields=(key,)
        ) from None


def mixers(reader: Reader, family: Family, layers: int) -> list[str]:
    """The kind of each layer's mixer."""
    if family.window in ("", "all") and not family.recurrent and not family.mla and not _is_mixed(reader):
        return [_uniform(reader, family)] * layers
    explicit = _explicit(reader, layers)
    if explicit is not None:
        return explicit if window_size(reader, family) else [FULL if kind == WINDOW else kind for kind in explicit]
    return _by_rule(reader, family, layers)


def _is_mixed(reader: Reader) -> bool:
    return any(
        isinstance(reader.get(key), list | tuple) for key in ("layer_types", "attn_type_list", "hybrid_layer_pattern")
    )


def _uniform(reader: Reader, family: Family) -> str:
    return WINDOW if family.window == "all" and window_size(reader, family) else FULL


def _explicit(reader: Reader, layers: int) -> list[str] | None:
    types = named(reader, "layer_types", layers, MIXERS)
    if types is not None:
        return types
    for key, kinds in (("attn_type_list", (RECURRENT, FULL)), ("hybrid_layer_pattern", (FULL, WINDOW))):
        numbers = reader.per_layer(key, layers)
        if numbers is not None:
            return [kinds[min(number, 1)] for number in numbers]
    linear = reader.section("linear_attn_config")
    if isinstance(linear.get("full_attn_layers"), list):
        full = set(linear["full_attn_layers"]) if all(isinstance(i, int) for i in linear["full_attn_layers"]) else set()
        return [FULL if index + 1 in full else RECURRENT for index in range(layers)]
    for key in ("attn_layer_indices", "full_attn_idxs"):
        indices = reader.get(key)
        if isinstance(indices, list | tuple):
            chosen = {reader.whole(key, index, least=0) for index in indices}
            return [FULL if index in chosen else RECURRENT for index in range(layers)]
    return None


def _by_rule(reader: Reader, family: Family, layers: int) -> list[str]:
    rule = family.window
    if rule == "recurrent_period":
        period = reader.dim("full_attention_interval", reader.dim("layer_group_size", family.period or 4))
        return [FULL if (index + 1) % period == 0 else RECURRENT for index in range(layers)]
    if rule == "kimi":
        return [FULL if index and index % 4 == 0 else RECURRENT for index in range(layers)]
    if rule == "jamba":
        period, offset = reader.dim("attn_layer_period", 8), reader.count("attn_layer_offset", 4)
        return [FULL if index % period == offset else RECURRENT for index in range(layers)]
    if rule == "griffin":
        pattern = named(reader, "layer_types", 1, MIXERS) or [RECURRENT]
        return [pattern[index % len(pattern)] for index in range(layers)]
    if rule == "alternate_recurrent":
        return [FULL if (index + 1) % 2 else RECURRENT for index in range(layers)]
    if rule == "cycle":
        return [family.cycle[index % len(family.cycle)] for index in range(layers)]
    if rule == "lfm3":
        return [
            FULL if index % 4 == 2 else WINDOW if index and index % 4 == 0 else RECURRENT for index in range(layers)
        ]
    if rule == "all_recurrent":
        return [RECURRENT] * layers
    if not window_size(reader, family):
        return [FULL] * layers
    return [_windowed(reader, family, index, layers) for index in range(layers)]


def _windowed(reader: Reader, family: Family, index: int, layers: int) -> str:
    rule = family.window
    if rule == "qwen":
        return WINDOW if index >= reader.count("max_window_layers", layers) else FULL
    if rule == "even":
        return WINDOW if index % 2 == 0 else FULL
    if rule == "mimo":
        return FULL if index == 0 or (index + 1) % 6 == 0 else WINDOW
    if rule == "flint":
        return FULL if index < 2 or index % 4 == 1 or index == layers - 1 else WINDOW
    if rule == "first":
        return FULL if index % family.period == 0 else WINDOW
    if rule == "last_full":
        return FULL if index == layers - 1 else _periodic(reader, family, index)
    if rule == "period":
        return _periodic(reader, family, index)
    return WINDOW if rule == "all" else FULL


def _periodic(reader: Reader, family: Family, index: int) -> str:
    pattern = reader.get("sliding_window_pattern")
    if isinstance(pattern, str) and pattern:
        return FULL if pattern[index % len(pattern)] in "Gg" else WINDOW
    if isinstance(pattern, list | tuple):
        pattern = None
    period = (
        reader.dim("sliding_window_pattern", reader.dim("global_attn_every_n_layers", family.period))
        if pattern != 0
        else 1
    )
    return FULL if (index + 1) % period == 0 else WINDOW


def window_size(reader: Reader, family: Family) -> int:
    """Tokens that windowed layers look back; 0 where there are none."""
    if family.window == "qwen" and not reader.flag("use_sliding_window"):
        return 0
    value = reader.get("sliding_window")
    if isinstance(value, bool) or value is None or value == 0 or (isinstance(value, int) and value < 0):
        return 0
    return reader.dim("sliding_window")


def feed_forwards(reader: Reader, family: Family, layers: int) -> list[str]:
    """Dense or experts, for each layer."""
    if not has_experts(reader, family):
        return [DENSE] * layers
    if family.all_moe:
        return [MOE] * layers
    explicit = named(reader, "mlp_layer_types", layers, FEED_FORWARDS)
    if explicit is not None:
        return explicit
    frequencies = reader.per_layer("moe_layer_freq", layers)
    if frequencies is not None:
        return [MOE if number else DENSE for number in frequencies]
    chosen = _chosen(reader)
    if chosen is not None:
        return [MOE if index in chosen else DENSE for index in range(layers)]
    return [MOE if _is_moe(reader, index, layers) else DENSE for index in range(layers)]


def has_experts(reader: Reader, family: Family) -> bool:
    """By structure: more than no experts stated. A null or 0 means a dense model, whatever its family."""
    if family.moe or "num_experts" in reader.given:
        value: Any = reader.get("num_experts")
        if isinstance(value, list | tuple):
            return True
        return value is not None and reader.count("num_experts") > 0
    return False


def _chosen(reader: Reader) -> set[int] | None:
    layers = reader.get("moe_layers")
    if isinstance(layers, list | tuple):
        return {reader.whole("moe_layers", index, least=0) for index in layers}
    text = reader.get("moe_layers_enum")
    if isinstance(text, str) and text:
        return {int(item) for item in text.split(",") if item.strip().isdigit()}
    return None


def _is_moe(reader: Reader, index: int, layers: int) -> bool:
    if reader.has("interleave_moe_layer_step"):
        return (index + 1) % reader.dim("interleave_moe_layer_step") == 0
    if reader.has("expert_layer_period"):
        return index % reader.dim("expert_layer_period") == reader.count("expert_layer_offset")
    if reader.has("moe_layer_start_index") or reader.has("moe_layer_interval"):
        return _between(reader, index, layers)
    if reader.has("num_dense_layers"):
        return index >= reader.count("num_dense_layers")
    if reader.has("decoder_sparse_step") or reader.has("mlp_only_layers"):
        return _sparse_step(reader, index)
    first, every = reader.count("first_k_dense_replace"), reader.dim("moe_layer_freq", 1)
    return index >= first and index % every == 0


def _between(reader: Reader, index: int, layers: int) -> bool:
    start, interval = reader.count("moe_layer_start_index"), reader.dim("moe_layer_interval", 1)
    end = reader.get("moe_layer_end_index")
    last = layers - 1 if end in (None, -1) else reader.count("moe_layer_end_index")
    return (index + 1) % interval == 0 and start <= index <= last


def _sparse_step(reader: Reader, index: int) -> bool:
    only = reader.get("mlp_only_layers")
    dense = (
        {reader.whole("mlp_only_layers", item, least=0) for item in only} if isinstance(only, list | tuple) else set()
    )
    return index not in dense and (index + 1) % reader.dim("decoder_sparse_step", 1) == 0
