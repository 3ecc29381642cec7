"""Reading a table of start-up logs of serving engines (the columns of data/measurements/serving_memory.csv) into
scenarios.

Only what a person knows before the start is an input (INPUTS); everything else in the table is a measurement and
stays unread here.
"""

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import numpy as np

from roofline import architecture, codes
from roofline.architecture import Architecture
from roofline.columns import Batch, Gpu, Layout, Levers, Model, Serving
from roofline.engines import batched_tokens as batched_tokens_by_default
from roofline.hardware import Gpu as Accelerator
from roofline.hardware import presets
from roofline.memory.checkpoint import stored_bytes
from roofline.units import GIB
from roofline.validation import tables
from roofline.validation.gpu_labels import gpu_labelled, stated_memory
from roofline.validation.model_labels import UnderSpecified, configured, is_typical, named, number, sized
from roofline.validation.model_labels import stored_format as checkpoint_format
from roofline.versions import release_year

Row = Mapping[str, str]
INPUTS = (
    "model",
    "config_id",
    "config_json",
    "engine",
    "engine_version",
    "dtype_or_quant",
    "kv_cache_dtype",
    "gpu",
    "gpu_slug",
    "gpu_total_GiB",
    "tp",
    "pp",
    "gpu_memory_utilization",
    "max_model_len",
)
# What labels say of the stored format; the first that is found decides.
FORMAT_WORDS = (
    ("mxfp4", "mxfp4"),
    ("nvfp4", "nvfp4"),
    ("mxfp8", "mxfp8"),
    ("w8a8", "int8"),
    ("int8", "int8"),
    ("w4a16", "int4_g128"),
    ("wna16", "int4_g128"),
    ("awq", "int4_g128"),
    ("gptq", "int4_g128"),
    ("int4", "int4_g128"),
    ("bnb", "nf4"),
    ("4-bit", "nf4"),
    ("4bit", "nf4"),
    ("fp8", "fp8"),
)
PLAIN = {
    "bfloat16": "bf16",
    "bf16": "bf16",
    "float16": "fp16",
    "fp16": "fp16",
    "half": "fp16",
    "auto": "bf16",
    "float32": "fp32",
}
ENGINE_WORDS = (
    ("vllm", "vllm"),
    ("sglang", "sglang"),
    ("tensorrt", "tensorrt_llm"),
    ("trt", "tensorrt_llm"),
    ("llama.cpp", "llama_cpp"),
    ("llamacpp", "llama_cpp"),
    ("ollama", "llama_cpp"),
)
KV_WORDS = {
    "auto": "bf16",
    "": "bf16",
    "bfloat16": "bf16",
    "bf16": "bf16",
    "float16": "bf16",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
}
DEFAULT_LENGTH = 8192.0
# What a start's log adds up to, and how far that may be from the stated share of the GPU.
LOGGED_PARTS = ("weights_GiB_per_gpu", "activation_peak_GiB", "non_torch_GiB", "kv_cache_GiB_per_gpu")
ROUNDED_UTILIZATION = 0.03
FOLDS = 10


@dataclass(frozen=True, slots=True)
class Start:
    """One start of an engine as a scenario, and the row it is from."""

    row: Row
    model: Model
    gpu: Gpu
    engine: str
    year: float
    weights: str
    kv_cache: str
    tp: float
    pp: float
    utilization: float  # nan where not stated: then nothing is said of the cache
    max_model_len: float
    weight_bytes: float  # of the checkpoint, where its configuration names exceptions; else nan
    size_only: bool = False  # typical dimensions of a stated size: nothing is said of the cache
    guessed: bool = False  # only a name or a size says which model it is

    @property
    def key(self) -> tuple[str, ...]:
        """The fold: model, GPU, GPUs, precision, engine."""
        row = self.row
        return (
            row.get("config_id") or row.get("model", ""),
            row.get("gpu", ""),
            f"{self.tp * self.pp:g}",
            self.weights,
            self.engine,
        )


def fold_of(start: Start) -> int:
    """The fold of a row, the same on every machine: all rows of one model, GPU, number of GPUs, precision, engine."""
    return zlib.crc32("\x1f".join(start.key).encode()) % FOLDS


def read_rows(path: str | Path) -> list[dict[str, str]]:
    """The rows of a table; blank where a cell is."""
    return tables.read(path, "serving_memory")


def shipped_rows() -> list[dict[str, str]]:
    """The start-up logs that ship with the project."""
    return read_rows(Path(str(resources.files("roofline").joinpath("data/measurements/serving_memory.csv"))))


def catalogue_model(row: Row) -> Architecture:
    """The architecture of a row: its configuration, else the model that its id or label means, else typical dimensions
    of the size that the label states. Raises UnderSpecified.
    """
    found = configured(row.get("config_json", ""))
    return found or named("serving_memory", row.get("config_id", ""), row.get("model", "")) or sized(row)


def is_guessed(row: Row) -> bool:
    """Whether the engine is none of those modelled, or only a tuned copy's name or a size says which model was started:
    such a row is predicted, but nothing is fitted to it.
    """
    if not any(word in row["engine"].lower() for word, _ in ENGINE_WORDS):
        return True
    if row.get("config_json"):
        return False
    for name in filter(None, (row.get("config_id", ""), row.get("model", ""))):
        try:
            architecture.resolve(name)
        except architecture.UnknownModel:
            continue
        return False
    return True


def contradicts_itself(row: Row) -> bool:
    """Whether the logged parts of a start of vLLM add up to another share of the GPU than the row states: one of them is
    wrong, so nothing is said of the cache.
    """
    stated, total = (_number(row.get(name) or "") for name in ("gpu_memory_utilization", "gpu_total_GiB"))
    parts = sum(_number(row.get(name) or "") for name in LOGGED_PARTS)
    return "vllm" in (row.get("engine") or "").lower() and abs(parts / total - stated) > ROUNDED_UTILIZATION


def catalogue_gpu(row: Row) -> Accelerator | None:
    """The accelerator that the slug or the label names; None where it tells only how much memory there is."""
    slug, memory = row.get("gpu_slug", "").lower(), _number(row.get("gpu_total_GiB", ""))
    return presets().get(slug) or gpu_labelled(row.get("gpu", ""), memory)


def start_of(
    row: Row,
    resolve_model: Callable[[Row], Architecture] = catalogue_model,
    resolve_gpu: Callable[[Row], Accelerator | None] = catalogue_gpu,
) -> Start:
    """A row as a scenario. Raises UnderSpecified with what the row does not state."""
    row = {name: (row.get(name) or "").strip() for name in INPUTS}
    engine = _engine(row["engine"])
    year = release_year(engine, row["engine_version"])
    found = resolve_model(row)
    weights = stored_format(row) if row["dtype_or_quant"] else checkpoint_format(found, row["model"]) or "bf16"
    model = found.columns()
    length = _number(row["max_model_len"])
    tp, pp = _number(row["tp"]), _or(_number(row["pp"]), 1.0)
    if not (tp >= 1 and pp >= 1):
        raise UnderSpecified("number of GPUs not stated")
    if pp > model.layers:
        raise UnderSpecified("more pipeline stages than layers")
    return Start(
        row=row,
        model=model,
        gpu=_gpu(row, resolve_gpu),
        engine=engine,
        year=year,
        weights=weights,
        kv_cache=_kv_format(row["kv_cache_dtype"]),
        tp=tp,
        pp=pp,
        utilization=_number(row["gpu_memory_utilization"]),
        max_model_len=_or(length, float(model.max_position) or DEFAULT_LENGTH),
        weight_bytes=stored_bytes(found, weights),
        size_only=is_typical(found),
        guessed=is_guessed(row),
    )


def _engine(label: str) -> str:
    """The engine of a label; vLLM, whose habits others follow, where nothing tells."""
    return next((name for word, name in ENGINE_WORDS if word in label.lower()), "vllm")


def stored_format(row: Row) -> str:
    """The weight format that a row's label names, else its model's name."""
    label = row["dtype_or_quant"].lower()
    if label in PLAIN:
        return PLAIN[label]
    for text in (label, row["model"].lower()):
        for word, name in FORMAT_WORDS:
            if word in text:
                return name
    raise UnderSpecified("weight format not stated")


def _kv_format(label: str) -> str:
    name = KV_WORDS.get(label.lower(), label.lower())
    if name not in codes.KV_FORMATS:
        raise UnderSpecified(f"KV-cache format {label!r} not known")
    return name


def _gpu(row: Row, resolve_gpu: Callable[[Row], Accelerator | None]) -> Gpu:
    if " + " in row["gpu"]:
        raise UnderSpecified("GPUs of several kinds")
    found, total = resolve_gpu(row), _number(row["gpu_total_GiB"])
    if found is None and math.isnan(total):
        total = stated_memory(row["gpu"])
    if found is None and math.isnan(total):
        raise UnderSpecified("GPU not stated")
    columns = found.columns() if found else presets()["a100-pcie-80gb"].columns()
    if not math.isnan(total):
        columns.memory_bytes = total * GIB
    return columns


def _number(text: str) -> float:
    """A positive number; nan where a cell is blank, text or not positive."""
    value = number(text)
    return value if value > 0 else math.nan


def _or(value: float, otherwise: float) -> float:
    return otherwise if math.isnan(value) else value


def batched_tokens(start: Start) -> float:
    """max_num_batched_tokens that the engine chooses where nothing is said; what is not known of another is as vLLM."""
    return batched_tokens_by_default(
        "vllm",
        start.year,
        memory_bytes=float(start.gpu.memory_bytes),
        has_fp8=bool(start.gpu.peak_fp8 > 0),
        max_model_len=start.max_model_len,
    )


def batch_of(starts: Sequence[Start]) -> Batch:
    """The batch of some starts, shape (len(starts),)."""
    return Batch(
        model=Model.stack([s.model for s in starts]),
        gpu=Gpu.stack([s.gpu for s in starts]),
        layout=Layout.stack([_layout(s) for s in starts]),
        levers=Levers(*(1.0 for _ in Levers.__slots__)),
        serving=Serving.stack([_serving(s) for s in starts]),
    )


def _layout(start: Start) -> Layout:
    return Layout(
        gpus=start.tp * start.pp,
        tp=start.tp,
        pp=start.pp,
        cp=1.0,
        ep=1.0,
        dp=1.0,
        expert_tp=start.tp,
        zero_stage=0.0,
        virtual_pipeline=1.0,
        sequence_parallel=0.0,
        attention_dp=0.0,
        gpus_per_node=8.0,
        internode_bandwidth=0.0,
    )


def _serving(start: Start) -> Serving:
    return Serving(
        engine=codes.ENGINES.index(start.engine),
        engine_year=start.year,
        input_tokens=1024.0,
        output_tokens=256.0,
        concurrency=np.inf,
        request_rate=math.nan,
        weights=codes.WEIGHT_FORMATS.index(start.weights),
        activations=0,
        kv_cache=codes.KV_FORMATS.index(start.kv_cache),
        max_model_len=start.max_model_len,
        gpu_memory_utilization=_or(start.utilization, 0.9),
        max_num_batched_tokens=batched_tokens(start),
        max_num_seqs=math.nan,
        prefix_cache_hit=0.0,
        draft_tokens=0.0,
        acceptance=0.0,
        draft_cost=0.0,
        prefill_gpus=0.0,
        prefill_tp=0.0,
        decode_gpus=0.0,
        decode_tp=0.0,
        weight_bytes_override=start.weight_bytes,
    )
