"""What a checkpoint's own quantisation leaves at 16 bit, module by module, and how many bytes its weights take."""

import time
from collections.abc import Iterator

from roofline.architecture.errors import InvalidConfig
from roofline.architecture.layers import Layer
from roofline.architecture.model import Architecture
from roofline.architecture.quantization import Quantization

MOST_SECONDS = 2.0  # of matching patterns, which published checkpoints do in hundredths
FULL_BITS = 16.0
# Bits of a weight with the scales of its block or group. A group of 4-bit integers has a 16-bit scale, and a 4-bit zero
# where the method is not symmetric.
BITS = {
    "fp8": 8.0,
    "fp8_block": 8.0 + 32.0 / 128**2,
    "int8": 8.0,
    "nf4": 4.127,
    "mxfp4": 4.25,
    "mxfp8": 8.25,
    "nvfp4": 4.5,
}
SCALE_BITS, ZERO_BITS = 16.0, 4.0
SYMMETRIC_METHODS = ("compressed-tensors", "modelopt", "quark", "auto-round")

# Module names under a layer, each in the spellings of the usual implementations.
ATTENTION = ("self_attn", "attn", "attention", "mixer")
QUERY_KEY_VALUE = ("q_proj", "k_proj", "v_proj", "o_proj")
LATENT = ("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj")
FEED_FORWARD = ("mlp", "feed_forward", "block_sparse_moe", "mixer")
PROJECTIONS = ("gate_proj", "up_proj", "down_proj")
RECURRENT = ("linear_attn", "mamba", "mixer", "self_attn", "conv")


def quantized_params(architecture: Architecture) -> dict[str, int]:
    """Parameters of each part that the checkpoint stores quantised; empty where it states no quantisation.

    Parts: attention, mlp, routed_experts, shared_experts, recurrent. Embedding, head, router, norms and biases stay at
    16 bit. A module kept by name is kept in each layer in which it is named; where only some projections of a part are
    named, in proportion.
    """
    stored = architecture.quantization
    if stored is None:
        return {}
    totals = {"attention": 0.0, "mlp": 0.0, "routed_experts": 0.0, "shared_experts": 0.0, "recurrent": 0.0}
    ends = time.process_time() + MOST_SECONDS
    for group in architecture.groups:
        for index in group.indices:
            if time.process_time() > ends:
                raise InvalidConfig("quantization_config: its patterns take too long to be matched with the modules")
            for part, weights, modules in _modules(group.layer, index):
                if part == "routed_experts" or not stored.only_experts:
                    totals[part] += weights * _quantized_share(stored, modules)
    return {part: round(total) for part, total in totals.items()}


def _quantized_share(stored: Quantization, modules: list[tuple[str, ...]]) -> float:
    if not stored.exceptions:
        return 1.0
    return sum(not stored.is_exception(names) for names in modules) / len(modules)


def _modules(layer: Layer, index: int) -> Iterator[tuple[str, int, list[tuple[str, ...]]]]:
    """(part, weights, module names in their spellings) of one layer."""
    for attention in layer.attentions:
        names = LATENT if attention.kind == "mla" else QUERY_KEY_VALUE
        yield "attention", attention.weights, _named(index, ATTENTION, names)
    if layer.recurrent:
        weights = layer.recurrent.weights_in + layer.recurrent.weights_out
        yield "recurrent", weights, _named(index, RECURRENT, ("in_proj", "out_proj"))
    for forward in layer.feed_forwards:
        if forward.weights:
            yield "mlp", forward.weights, _named(index, FEED_FORWARD, PROJECTIONS)
        if forward.routed:
            experts = tuple(f"experts.0.{name}" for name in PROJECTIONS)
            yield "routed_experts", forward.routed - forward.routed_biases, _named(index, FEED_FORWARD, experts)
        if forward.shared:
            shared = tuple(f"shared_experts.{name}" for name in PROJECTIONS)
            yield "shared_experts", forward.shared, _named(index, FEED_FORWARD, shared)


def _named(index: int, parents: tuple[str, ...], names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [tuple(f"layers.{index}.{parent}.{name}" for parent in parents) for name in names]


def checkpoint_bytes(architecture: Architecture) -> float | None:
    """Bytes of all weights as the checkpoint stores them, a vision tower at 16 bit included.

    None where the configuration states no quantisation.
    """
    stored = architecture.quantization
    if stored is None:
        return None
    parts = quantized_params(architecture)
    bits = {part: _bits(stored, part) for part in parts}
    rest = architecture.total_params + (architecture.vision_params or 0) - sum(parts.values())
    return (sum(params * bits[part] for part, params in parts.items()) + rest * FULL_BITS) / 8


def _bits(stored: Quantization, part: str) -> float:
    name = stored.expert_format if part == "routed_experts" else stored.weights
    if name == "int4_g128":
        zero = 0.0 if stored.method in SYMMETRIC_METHODS else ZERO_BITS
        return stored.bits + (SCALE_BITS + zero) / (stored.group_size if stored.group_size > 0 else 128)
    return BITS.get(name, stored.bits)
