"""What serving engines choose where nothing is said."""

from roofline.units import GIB

BATCHED_TOKENS = {"vllm": 8192, "sglang": 8192, "tensorrt_llm": 8192, "llama_cpp": 2048, "static_batching": 8192}
FEW_BATCHED_TOKENS = 2048
LARGE_GPU = 70 * GIB
UNCHUNKED_CONTEXT = 32_768  # the first vLLM prefilled whole prompts up to here
CHUNKING_SINCE = 2025.35  # release from which vLLM always splits prompts


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
