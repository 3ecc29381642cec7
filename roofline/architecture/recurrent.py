"""Layers with a constant state, counted: projections, convolution, and the vectors of each kind of recurrence.

Convolution state holds (kernel - 1) columns. FLOPs of the scan are those of updating and reading the state for one
token.
"""

import math
from collections.abc import Mapping
from typing import Any

from roofline.architecture.layers import Recurrent
from roofline.architecture.reading import Reader


def mamba1(reader: Reader, *, inner_norms: bool) -> Recurrent:
    """Mamba: inner width di = expand·d, state n; `in 2·d·di`, `x di·(rank + 2n)`, `dt rank·di`, `out di·d`, A and D."""
    hidden = reader.dim("hidden_size")
    inner = reader.dim("mamba_expand", 2) * hidden
    state, kernel = reader.dim("mamba_d_state", 16), reader.dim("mamba_d_conv", 4)
    rank = _rank(reader, hidden)
    bias = reader.flag("use_bias") or reader.flag("mamba_proj_bias")
    conv_bias = reader.flag("mamba_conv_bias", True)
    return Recurrent(
        kind="mamba",
        weights_in=hidden * 2 * inner + inner * (rank + 2 * state) + rank * inner,
        weights_out=inner * hidden,
        vectors=inner * kernel + inner * state + inner,
        norms=rank + 2 * state if inner_norms else 0,
        biases=inner * conv_bias + inner + bias * (2 * inner + hidden),
        state=inner * state,
        conv_state=inner * (kernel - 1),
        flops=6 * inner * state,
    )


def _rank(reader: Reader, hidden: int) -> int:
    return (
        math.ceil(hidden / 16)
        if reader.get("mamba_dt_rank") == "auto"
        else reader.dim("mamba_dt_rank", math.ceil(hidden / 16))
    )


def mamba2(
    reader: Reader,
    *,
    heads: int,
    head_dim: int,
    groups: int,
    inner: int,
    norm: bool,
    in_bias: str = "mamba_proj_bias",
    out_bias: str = "mamba_proj_bias",
    conv_bias: str = "mamba_conv_bias",
) -> Recurrent:
    """Mamba-2: one input projection to z, x, B, C and dt: `d·(2·di + 2·g·n + h)`; A.

    D and dt bias are one each a head.
    """
    hidden = reader.dim("hidden_size")
    state, kernel = reader.dim("mamba_d_state", 128), reader.dim("mamba_d_conv", 4)
    convolved = inner + 2 * groups * state
    projected = 2 * inner + 2 * groups * state + heads
    return Recurrent(
        kind="mamba2",
        weights_in=hidden * projected,
        weights_out=inner * hidden,
        vectors=convolved * kernel + 3 * heads,
        norms=inner * norm,
        biases=convolved * (reader.flags(conv_bias))
        + projected * reader.flags(in_bias)
        + hidden * reader.flags(out_bias),
        state=heads * head_dim * state,
        conv_state=convolved * (kernel - 1),
        flops=6 * heads * head_dim * state,
    )


def gated_delta(reader: Reader, *, full_gate: bool = True) -> Recurrent:
    """Gated delta rule (Qwen3-Next, Olmo-Hybrid): q, k, v, z and two gates a value head; a short convolution over q.

    K and v.
    """
    hidden = reader.dim("hidden_size")
    key_heads, value_heads = reader.dim("linear_num_key_heads"), reader.dim("linear_num_value_heads")
    key_dim, value_dim = reader.dim("linear_key_head_dim"), reader.dim("linear_value_head_dim")
    kernel = reader.dim("linear_conv_kernel_dim", 4)
    keys, values = key_heads * key_dim, value_heads * value_dim
    return Recurrent(
        kind="gated_delta",
        weights_in=hidden * (2 * keys + values + values * full_gate + 2 * value_heads),
        weights_out=values * hidden,
        vectors=(2 * keys + values) * kernel + 2 * value_heads,
        norms=value_dim,
        state=value_heads * key_dim * value_dim,
        conv_state=(2 * keys + values) * (kernel - 1),
        flops=8 * value_heads * key_dim * value_dim,
    )


def kimi_delta(reader: Reader, *, full_rank_gate: bool, full_rank_decay: bool = False) -> Recurrent:
    """Kimi delta attention: q, k, v of H·hd, a decay for each channel through a low rank, an output gate.

    Beta a head.
    """
    hidden = reader.dim("hidden_size")
    linear = reader.section("linear_attn_config")
    heads = _of(reader, linear, "num_heads", "linear_num_heads", reader.dim("num_attention_heads"))
    dim = _of(reader, linear, "head_dim", "linear_head_dim", reader.dim("head_dim", 128))
    kernel = _of(
        reader, linear, "short_conv_kernel_size", "linear_conv_kernel_dim", reader.dim("short_conv_kernel_size", 4)
    )
    width = heads * dim
    low_rank = hidden * dim + dim * width
    gates = (hidden * width if full_rank_gate else low_rank) + (hidden * width if full_rank_decay else low_rank)
    return Recurrent(
        kind="kimi_delta",
        weights_in=3 * hidden * width + gates + hidden * heads,
        weights_out=width * hidden,
        vectors=3 * width * kernel + width + heads,
        norms=dim,
        state=heads * dim * dim,
        conv_state=3 * width * (kernel - 1),
        flops=8 * heads * dim * dim,
    )


def _of(reader: Reader, section: Mapping[str, Any], short: str, name: str, default: int) -> int:
    value = section.get(short)
    return reader.whole(name, value, least=1) if value is not None else reader.dim(name, default)


def lightning(reader: Reader, heads: int, head_dim: int) -> Recurrent:
    """Lightning attention (MiniMax): fused q, k, v, an output gate and a norm, all H·hd wide."""
    hidden, width = reader.dim("hidden_size"), heads * head_dim
    return Recurrent(
        kind="lightning",
        weights_in=hidden * 3 * width + hidden * width,
        weights_out=width * hidden,
        norms=width,
        state=heads * head_dim * head_dim,
        flops=6 * heads * head_dim * head_dim,
    )


def short_conv(reader: Reader) -> Recurrent:
    """LFM2's gated short convolution: `in 3·d·d`, `out d·d`, a depthwise kernel."""
    hidden, kernel = reader.dim("hidden_size"), reader.dim("conv_L_cache", 3)
    bias = reader.flag("conv_bias")
    return Recurrent(
        kind="short_conv",
        weights_in=3 * hidden * hidden,
        weights_out=hidden * hidden,
        vectors=hidden * kernel,
        biases=bias * (3 * hidden + hidden + hidden),
        conv_state=hidden * (kernel - 1),
        flops=2 * hidden * kernel,
    )


def rg_lru(reader: Reader) -> Recurrent:
    """RG-LRU (RecurrentGemma): two input branches, block-diagonal gates, a depthwise convolution; all with bias."""
    hidden = reader.dim("hidden_size")
    width, kernel = reader.dim("lru_width", hidden), reader.dim("mamba_d_conv", 4)
    heads = reader.dim("num_attention_heads")
    block = width // heads
    return Recurrent(
        kind="rg_lru",
        weights_in=2 * hidden * width + 2 * heads * block * block,
        weights_out=width * hidden,
        vectors=width * kernel + width,
        biases=2 * width + hidden + width + 2 * heads * block,
        state=width,
        conv_state=width * (kernel - 1),
        flops=10 * width,
    )
