"""Feed-forward of one layer, counted: dense, or a mixture of experts with router and shared experts."""

from roofline.architecture.errors import InvalidConfig
from roofline.architecture.family import Family
from roofline.architecture.layers import FeedForward
from roofline.architecture.reading import Reader


def dense_width(reader: Reader, family: Family, index: int = 0) -> int:
    """Width of the dense feed-forward by the rule of the family."""
    hidden = reader.dim("hidden_size")
    value = reader.get(family.dense_width)
    if isinstance(value, list | tuple):
        return _layered(reader, family.dense_width, index)
    if family.width_rule == "4d":
        return reader.dim(family.dense_width, 4 * hidden)
    if family.width_rule == "multiple":
        return reader.dim(family.dense_width, reader.dim("intermediate_multiple_size", 4) * hidden)
    width = reader.dim(family.dense_width)
    if family.width_rule == "half":
        return width // 2
    if family.width_rule == "lfm2" and reader.flag("block_auto_adjust_ff_dim", True):
        return _lfm2_width(reader, width)
    return width


def _lfm2_width(reader: Reader, width: int) -> int:
    """LFM2 narrows to two thirds, scales, and rounds up to a multiple."""
    multiplier = reader.get("block_ffn_dim_multiplier")
    width = int(2 * width / 3)
    if isinstance(multiplier, int | float) and not isinstance(multiplier, bool):
        width = int(multiplier * width)
    multiple = reader.dim("block_multiple_of", 256)
    return multiple * ((width + multiple - 1) // multiple)


def dense(reader: Reader, family: Family, width: int, hidden: int | None = None) -> FeedForward:
    """Gated 3·d·ff, plain 2·d·ff; biases ff for each inner matrix and d."""
    hidden = hidden or reader.dim("hidden_size")
    matrices = 3 if family.gated else 2
    bias = reader.flags(family.mlp_flag)
    return FeedForward(
        kind="dense",
        width=width,
        matrices=matrices,
        weights=matrices * hidden * width,
        biases=bias * ((matrices - 1) * width + hidden),
        norms=width * family.mlp_norm,
        other=family.mlp_other,
    )


def shared_width(reader: Reader, expert_width: int, index: int = 0) -> int:
    """Width of all shared experts together: stated, or a count times the width of an expert."""
    count = reader.get("n_shared_experts")
    if isinstance(count, list | tuple):
        counts = reader.per_layer("n_shared_experts", index + 1)
        count = counts[index] if counts else 0
    if reader.has("shared_intermediate_size"):
        width = reader.count("shared_intermediate_size")
        return width if count is None else width * min(reader.whole("n_shared_experts", count, least=0), 1)
    return reader.whole("n_shared_experts", count, least=0) * expert_width if count is not None else 0


def experts(reader: Reader, family: Family, index: int = 0) -> FeedForward:
    """E routed experts of which k run, a router d·E, shared experts always on.

    Expert biases are counted with the experts, the router's own bias with the router.
    """
    hidden = reader.dim("hidden_size")
    count = _layered(reader, "num_experts", index)
    stated = reader.has("num_experts_per_tok") or not reader.missing
    top_k = _layered(reader, "num_experts_per_tok", index) if stated else 1
    if top_k > count and not reader.missing:
        message = (
            f"{reader.model_type}: num_experts_per_tok ({top_k:,}) must be at most the number of experts ({count:,})"
        )
        raise InvalidConfig(message, fields=("num_experts_per_tok",))
    width = _layered(reader, family.expert_width, index, fallback="intermediate_size")
    matrices = 3 if family.expert_gated else 2
    latent = reader.count("moe_latent_size") or hidden
    shared = shared_width(reader, width, index)
    routed = count * matrices * latent * width
    routed_biases = count * ((matrices - 1) * width + hidden) * family.expert_bias
    router = hidden * count + count * reader.flags(family.router_bias)
    bias = reader.flags(family.mlp_flag) and not family.expert_bias
    return FeedForward(
        kind="moe",
        experts=count,
        top_k=top_k,
        expert_width=width,
        expert_matrices=matrices,
        shared_width=shared,
        routed=routed + routed_biases,
        routed_biases=routed_biases,
        shared=matrices * hidden * shared + (hidden if family.shared_gate and shared else 0),
        router=router,
        weights=2 * hidden * latent if latent != hidden else 0,
        biases=bias * shared_biases(matrices, shared, hidden),
        norms=family.moe_norms * hidden + latent * reader.flag("latent_moe_use_norm"),
        other=count * reader.flags(family.correction_bias),
    )


def shared_biases(matrices: int, shared: int, hidden: int) -> int:
    return (matrices - 1) * shared + hidden if shared else 0


def _layered(reader: Reader, name: str, index: int, fallback: str = "") -> int:
    """A dimension that may be one number or a list with one for each layer."""
    name = name if reader.has(name) or not fallback else fallback
    value = reader.get(name)
    if isinstance(value, list | tuple):
        if index >= len(value):
            raise InvalidConfig(
                f"{reader.model_type}: {name} has {len(value)} entries, layer {index} has none", fields=(name,)
            )
        return reader.whole(name, value[index], least=1)
    return reader.dim(name)
