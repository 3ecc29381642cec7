"""The coefficients of training by name: meaning, unit, prior value and how far the data may move it.

`spread` is the standard deviation of the prior: of the logarithm for positive numbers, of the logit for shares.
"""

from typing import NamedTuple


class Parameter(NamedTuple):
    """One coefficient with a meaning of its own."""

    name: str
    prior: float
    spread: float
    share: bool  # lies between 0 and 1
    unit: str
    meaning: str


PARAMETERS: tuple[Parameter, ...] = (
    Parameter("stream", 0.80, 0.1, True, "1", "share of the memory bandwidth that streaming kernels reach"),
    Parameter("overlap", 0.10, 1.0, True, "1", "how much arithmetic and memory traffic of one product add up"),
    Parameter("wave", 0.50, 0.5, True, "1", "how much of a partly filled last wave of tiles is lost"),
    Parameter("launch", 3e-6, 0.5, False, "s", "gap between kernels"),
    Parameter("casts_fp8", 1.0, 0.5, False, "1", "passes over the operands that convert them to 8 bit"),
    Parameter("casts_mxfp8", 2.0, 0.5, False, "1", "the same for block-scaled 8 bit, along rows and columns"),
    Parameter(
        "casts_nvfp4", 2.5, 0.5, False, "1", "the same for block-scaled 4 bit with rotation and stochastic rounding"
    ),
    Parameter("nvfp4_high_share", 0.12, 0.4, True, "1", "share of the products that a 4-bit recipe keeps in 16 bit"),
    Parameter("passes_fused", 1.0, 0.3, False, "1", "scale of the element-wise traffic where kernels are fused"),
    Parameter("eager_passes", 2.0, 0.3, False, "1", "unfused over fused element-wise traffic"),
    Parameter("loss_passes", 3.0, 0.4, False, "1", "passes over the 32-bit logits"),
    Parameter("softmax", 8.0, 0.5, False, "dimensions", "cost of the softmax of one score in head dimensions"),
    Parameter("score_passes", 6.0, 0.5, False, "1", "16-bit passes over the score matrix where attention is not fused"),
    Parameter("fa2_share", 0.55, 0.8, True, "1", "FlashAttention 2 over 3 on hardware with asynchronous tensor cores"),
    Parameter("scan", 0.10, 0.7, False, "1", "share of the peak that recurrent scans reach"),
    Parameter("adapter_passes", 3.0, 0.5, False, "1", "passes over projection outputs that low-rank adapters add"),
    Parameter("dequantise", 2.0, 0.5, False, "1", "time of the 4-bit conversion over its traffic at stream speed"),
    Parameter("grouped", 0.97, 0.3, True, "1", "grouped product over dense product, wide experts"),
    Parameter(
        "grouped_width",
        500.0,
        0.7,
        False,
        "columns",
        "expert width (the smaller of its two sides) at which a grouped product reaches half of that",
    ),
    Parameter(
        "expert_skew",
        0.2,
        0.5,
        False,
        "1",
        "load of the fullest rank over the mean, for each doubling of the expert-parallel ranks, where routing is not balanced",
    ),
    Parameter("expert_loop", 2.0, 0.5, False, "1", "experts one after the other over one grouped product"),
    Parameter("permute", 5.0, 0.5, False, "1", "passes over the routed hidden states"),
    Parameter(
        "expert_kernels", 15.0, 0.25, False, "1", "kernels that the host launches for each local expert, one pass"
    ),
    Parameter(
        "moe_launch", 60e-6, 0.7, False, "s", "router, synchronisation and small kernels of a MoE layer, one pass"
    ),
    Parameter("moe_sync", 0.3, 0.8, True, "1", "share of the host's work for MoE layers that the GPU waits for"),
    Parameter("moe_trend", 0.4, 0.3, False, "1/year", "yearly decline of the MoE overheads"),
    Parameter("host_trend", 0.4, 0.3, False, "1/year", "yearly decline of the host's work for MoE layers"),
    Parameter("trend", 0.03, 0.5, False, "1/year", "yearly decline of the time of everything on the GPU"),
    Parameter("host", 5e-6, 0.5, False, "s", "host time to launch one kernel"),
    Parameter("link", 0.75, 0.3, True, "1", "share of the fast link that collectives reach"),
    Parameter("nic", 0.75, 0.4, True, "1", "share of the network that collectives reach"),
    Parameter("link_latency", 10e-6, 0.5, False, "s", "latency of one collective on the fast link"),
    Parameter("nic_latency", 25e-6, 0.5, False, "s", "latency of one collective over the network"),
    Parameter("rank_latency", 0.5e-6, 0.7, False, "s", "latency that each further rank adds"),
    Parameter(
        "tp_hidden", 0.5, 0.8, True, "1", "share of tensor-parallel traffic hidden behind products, where overlap is on"
    ),
    Parameter("cp_hidden", 0.7, 0.8, True, "1", "share of context-parallel traffic hidden behind attention"),
    Parameter("ep_hidden", 0.3, 0.8, True, "1", "share of expert traffic hidden behind products"),
    Parameter(
        "dp_hidden", 0.85, 0.8, True, "1", "share of gradient and weight traffic hidden behind the pass it overlaps"
    ),
    Parameter("pp_hidden", 0.7, 0.8, True, "1", "share of pipeline traffic hidden"),
    Parameter(
        "dispatch_far",
        0.7,
        0.5,
        False,
        "1",
        "expert traffic over the network: time over that of merged bytes at link speed",
    ),
    Parameter("step_fixed", 0.015, 0.7, False, "s", "fixed cost of one optimizer step"),
    Parameter("optimizer_passes", 1.5, 0.4, False, "1", "optimizer time over its traffic at stream speed"),
    Parameter("jitter", 0.006, 0.5, False, "1", "slowdown for each doubling of the GPUs, from one node on"),
    Parameter("big_jitter", 0.02, 0.5, False, "1", "further slowdown for each doubling beyond 1,024 GPUs"),
)
FAMILY_PRIORS: dict[str, tuple[float, float]] = {  # prior and spread of keyed coefficients (shares)
    "gemm//fp32": (0.80, 0.3),
    "gemm//tf32": (0.70, 0.3),
    "gemm//fp16": (0.76, 0.3),
    "gemm//bf16": (0.76, 0.3),
    "gemm//fp8": (0.62, 0.3),
    "gemm//mxfp8": (0.62, 0.3),
    "gemm//nvfp4": (0.42, 0.3),
    # Families whose large products were timed alone, and reach another share than most.
    "gemm/Ampere/bf16": (0.80, 0.3),  # operator timings, coefficients/gemm.csv
    "gemm/Ada Lovelace/bf16": (0.57, 0.3),
    "gemm/Ada Lovelace/fp8": (0.45, 0.3),
    "gemm/Blackwell/bf16": (0.65, 0.3),
    "gemm/Blackwell/fp8": (0.50, 0.3),
    "gemm/Blackwell Ultra/bf16": (0.70, 0.3),
    "gemm/CDNA3/bf16": (0.47, 0.2),  # 620 of 1,307 TFLOP/s; 8 bit 990 of 2,615 (SemiAnalysis, December 2024)
    "gemm/CDNA3/fp8": (0.38, 0.2),
    "gemm/CDNA4/bf16": (0.60, 0.3),
    "attention/": (0.55, 0.4),
    "framework/": (1.0, 0.08),
}
DEFAULTS: dict[str, float] = {p.name: p.prior for p in PARAMETERS} | {
    name: prior for name, (prior, _) in FAMILY_PRIORS.items()
}
BY_NAME: dict[str, Parameter] = {p.name: p for p in PARAMETERS}
