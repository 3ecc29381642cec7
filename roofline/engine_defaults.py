"""What serving engines choose by themselves where a scenario or a published run does not say."""

from roofline.hardware import Gpu
from roofline.units import GIB

MEMORY_SHARE = 0.9  # vLLM's gpu_memory_utilization, TensorRT-LLM's share of what is free
MIB = GIB / 1024
# What SGLang's server arguments keep free, MiB: a constant, 1.5 for each token of a prefill chunk, 2 for each sequence of the largest
# CUDA graph, and 128 for each GPU of an instance (four here). Chunk and graph grow with the memory of the GPU, GiB.
KEPT, OF_CHUNK, OF_GRAPH, OF_RANKS = 512.0, 1.5, 2.0, 4 * 128.0
CHUNKS = ((35.0, 2048.0), (60.0, 4096.0), (160.0, 8192.0), (float("inf"), 16384.0))
GRAPHS = ((35.0, 24.0), (60.0, 32.0), (160.0, 256.0), (float("inf"), 512.0))
LARGE, LEAST_ON_LARGE = 60.0, 10_240.0  # GiB of a GPU on which at least so many MiB stay free


def memory_share(engine: str, gpu: Gpu) -> float:
    """Share of a GPU's memory for weights and cache: fixed, but for SGLang, which keeps back what its buffers need.

    >>> from roofline.hardware import presets
    >>> [memory_share("sglang", presets()[name]) for name in ("h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "l40s")]
    [0.83, 0.903, 0.854, 0.841]
    """
    if engine != "sglang":
        return MEMORY_SHARE
    size = gpu.memory_bytes / GIB
    chunk = next(tokens for most, tokens in CHUNKS if size < most)
    graph = next(sequences for most, sequences in GRAPHS if size < most)
    kept = KEPT + OF_CHUNK * chunk + OF_GRAPH * graph + OF_RANKS
    if size > LARGE:
        kept = max(kept, LEAST_ON_LARGE)
    return round(1.0 - kept * MIB / gpu.memory_bytes, 3)
