"""Stored size of a checkpoint whose configuration says which modules are quantised and which stay at 16 bit."""

import math
from collections.abc import Sequence
from functools import lru_cache

from roofline.architecture import Architecture, Quantization
from roofline.architecture.layers import Layer
from roofline.precision import FORMATS, SIXTEEN_BIT

USUAL_GROUP = 128
SCALE = 2.0  # bytes of a group's scale

# Spellings of the modules of a layer: a checkpoint's exceptions name them by one or the other.
ATTENTION = ("self_attn.q_proj", "self_attn.q_a_proj", "self_attn.qkv_proj", "attention.wq", "attn.q_proj")
DENSE = ("mlp.up_proj", "mlp.gate_up_proj", "feed_forward.w3", "mixer.up_proj")
SHARED = ("mlp.shared_experts.up_proj", "mlp.shared_expert.up_proj", "mixer.shared_experts.up_proj")
ROUTED = ("mlp.experts.0.up_proj", "mlp.experts", "block_sparse_moe.experts.0.w1", "mixer.experts.0.up_proj")
RECURRENT = ("linear_attn.in_proj_qkvz", "mixer.in_proj", "mamba.in_proj")


def stored_bytes(architecture: Architecture, weights: str) -> float:
    """Bytes of the checkpoint, vision tower included; nan where it is not stored in the format `weights`.

    Matrices take the format's bytes unless the configuration excepts them; tables, heads, norms, routers and vectors
    are 16 bit. Source: quantization_config of Hugging Face checkpoints.
    """
    quantization = architecture.quantization
    if quantization is None or quantization.weights != weights:
        return math.nan
    return _counted(_Same(architecture))


class _Same:
    """An architecture as a key: equal only to itself, for hashing all of its layers costs more than counting them."""

    def __init__(self, architecture: Architecture) -> None:
        self.architecture = architecture

    def __hash__(self) -> int:
        return id(self.architecture)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.architecture is self.architecture


@lru_cache(maxsize=512)
def _counted(same: _Same) -> float:
    architecture = same.architecture
    quantization = architecture.quantization
    assert quantization is not None
    layers = sum(
        _layer_bytes(group.layer, index, quantization) for group in architecture.groups for index in group.indices
    )
    counted = sum(group.count * group.layer.params for group in architecture.groups)
    outside = architecture.total_params - counted + (architecture.vision_params or 0)
    return layers + SIXTEEN_BIT * outside


def _layer_bytes(layer: Layer, index: int, quantization: Quantization) -> float:
    body, experts = _each(quantization, quantization.weights), _each(quantization, quantization.expert_format)
    rest = SIXTEEN_BIT if quantization.only_experts else body

    def width(names: Sequence[str], quantised: float) -> float:
        return SIXTEEN_BIT if quantization.is_exception([f"layers.{index}.{name}" for name in names]) else quantised

    attended = sum(attention.weights for attention in layer.attentions)
    dense = sum(feed.weights for feed in layer.feed_forwards)
    shared = sum(feed.shared for feed in layer.feed_forwards)
    routed = sum(feed.routed - feed.routed_biases for feed in layer.feed_forwards)
    recurrent = layer.recurrent.weights_in + layer.recurrent.weights_out if layer.recurrent else 0
    matrices = attended + dense + shared + routed + recurrent
    quantised = (
        attended * width(ATTENTION, rest)
        + dense * width(DENSE, rest)
        + shared * width(SHARED, rest)
        + routed * width(ROUTED, experts)
        + recurrent * width(RECURRENT, rest)
    )
    return quantised + SIXTEEN_BIT * (layer.params - matrices)


def _each(quantization: Quantization, name: str) -> float:
    """Bytes of a parameter; integers in groups of another size than usual have scales of their own."""
    if name == "int4_g128" and quantization.group_size not in (0, USUAL_GROUP):
        return quantization.bits / 8 + SCALE / quantization.group_size
    return FORMATS[name].body
