"""Typical dimensions for a bare size: what a model of so many parameters usually looks like, fitted to hit the size."""

import math
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from roofline.architecture.errors import InvalidConfig
from roofline.architecture.model import Architecture
from roofline.architecture.parse import parse

# Width and depth of well-known dense models by parameters in 10^9: Pythia, Llama 2 and 3, Qwen, Mistral-Large; the
# last continues the line.
SIZES_B = (0.07, 0.16, 0.4, 1.0, 1.6, 3.2, 8.0, 13.0, 32.0, 70.0, 123.0, 405.0, 1000.0, 10000.0)
WIDTHS = (512, 768, 1024, 2048, 2048, 3072, 4096, 5120, 6144, 8192, 12288, 16384, 20480, 49152)
VOCAB, SMALL_VOCAB, SMALL_B = 128_256, 32_000, 0.3
FF_RATIO = 3.5  # of a gated feed-forward to the width, Llama 3
KV_HEADS, TOP_K = 8, 8
TIED_BELOW_B = 2.5
SMALLEST_B, LARGEST_B = 0.01, 100_000.0


@lru_cache(maxsize=4096)
def typical(params_b: float, active_params_b: float | None = None) -> Architecture:
    """A Llama-like dense model, or a mixture of experts where fewer parameters are active, of the size asked for.

    params_b and active_params_b in 10^9. Totals are within 1 % of what was asked; a note in `warnings` gives the
    dimensions.
    Raises InvalidConfig for sizes that no model has.
    """
    _check(params_b, active_params_b)
    if active_params_b is None or active_params_b >= 0.98 * params_b:
        return _dense(params_b)
    return _mixture(params_b, active_params_b)


def _check(params_b: float, active_b: float | None) -> None:
    sizes = [params_b] if active_b is None else [params_b, active_b]
    if not all(math.isfinite(size) and SMALLEST_B <= size <= LARGEST_B for size in sizes):
        raise InvalidConfig(
            f"a model has between {SMALLEST_B:g} and {LARGEST_B:g} billion parameters", fields=("params_b",)
        )
    if active_b is not None and active_b > params_b:
        raise InvalidConfig(
            f"{active_b:g} B active parameters are more than {params_b:g} B in total", fields=("active_params_b",)
        )


def _width(size_b: float) -> int:
    """Width between the known models, on logarithmic axes, a multiple of 1024 (512 and 64 for smaller ones).

    So that heads divide among ranks.
    """
    width = float(np.exp(np.interp(math.log(size_b), np.log(SIZES_B), np.log(WIDTHS))))
    step = 1024 if width >= 3584 else 512 if width >= 1024 else 64
    return max(step, round(width / step) * step)


def _base(size_b: float, hidden: int) -> dict[str, Any]:
    head = 128 if hidden >= 2048 else 64
    heads = max(1, hidden // head)
    kv_heads = max(d for d in range(1, KV_HEADS + 1) if heads % d == 0)
    return {
        "hidden_size": hidden,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": head,
        "vocab_size": VOCAB if size_b >= SMALL_B else SMALL_VOCAB,
        "tie_word_embeddings": size_b < TIED_BELOW_B,
        "max_position_embeddings": 131072,
    }


def _layer_params(base: dict[str, Any]) -> int:
    """Attention and norms of one layer."""
    hidden, width = base["hidden_size"], base["head_dim"]
    return int(hidden * width * (2 * base["num_attention_heads"] + 2 * base["num_key_value_heads"]) + 2 * hidden)


def _tables(base: dict[str, Any]) -> int:
    return int(
        base["vocab_size"] * base["hidden_size"] * (1 if base["tie_word_embeddings"] else 2) + base["hidden_size"]
    )


def _fit(value: float, step: int) -> int:
    return max(step, round(value / step) * step)


def _dense(params_b: float) -> Architecture:
    wanted = params_b * 1e9
    hidden = _width(params_b)
    base = _base(params_b, hidden)
    rest = max(wanted - _tables(base), 0.05 * wanted)
    layers = max(2, round(rest / (_layer_params(base) + 3 * hidden * FF_RATIO * hidden)))
    width = _fit((rest / layers - _layer_params(base)) / (3 * hidden), 64)
    config = {**base, "model_type": "llama", "num_hidden_layers": layers, "intermediate_size": width}
    return _noted(config, f"{params_b:g}B", f"{layers} layers, {_common(base)}, feed-forward {width}")


def _mixture(params_b: float, active_b: float) -> Architecture:
    """Equal experts of which 8 are active, and a shared one.

    The two sizes fix the width of an expert, `(total - active)/(3·L·d·(E - 8))`; E is the smallest round number that
    leaves room for
    the shared expert, whose width makes up what is missing in the active size.
    """
    total, active = params_b * 1e9, active_b * 1e9
    base, layers, fixed = _backbone(active_b)
    per_width = 3 * layers * base["hidden_size"]
    room = max(active - fixed, 0.2 * active) / per_width
    experts = _round_up(TOP_K + TOP_K * (total - active) / per_width / room)
    router = layers * base["hidden_size"] * experts
    width = _fit((total - active) / per_width / (experts - TOP_K), 8)
    shared = max(0, round((active - fixed - router) / per_width - TOP_K * width))
    config = {
        **base,
        "model_type": "qwen3_moe",
        "num_hidden_layers": layers,
        "intermediate_size": width,
        "moe_intermediate_size": width,
        "num_experts": experts,
        "num_experts_per_tok": TOP_K,
        "shared_expert_intermediate_size": shared,
    }
    note = (
        f"{layers} layers, {_common(base)}, {experts} experts of width {width}, {TOP_K} active, shared width {shared}"
    )
    return _noted(config, f"{params_b:g}B-A{active_b:g}B", note)


def _backbone(active_b: float) -> tuple[dict[str, Any], int, int]:
    """Dimensions, depth and parameters outside the experts: narrower until they are at most 60 % of the active size."""
    size = 1.5 * active_b
    while True:
        hidden = _width(size)
        base = _base(active_b, hidden)
        layers = max(2, round(hidden / 96))
        fixed = _tables(base) + layers * _layer_params(base)
        if fixed <= 0.6e9 * active_b or hidden <= 256 or size < SMALLEST_B:
            return base, layers, fixed
        size *= 0.8


def _round_up(experts: float) -> int:
    """Counts that divide among ranks: multiples of 16 from 64 on, of 8 from 16 on, of 4 below."""
    step = 16 if experts > 48 else 8 if experts > 16 else 4
    return max(TOP_K + step, math.ceil(experts / step) * step)


def _common(base: dict[str, Any]) -> str:
    tied = "tied" if base["tie_word_embeddings"] else "untied"
    heads = f"{base['num_attention_heads']} heads of {base['head_dim']} with {base['num_key_value_heads']} KV heads"
    return f"width {base['hidden_size']}, {heads}, vocabulary {base['vocab_size']} ({tied})"


def _noted(config: dict[str, Any], name: str, note: str) -> Architecture:
    return replace(parse(config, name=name), warnings=(f"typical dimensions chosen for {name}: {note}",))
