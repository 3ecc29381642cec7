"""The canonical run: what was measured, on what, under which load, in SI units.

Every figure keeps the name, the value and the unit that its source used beside the normalised one. Rates are of the
whole system. Definitions:

- TTFT: request sent to first token received, queueing included.
- TPOT: (end-to-end - TTFT) / (output tokens - 1), the mean is over requests. Tools call this "inter token latency"
  (aiperf, GuideLLM) as well.
- ITL: the gap between two streamed chunks, pooled over all requests; a chunk may hold several tokens.
- E2E: request sent to last token received.
"""

import hashlib
import json
import re
from dataclasses import dataclass, field, fields
from typing import Any

from .values import UNIT_SCALE, integer, number

TEXT_FIELDS = (
    "model",
    "engine",
    "engine_version",
    "backend",
    "gpu",
    "weights",
    "kv_cache",
    "activations",
    "kind",
    "date",
    "label",
    "dataset",
)
COUNT_FIELDS = (
    "gpu_count",
    "tp",
    "pp",
    "dp",
    "ep",
    "cp",
    "completed",
    "failed",
    "seq_len",
    "global_batch",
    "micro_batch",
    "batch_size",
)
PRECISION_FIELDS = frozenset({"weights", "kv_cache", "activations"})
PRECISIONS = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "f16": "fp16", "float32": "fp32", "f32": "fp32"}
PRECISIONS |= {"torch.bfloat16": "bf16", "torch.float16": "fp16", "float8": "fp8", "fp8_e4m3": "fp8", "e4m3": "fp8"}
ENGINES = {
    "vllm": "vllm",
    "sglang": "sglang",
    "trtllm": "tensorrt_llm",
    "trt-llm": "tensorrt_llm",
    "tensorrt-llm": "tensorrt_llm",
}
ENGINES |= {
    "tensorrt_llm": "tensorrt_llm",
    "trt": "tensorrt_llm",
    "llama.cpp": "llama_cpp",
    "llamacpp": "llama_cpp",
    "tgi": "tgi",
}
# What llama.cpp ran on; devices beside it (BLAS, RPC, CPU) are none.
BACKENDS = {"cuda": "cuda", "metal": "metal", "mtl": "metal", "rocm": "rocm", "hip": "rocm", "rocblas": "rocblas"}
BACKENDS |= {"vulkan": "vulkan", "vulkan_amdvlk": "vulkan_amdvlk", "sycl": "sycl"}
TRANSIENT = ("warnings", "context")
MAY_BE_ZERO = frozenset({"completed", "failed"})

# The order of the keys that outside scripts rely on.
CONTRACT_FIELDS = (
    "model",
    "engine",
    "engine_version",
    "gpu",
    "gpu_count",
    "tp",
    "weights",
    "input_tokens",
    "output_tokens",
    "concurrency",
    "request_rate_per_s",
    "completed",
    "failed",
    "requests_per_s",
    "output_tokens_per_s",
    "total_tokens_per_s",
    "ttft_mean_s",
    "ttft_p50_s",
    "ttft_p99_s",
    "tpot_mean_s",
    "tpot_p50_s",
    "tpot_p99_s",
    "itl_mean_s",
    "e2e_mean_s",
    "prefill_tokens_per_s",
    "decode_tokens_per_s",
    "seq_len",
    "global_batch",
    "step_time_s",
    "tokens_per_s",
    "tokens_per_s_per_gpu",
    "tflops_per_gpu",
    "mfu_reported",
    "peak_memory_bytes",
)

RESULT_FIELDS = (
    "requests_per_s",
    "output_tokens_per_s",
    "total_tokens_per_s",
    "ttft_mean_s",
    "ttft_p50_s",
    "ttft_p99_s",
    "tpot_mean_s",
    "tpot_p50_s",
    "tpot_p99_s",
    "itl_mean_s",
    "e2e_mean_s",
    "e2e_p50_s",
    "prefill_tokens_per_s",
    "decode_tokens_per_s",
    "step_time_s",
    "tokens_per_s",
    "tokens_per_s_per_gpu",
    "tflops_per_gpu",
    "mfu_reported",
    "samples_per_s",
    "time_to_train_s",
    "itl_p50_s",
    "e2e_p99_s",
)


@dataclass(frozen=True)
class SourceValue:
    """One figure as its file wrote it: which canonical field it became, its own name, value and unit."""

    field: str
    name: str
    value: Any
    unit: str

    def to_json(self) -> dict[str, Any]:
        """Strict JSON: a non-finite number is written as text."""
        plain = self.value if _is_plain(self.value) else str(self.value)[:200]
        return {"field": self.field, "name": self.name, "value": plain, "unit": self.unit}


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int) or number(value) is not None


@dataclass
class Run:
    """One measured run. None means not measured or not stated; times in seconds, memory in bytes, rates per second,
    MFU as a fraction.
    """

    kind: str = "serving"  # serving, offline, single_stream, training
    model: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    backend: str | None = None  # of llama.cpp
    gpu: str | None = None
    gpu_count: int | None = None
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: int | None = None
    cp: int | None = None
    weights: str | None = None
    kv_cache: str | None = None
    activations: str | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    concurrency: float | None = None
    concurrency_achieved: float | None = None
    request_rate_per_s: float | None = None
    batch_size: int | None = None
    depth_tokens: float | None = None
    completed: int | None = None
    failed: int | None = None
    duration_s: float | None = None
    requests_per_s: float | None = None
    output_tokens_per_s: float | None = None
    total_tokens_per_s: float | None = None
    ttft_mean_s: float | None = None
    ttft_p50_s: float | None = None
    ttft_p99_s: float | None = None
    tpot_mean_s: float | None = None
    tpot_p50_s: float | None = None
    tpot_p99_s: float | None = None
    itl_mean_s: float | None = None
    itl_p50_s: float | None = None
    itl_p99_s: float | None = None
    e2e_mean_s: float | None = None
    e2e_p50_s: float | None = None
    e2e_p99_s: float | None = None
    prefill_tokens_per_s: float | None = None
    decode_tokens_per_s: float | None = None
    seq_len: int | None = None
    global_batch: int | None = None
    micro_batch: int | None = None
    step_time_s: float | None = None
    samples_per_s: float | None = None
    tokens_per_s: float | None = None
    tokens_per_s_per_gpu: float | None = None
    tflops_per_gpu: float | None = None
    mfu_reported: float | None = None
    peak_memory_bytes: float | None = None
    time_to_train_s: float | None = None
    date: str | None = None
    label: str | None = None
    dataset: str | None = None
    percentiles: dict[str, float] = field(default_factory=dict)  # further ones, such as {"ttft_p90_s": 0.2}
    source: list[SourceValue] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # rules that were applied: warm-up dropped, definitions
    warnings: list[str] = field(default_factory=list)
    context: str = ""  # the text around this run, for guesses; not part of the run

    def put(self, name: str, value: Any, source: str, unit: str = "") -> None:
        """Normalise one figure into field `name` and keep its source. Zero, negative and non-finite figures are not
        measured.
        """
        scaled = _normalised(name, value, unit)
        self.source.append(SourceValue(name, source, value, unit))
        if scaled is None:
            return
        if name in FIELD_NAMES:
            setattr(self, name, scaled)
        else:
            self.percentiles[name] = scaled

    def derive(self, name: str, value: float | None, how: str) -> None:
        """Fill an empty field with a figure computed from others of the same file, saying how."""
        if getattr(self, name) is None and value is not None:
            self.put(name, value, how, "derived")

    def has_result(self) -> bool:
        """Whether anything was measured at all."""
        return any(getattr(self, name) is not None for name in RESULT_FIELDS)

    def hardware_stated(self) -> bool:
        """Whether the file itself says on which and how many accelerators."""
        return self.gpu is not None and self.gpu_count is not None

    def to_json(self) -> dict[str, Any]:
        """The contract's keys first (null where not measured), then what else is known."""
        result: dict[str, Any] = {name: compact(getattr(self, name)) for name in CONTRACT_FIELDS}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name not in result and item.name not in TRANSIENT and value not in (None, [], {}):
                result[item.name] = compact(value)
        result["source"] = [value.to_json() for value in self.source]
        return result

    def fingerprint(self) -> str:
        """SHA-256 of everything that was measured and stated, without names of source keys: equal runs in other
        files are duplicates.
        """
        facts = {name: compact(getattr(self, name)) for name in FACTS}
        facts["percentiles"] = dict(sorted(self.percentiles.items()))
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


FIELD_NAMES = frozenset(item.name for item in fields(Run)) - {"percentiles", "source", "notes", *TRANSIENT}
# A back end tells no two runs apart that are equal figure for figure, and older rows have none.
FACTS = sorted(FIELD_NAMES - {"label", "backend"})


def _normalised(name: str, value: Any, unit: str) -> Any:
    if name in TEXT_FIELDS:
        return _words(name, str(value).strip()[:300]) if value is not None else None
    figure = integer(value) if name in COUNT_FIELDS else number(value)
    if figure is None or figure < 0 or (figure == 0 and name not in MAY_BE_ZERO):
        return None
    scale = UNIT_SCALE.get(unit, 1.0)
    if name in COUNT_FIELDS or scale == 1.0:
        return figure
    return float(f"{figure * scale:.15g}")  # 29.5 ms are 0.0295 s, not 0.029500000000000002


def _words(name: str, text: str) -> str | None:
    """Precisions, engines and back ends by the names that scenarios use; the source keeps its own spelling."""
    if name in PRECISION_FIELDS:
        lowered = text.lower()
        return PRECISIONS.get(lowered, lowered) if lowered not in {"", "auto", "none"} else None
    if name == "backend":
        found = {BACKENDS[word] for word in re.split(r"[\s,]+", text.lower()) if word in BACKENDS}
        return found.pop() if len(found) == 1 else None
    if name == "engine":
        return ENGINES.get(text.lower(), text) or None
    return text or None


def compact(value: Any) -> Any:
    """Whole floats as ints, so that 1024.0 tokens read as 1024."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def run_from_json(data: dict[str, Any]) -> Run:
    """The inverse of Run.to_json. Raises ValueError on an unknown key."""
    known = {item.name for item in fields(Run)}
    unknown = sorted(set(data) - known)
    if unknown:
        raise ValueError(f"unknown keys of a run: {', '.join(unknown)}")
    run = Run(**{key: value for key, value in data.items() if key != "source"})
    run.source = [SourceValue(**value) for value in data.get("source", [])]
    return run
