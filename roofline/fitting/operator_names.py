"""Words of the operator tables in those of the catalogue: GPUs, engines, precisions, collectives."""

from roofline.hardware import presets

# Names of the operator tables -> catalogue slugs.
GPU_SLUGS = {
    "a100_sxm": "a100-sxm4-80gb",
    "b200_sxm": "b200-sxm-180gb",
    "b300_sxm": "b300-sxm-288gb",
    "b60": "arc-pro-b60",
    "gb200": "gb200-186gb",
    "gb300": "gb300-288gb",
    "h100_sxm": "h100-sxm5-80gb",
    "h200_sxm": "h200-sxm-141gb",
    "l40s": "l40s",
    "rtx_pro_6000_server": "rtx-pro-6000-server",
    # names that more tables of the same origin may use
    "h100_pcie": "h100-pcie-80gb",
    "h20_sxm": "h20-sxm-96gb",
    "a30": "a30-pcie-24gb",
    "a10": "a10",
    "l4": "l4",
    "l40": "l40",
    "a40": "a40",
    "gh200": "gh200-96gb",
    "mi300x": "mi300x",
    "mi325x": "mi325x",
    "mi355x": "mi355x",
    "h200_nvl": "h200-nvl-141gb",
    "a100_pcie": "a100-pcie-80gb",
    "b100_sxm": "b100-sxm-192gb",
    "h800_sxm": "h800-sxm5-80gb",
    "a800_sxm": "a800-sxm4-80gb",
}
ENGINES = {"trtllm": "tensorrt_llm", "vllm": "vllm", "sglang": "sglang", "nccl": ""}
PRECISIONS = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "fp8": "fp8",
    "fp8_block": "fp8_block",
    "nvfp4": "nvfp4",
    "int4_wo": "int4_wo",
    "int8_wo": "int8_wo",
    "sq": "int8",
    "w4a16_mxfp4": "mxfp4",
    "w4a8_mxfp4_mxfp8": "mxfp4_mxfp8",
    "w4afp8": "int4_wo",
}
# Bytes of a stored weight (scales included) and of an activation, by precision.
WEIGHT_BYTES = {
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "fp8_block": 1.00024,
    "nvfp4": 0.5625,
    "int4_wo": 0.5156,
    "int8_wo": 1.0,
    "int8": 1.0,
    "mxfp4": 0.53125,
    "mxfp4_mxfp8": 0.53125,
}
ACTIVATION_BYTES = {
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,
    "fp8_block": 1.03,
    "nvfp4": 0.5625,
    "int4_wo": 2.0,
    "int8_wo": 2.0,
    "int8": 1.0,
    "mxfp4": 2.0,
    "mxfp4_mxfp8": 1.03,
}
COLLECTIVE_OPS = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "all_to_all": "all_to_all",
}


def gpu_slug(name: str) -> str:
    """Catalogue slug of a GPU as an operator table names it; a slug stands for itself. Raises KeyError for an unknown one."""
    return name if name in presets() else GPU_SLUGS[name.lower()]


def known_gpu(name: str) -> bool:
    """Whether `gpu_slug` knows the name."""
    return name in presets() or name.lower() in GPU_SLUGS
