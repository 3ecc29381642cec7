"""Where the fit of serving coefficients starts, and how far it may go: each with its source.

`spread` is the standard deviation of the logarithm that the prior allows; 0 keeps the value as it is.
"""

from typing import NamedTuple

from roofline.codes import BACKENDS, ENGINES


class Prior(NamedTuple):
    """Starting value of one coefficient."""

    name: str
    level: str
    value: float
    spread: float
    source: str


OPERATORS = "operator timings of data/measurements/ops"
TRIAL = "median of published fits"
HABIT = "how the engine schedules, by its documentation"


def _engines(name: str, values: tuple[float, ...], spread: float, source: str) -> list[Prior]:
    return [Prior(name, engine, value, spread, source) for engine, value in zip(ENGINES, values, strict=True)]


def _levels(name: str, values: dict[str, float], spread: float, source: str) -> list[Prior]:
    return [Prior(name, level, value, spread, source) for level, value in values.items()]


def _backends(name: str, values: dict[str, float], spread: float, *, of_cuda: float = 0.0) -> list[Prior]:
    """Against CUDA, which the other coefficients are of; SYCL is not measured. rocBLAS has own values only of products."""
    fixed = {"cuda": of_cuda, "sycl": 0.0}
    return [
        Prior(name, backend, values.get(backend, 1.0), fixed.get(backend, spread), "llama-bench of several back ends")
        for backend in BACKENDS[1:]
        if backend != "rocblas" or name in ("backend_compute", "backend_attention")
    ]


FAMILIES = (
    "Hopper/hbm",
    "Blackwell/hbm",
    "Blackwell/ddr",
    "Ampere/hbm",
    "Ampere/ddr",
    "Ada Lovelace/ddr",
    "CDNA3/hbm",
    "CDNA4/hbm",
    "RDNA 3.5/ddr",
    "Apple Silicon GPU/ddr",
)

# Matrix products on CDNA sustain about 0.47 of the peak against 0.73 on Hopper, by published benchmarks of both vendors' libraries; the
# first generation that serving engines were ported to loses more between its kernels.
CDNA = ("CDNA3/hbm", "CDNA4/hbm")

PRIORS: tuple[Prior, ...] = (
    *_levels("compute", {"fp32": 0.6, "16bit": 0.72, "fp8": 0.60, "int8": 0.55, "fp4": 0.42}, 0.3, OPERATORS),
    *_levels(
        "family_compute",
        {"any": 0.9, **dict.fromkeys(FAMILIES, 1.0), "CDNA3/hbm": 0.5, "CDNA4/hbm": 0.65},
        0.25,
        OPERATORS,
    ),
    *_levels(
        "family_memory", {"any": 0.75, **dict.fromkeys(FAMILIES, 0.8), **dict.fromkeys(CDNA, 0.7)}, 0.15, OPERATORS
    ),
    *_levels("family_launch", {"any": 1.2, **dict.fromkeys(FAMILIES, 1.0)}, 0.3, OPERATORS),
    Prior("fa3", "Hopper", 1.35, 0.0, "FlashAttention-3 paper and prefill timings of three engines on H100"),
    *_levels(
        "stream",
        {
            "any": 0.85,
            "bf16": 1.0,
            "fp16": 1.0,
            "fp8": 0.9,
            "fp8_block": 0.85,
            "int8": 0.9,
            "int4_g128": 0.75,
            "nvfp4": 0.7,
            "mxfp4": 0.75,
            "q4_k_m": 0.8,
            "q4_k_xl": 0.8,
            "q4_0": 0.85,
            "q8_0": 0.9,
            "q8_k_xl": 0.85,
            "q3_k_s": 0.7,
            "q5_k_xl": 0.8,
            "q6_k_xl": 0.8,
        },
        0.2,
        OPERATORS,
    ),
    *_levels("link_share", {"fast": 0.7, "pcie": 0.5, "network": 0.6}, 0.3, OPERATORS),
    *_levels("link_s", {"fast": 6e-6, "pcie": 15e-6, "network": 30e-6}, 0.5, OPERATORS),
    *_levels("rank_s", {"fast": 0.6e-6, "pcie": 3e-6, "network": 2e-6}, 0.5, OPERATORS),
    *_engines("kernel_s", (3.5e-6, 3.5e-6, 3e-6, 3e-6, 4e-6), 0.4, TRIAL),
    *_engines("step_s", (0.8e-3, 0.8e-3, 0.5e-3, 0.2e-3, 0.5e-3), 0.6, TRIAL),
    *_engines("sequence_s", (6e-6, 6e-6, 4e-6, 6e-6, 6e-6), 0.8, TRIAL),
    *_engines("arrival_s", (8e-3, 10e-3, 6e-3, 1e-3, 5e-3), 0.5, TRIAL),
    *_engines("request_s", (15e-3, 30e-3, 20e-3, 1e-3, 5e-3), 0.7, TRIAL),
    *_engines("prefill_passes", (1.5, 2.0, 2.0, 1.0, 1.0), 0.4, TRIAL),
    *_engines("first_steps", (0.5, 1.0, 8.0, 0.5, 0.5), 0.8, HABIT),
    *_engines("burst", (0.05, 0.05, 0.05, 0.0, 0.05), 0.5, "a burst over ten times as many requests: 1 / (2 x 10)"),
    *_engines("mixes", (1.0, 0.0, 1.0, 1.0, 0.0), 0.0, HABIT),
    *_engines("engine_compute", (1.0, 1.0, 1.0, 0.6, 0.8), 0.25, TRIAL),
    *_engines("engine_memory", (1.0, 1.0, 1.0, 1.0, 1.0), 0.1, TRIAL),
    *_engines("trend", (0.05, 0.05, 0.05, 0.05, 0.001), 0.7, TRIAL),
    *_engines("queue", (1.0, 1.0, 1.0, 1.0, 1.0), 0.5, HABIT),
    Prior("kv_memory", "", 0.9, 0.25, OPERATORS),
    Prior("kv_head_s", "", 0.2e-9, 0.7, OPERATORS),
    Prior("decode_attention", "", 0.4, 0.4, OPERATORS),
    Prior("prefill_attention", "", 0.5, 0.3, OPERATORS),
    Prior("moe_compute", "", 0.5, 0.4, OPERATORS),
    Prior("moe_memory", "", 0.75, 0.3, OPERATORS),
    Prior("moe_tile", "", 16.0, 0.6, OPERATORS),
    Prior("moe_kernels", "", 10.0, 0.4, OPERATORS),
    Prior("mla_kernels", "", 12.0, 0.4, OPERATORS),
    Prior("recurrent_kernels", "", 10.0, 0.4, OPERATORS),
    Prior("expert_imbalance", "", 0.7, 0.5, "standard deviations of a multinomial draw"),
    Prior("expert_draws", "", 0.9, 0.1, "tokens of one batch share experts; 1 is uniform routing"),
    Prior("element_passes", "", 14.0, 0.4, OPERATORS),
    Prior("quantised_passes", "", 6.0, 0.4, OPERATORS),
    Prior("eager_launch_s", "", 9e-6, 0.0, "host launch of a kernel without a CUDA graph"),
    Prior("handoff_s", "", 0.03, 1.0, TRIAL),
    Prior("state_memory", "", 0.5, 0.4, OPERATORS),
    Prior("unpacking", "", 0.77, 0.2, "llama-bench of the same model in 16 and 4 bit"),
    *_backends("backend_compute", {"rocblas": 0.3, "vulkan": 0.8, "vulkan_amdvlk": 0.6, "sycl": 0.6}, 0.4),
    *_backends("backend_bf16", {"vulkan": 0.5, "vulkan_amdvlk": 0.3}, 0.4),
    *_backends("backend_memory", {"sycl": 0.8}, 0.15),
    *_backends(
        "backend_attention", {"rocm": 0.5, "rocblas": 0.3, "vulkan": 0.5, "vulkan_amdvlk": 0.3, "sycl": 0.5}, 0.5
    ),
    *_backends("backend_kv", {"rocm": 0.7, "vulkan": 0.7, "vulkan_amdvlk": 0.7, "sycl": 0.5}, 0.5),
    *_backends("backend_plain", dict.fromkeys(BACKENDS[1:], 0.3), 0.6, of_cuda=0.6),
    Prior("small_gemm_rows", "", 4.0, 0.5, OPERATORS),
)
