"""What serving engines choose where nothing is said."""

from roofline.hardware import Gpu
from roofline.units import GIB

# Tokens of a pass; of llama.cpp n_ubatch.
BATCHED_TOKENS = {"vllm": 8192, "sglang": 8192, "tensorrt_llm": 8192, "llama_cpp": 512, "static_batching": 8192}
USUAL_BACKENDS = {"NVIDIA": "cuda", "Apple": "metal", "AMD": "rocm", "Intel": "sycl"}  # of llama.cpp, by vendor
VENDOR_OF_BACKEND = {"cuda": "NVIDIA", "metal": "Apple", "rocm": "AMD", "rocblas": "AMD"}  # others run anywhere
FEW_BATCHED_TOKENS = 2048
LARGE_GPU = 70 * GIB
UNCHUNKED_CONTEXT = 32_768  # the first vLLM prefilled whole prompts up to here
CHUNKING_SINCE = 2025.35  # release from which vLLM always splits prompts
MEMORY_SHARE = 0.9  # vLLM's gpu_memory_utilization, TensorRT-LLM's share of what is free
MIB = GIB / 1024
# What SGLang's server arguments keep free, MiB: a constant, 1.5 for each token of a prefill chunk, 2 for each sequence of the largest
# CUDA graph, and 128 for each GPU of an instance (four here). Chunk and graph grow with the memory of the GPU, GiB.
KEPT, OF_CHUNK, OF_GRAPH, OF_RANKS = 512.0, 1.5, 2.0, 4 * 128.0
CHUNKS = ((35.0, 2048.0), (60.0, 4096.0), (160.0, 8192.0), (float("inf"), 16384.0))
GRAPHS = ((35.0, 24.0), (60.0, 32.0), (160.0, 256.0), (float("inf"), 512.0))
LARGE, LEAST_ON_LARGE = 60.0, 10_240.0  # GiB of a GPU on which at least so many MiB stay free


def usual_backend(vendor: str) -> str:
    """The back end (codes.BACKENDS) that llama.cpp is built with for GPUs of a vendor."""
    return USUAL_BACKENDS.get(vendor, "vulkan")


def runs_on(backend: str, vendor: str) -> bool:
    """Whether a back end of llama.cpp drives GPUs of a vendor ("": unknown, anything may).

    >>> runs_on("metal", "Apple"), runs_on("metal", "NVIDIA"), runs_on("vulkan", "NVIDIA"), runs_on("cuda", "")
    (True, False, True, True)
    """
    return not vendor or VENDOR_OF_BACKEND.get(backend, vendor) == vendor


def batched_tokens(engine: str, year: float, *, memory_bytes: float, has_fp8: bool, max_model_len: float) -> int:
    """Tokens of one forward pass (`max_num_batched_tokens`) by default.

    vLLM: 8,192 on large accelerators newer than the A100, else 2,048; before version 0.9 whole prompts, where the
    longest has at most 32,768 tokens. `year` is the release date, nan for a current one.
    """
    if engine != "vllm":
        return BATCHED_TOKENS[engine]
    if year < CHUNKING_SINCE:
        whole = max_model_len <= UNCHUNKED_CONTEXT
        return max(int(max_model_len), FEW_BATCHED_TOKENS) if whole else FEW_BATCHED_TOKENS
    return BATCHED_TOKENS[engine] if memory_bytes >= LARGE_GPU and has_fp8 else FEW_BATCHED_TOKENS


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
