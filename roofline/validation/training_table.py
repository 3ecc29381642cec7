"""Reading a table of published training runs (the columns of data/measurements/training.csv) into scenarios and measured figures.

Only what a source states goes into a scenario. What it leaves open follows from what it states (tp x pp x cp x dp = GPUs, batch = dp x
micro-batch x accumulation), from the habits of the framework, or stays nan for the caller to choose what fits. Notes are read for inputs
that have no column (accumulation, expert tensor parallelism, assumed values) and for the measured figure that is derived there.
"""

import csv
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path

from roofline import architecture, codes
from roofline.architecture import Architecture
from roofline.hardware import Gpu, presets
from roofline.units import GIB, GIGA, TERA
from roofline.validation.residuals import source_name
from roofline.versions import release_year

Row = Mapping[str, str]
DERIVED_SPEED = re.compile(r"DERIVED tokens_per_s_per_gpu=([0-9.eE+-]+)")
ASSUMED = re.compile(r"ASSUMED (\w+)=([^\s;(]+)")
ACCUMULATION = re.compile(r"(?:micro_num|grad_accum|GA)=(\d+)|grad(?:ient)? accum(?:ulation)? (\d+)")
EXPERT_TP = re.compile(r"\bETP=(\d+)")
DERIVED_DP = re.compile(r"DERIVED dp=(\d+)")
LORA_RANK = re.compile(r"(?:LoRA r|rank[ =])(\d+)", re.IGNORECASE)
PIPELINED = re.compile(r"1F1B|PP/EP degree not printed")
HINTED_LAYERS = re.compile(r"(?:^|;)layers=(\d+)")
MONTH = re.compile(r"(20\d\d)(?:-(\d\d))?")
ROUNDS = "mlcommons"  # whose entries carry placeholders for versions: the round's date tells more
LOW_POWER_SOURCES = ("pytorch/torchtitan", "pytorch/ao")
UNUSABLE = ("OUTLIER", "WARNING", "SUSPECT", "PROXY", "truncated")  # words in the notes of rows that no fit may use
FRAMEWORK_WORDS = (  # first match decides
    ("megatron-bridge", "nemo"),
    ("megatron-deepspeed", "deepspeed"),
    ("deepspeed", "deepspeed"),
    ("nanotron", "nanotron"),
    ("picotron", "nanotron"),
    ("maxtext", "maxtext"),
    ("jax", "maxtext"),
    ("pax", "maxtext"),
    ("t5x", "maxtext"),
    ("levanter", "maxtext"),
    ("torchtitan", "torchtitan"),
    ("llm-foundry", "llm_foundry"),
    ("composer", "llm_foundry"),
    ("unsloth", "hf_trainer"),
    ("llama-factory", "hf_trainer"),
    ("axolotl", "hf_trainer"),
    ("hf", "hf_trainer"),
    ("transformers", "hf_trainer"),
    ("rocm", "other"),
    ("llmboost", "other"),
    ("megatron", "megatron"),
    ("primus", "megatron"),
    ("nemo", "nemo"),
    ("nvidia", "nemo"),
    ("ngc", "nemo"),
    ("torchtune", "fsdp"),
    ("litgpt", "fsdp"),
    ("lit-gpt", "fsdp"),
    ("fsdp", "fsdp"),
    ("xtuner", "fsdp"),
    ("automodel", "fsdp"),
)
MOST_CHUNKS = 12.0
FUSED_LABELS = ("unsloth", "llm.c")
FUSING = ("megatron", "nemo", "deepspeed", "nanotron", "maxtext", "llm_foundry")
COMPILING = ("maxtext",)
SHARDING = ("fsdp", "torchtitan", "llm_foundry", "maxtext")
OPTIMIZER_SHARDING = ("nemo", "megatron", "nanotron", "deepspeed", "other")
PRECISION_WORDS = (
    ("nvfp4", "nvfp4"),
    ("mxfp8", "mxfp8"),
    ("int8", "fp8"),
    ("fp8", "fp8"),
    ("fp16", "fp16"),
    ("tf32", "tf32"),
    ("fp32", "fp32"),
)
METHOD_WORDS = {"full-ft": "full_finetune", "sft": "full_finetune", "lora": "lora", "qlora": "qlora"}
ASYNCHRONOUS_ATTENTION = 2024.0  # software from here on uses the attention kernels of the generation


@dataclass(slots=True)
class Run:
    """One row as numbers. nan where a value is neither stated nor implied."""

    row: Row
    source: str
    architecture: Architecture
    gpu: Gpu
    gpus: float
    framework: str
    year: float
    precision: str
    method: str
    seq_len: float
    micro_batch: float
    global_batch: float
    tp: float
    pp: float
    cp: float
    ep: float
    dp: float
    expert_tp: float
    zero_stage: float
    virtual_pipeline: float
    recompute: str  # "" where not stated
    flash: bool
    lora_rank: float
    speed: float  # measured tokens/s/GPU
    peak_memory_bytes: float  # measured

    @property
    def id(self) -> str:
        """The row's own id."""
        return self.row.get("id", "")

    @property
    def kind(self) -> str:
        """dense, moe, mla or hybrid."""
        columns = self.architecture.columns()
        return "hybrid" if columns.is_hybrid else "mla" if columns.is_mla else "moe" if columns.is_moe else "dense"


@dataclass(frozen=True, slots=True)
class Skip:
    """A row that says too little, and what it does not say."""

    row: Row
    reason: str


class UnderSpecified(ValueError):
    """A row leaves out what a prediction needs."""


def read_rows(path: str | Path) -> list[dict[str, str]]:
    """The rows of a table; blank where a column is missing."""
    with Path(path).open(encoding="utf-8", newline="") as lines:
        return [{key: value or "" for key, value in row.items() if key} for row in csv.DictReader(lines)]


def shipped_rows() -> list[dict[str, str]]:
    """The measured runs that ship with the engine."""
    return read_rows(Path(str(resources.files("roofline").joinpath("data/measurements/training.csv"))))


def runs(rows: Sequence[Row]) -> tuple[list[Run], list[Skip]]:
    """The rows that a prediction can be made for, and the others with the reason."""
    good, skipped = [], []
    for row in rows:
        try:
            good.append(read_run(row))
        except UnderSpecified as reason:
            skipped.append(Skip(row, str(reason)))
    return good, skipped


def read_run(row: Row) -> Run:
    """One row. Raises UnderSpecified with the reason of data/README where it leaves out what is needed."""
    assumed = dict(ASSUMED.findall(row.get("notes", "")))
    stated = {**row, **{key: value for key, value in assumed.items() if not row.get(key)}}
    speed, memory = measured_speed(stated), _number(stated, "peak_mem_gib") * GIB
    if math.isnan(speed) and math.isnan(memory):
        raise UnderSpecified("no speed or memory stated, only TFLOP/s, MFU, GPU-hours or time to a quality target")
    gpu = _gpu(stated)
    gpus = _number(stated, "n_gpus")
    if math.isnan(gpus):
        raise UnderSpecified("number of GPUs not stated")
    model = model_of(stated)
    seq_len = _number(stated, "seq_len")
    if math.isnan(seq_len):
        raise UnderSpecified("sequence length not stated")
    if "footnoted" in stated.get("notes", ""):
        raise UnderSpecified("footnoted regression")
    if "GPU hours" in stated.get("notes", "") or "GPU-hours" in stated.get("notes", ""):
        raise UnderSpecified("whole-run GPU-hours")
    return _assembled(stated, gpu, gpus, model, seq_len, speed, memory)


def _assembled(
    row: Row, gpu: Gpu, gpus: float, model: Architecture, seq_len: float, speed: float, memory: float
) -> Run:
    notes = row.get("notes", "")
    framework = framework_of(row.get("framework", ""))
    tp, pp, cp = (_number(row, name) for name in ("tp", "pp", "cp"))
    pp = 1.0 if math.isnan(pp) and _number(row, "fsdp_zero") == 3 else pp
    piped = pp > 1 or (math.isnan(pp) and (_number(row, "vpp") > 1 or PIPELINED.search(notes)))
    if piped and math.isnan(_number(row, "micro_batch_per_gpu")) and not math.isnan(speed):
        raise UnderSpecified("micro-batch not stated with pipeline parallelism")
    tp, pp, cp = _layout(tp, pp, cp, gpus, row)
    dp = max(gpus / (tp * pp * cp), 1.0)
    stated_dp = _number(row, "dp")
    if not math.isnan(stated_dp) and tp * pp * cp * stated_dp == gpus:
        dp = stated_dp
    micro, batch = _batch(row, notes, dp)
    ep = _or(_number(row, "ep"), _usual_experts(model, gpu, framework, tp * cp * dp))
    found_rank = LORA_RANK.search(notes)
    expert_tp = EXPERT_TP.search(notes)
    year = software_year(row)
    return Run(
        row=row,
        source=source_name(row.get("source", "")),
        architecture=model,
        gpu=gpu,
        gpus=gpus,
        framework=framework,
        year=year,
        precision=precision_of(row.get("precision", "")),
        method=METHOD_WORDS.get(row.get("method", ""), "pretrain"),
        seq_len=seq_len,
        micro_batch=micro,
        global_batch=batch,
        tp=tp,
        pp=pp,
        cp=cp,
        ep=ep,
        dp=dp,
        expert_tp=float(expert_tp[1]) if expert_tp else 1.0 if ep > 1 else tp,
        zero_stage=_zero_stage(row, framework, dp),
        virtual_pipeline=_or(_number(row, "vpp"), _usual_chunks(framework, model, pp)),
        recompute=row.get("recompute", "") if row.get("recompute", "") in codes.RECOMPUTES else "",
        flash=row.get("flash_attention", "") != "no",
        lora_rank=float(found_rank[1]) if found_rank else 16.0,
        speed=speed,
        peak_memory_bytes=memory,
    )


def measured_speed(row: Row) -> float:
    """tokens/s/GPU as stated, else by the derivations that the sources allow; nan where there is none."""
    number = {
        name: _number(row, name)
        for name in (
            "tokens_per_s_per_gpu",
            "tokens_per_s_total",
            "n_gpus",
            "global_batch_seqs",
            "seq_len",
            "step_time_s",
        )
    }
    derived = DERIVED_SPEED.search(row.get("notes", ""))
    candidates = (
        number["tokens_per_s_per_gpu"],
        number["tokens_per_s_total"] / number["n_gpus"],
        number["global_batch_seqs"] * number["seq_len"] / (number["step_time_s"] * number["n_gpus"]),
        float(derived[1]) if derived else math.nan,
    )
    return next((value for value in candidates if not math.isnan(value)), math.nan)


def _number(row: Row, name: str) -> float:
    """A positive number of a column; nan where it is blank, text or not positive (fsdp_zero may be 0)."""
    try:
        value = float(row.get(name) or math.nan)
    except ValueError:
        return math.nan
    return value if value > 0 or (value == 0 and name == "fsdp_zero") else math.nan


def _or(value: float, fallback: float) -> float:
    return fallback if math.isnan(value) else value


def _layout(tp: float, pp: float, cp: float, gpus: float, row: Row) -> tuple[float, float, float]:
    """Unstated sizes: tensor parallel as a stated data-parallel size leaves it, else 1; a batch of fewer sequences than
    replicas splits sequences."""
    derived = DERIVED_DP.search(row.get("notes", ""))
    batch = _number(row, "global_batch_seqs")
    pp = _or(pp, 1.0)
    if math.isnan(tp):
        tp = max(gpus / (float(derived[1]) * pp * _or(cp, 1.0)), 1.0) if derived else 1.0
    replicas = gpus / (tp * pp)
    if math.isnan(cp):
        cp = max(math.floor(replicas / batch), 1.0) if batch < replicas else 1.0
    return tp, pp, cp


def _batch(row: Row, notes: str, dp: float) -> tuple[float, float]:
    """Micro-batch and global batch; nan for a micro-batch that nothing tells."""
    micro, batch = _number(row, "micro_batch_per_gpu"), _number(row, "global_batch_seqs")
    found = ACCUMULATION.search(notes)
    accumulation = float(found[1] or found[2]) if found else 1.0
    if math.isnan(batch):
        batch = dp * _or(micro, 1.0) * accumulation
    elif math.isnan(micro) and batch <= dp:
        micro = 1.0
    return micro, batch


def _usual_experts(model: Architecture, gpu: Gpu, framework: str, ranks: float) -> float:
    """Expert parallelism where none is stated: a node's GPUs share the experts, unless parameters are sharded."""
    columns = model.columns()
    size = min(float(gpu.gpus_per_node), ranks)
    shares = (
        columns.is_moe
        and framework not in (*SHARDING, "hf_trainer")
        and columns.experts % size == 0
        and ranks % size == 0
    )
    return size if shares else 1.0


def _usual_chunks(framework: str, model: Architecture, stages: float) -> float:
    """Interleaved chunks where none are stated: recipes for dense models in NeMo interleave single layers as far as
    stages divide evenly."""
    each = model.layers / stages
    interleaves = framework == "nemo" and stages > 1 and each == int(each) and not model.columns().is_moe
    return min(each, MOST_CHUNKS) if interleaves else 1.0


def _zero_stage(row: Row, framework: str, dp: float) -> float:
    stated = _number(row, "fsdp_zero")
    if not math.isnan(stated):
        return stated
    if dp == 1:
        return 0.0
    return 3.0 if framework in SHARDING else 1.0 if framework in OPTIMIZER_SHARDING else 0.0


def framework_of(label: str) -> str:
    """The framework of a free-text label, as a word of codes.FRAMEWORKS.

    >>> framework_of("Megatron-Bridge/NeMo 26.04"), framework_of("HF Trainer + DeepSpeed ZeRO-3")
    ('nemo', 'deepspeed')
    """
    lowered = label.lower()
    return next((name for word, name in FRAMEWORK_WORDS if word in lowered), "other")


def software_year(row: Row) -> float:
    """Software date in years: of the version in the label, but at most a year older than the source's own date; nan if nothing tells."""
    version = release_year("", row.get("framework", ""))
    published = MONTH.match(row.get("source_date", ""))
    date = float(published[1]) + (float(published[2] or 6) - 0.5) / 12 if published else math.nan
    if math.isnan(version) or row.get("source", "").startswith(ROUNDS):
        return date
    return version if math.isnan(date) else min(max(version, date - 1.0), date + 0.1)


def precision_of(label: str) -> str:
    """The word of codes.TRAINING_PRECISIONS for a label; blank means bf16.

    >>> precision_of(""), precision_of("int8+bf16"), precision_of("nf4+bf16")
    ('bf16', 'fp8', 'bf16')
    """
    return next((name for word, name in PRECISION_WORDS if word in label.lower()), "bf16")


def _gpu(row: Row) -> Gpu:
    slug = row.get("gpu_slug", "")
    known = presets()
    if slug in known:
        return _variant(row, known[slug])
    if alias := gpu_aliases().get(row.get("gpu", "").strip().lower()):
        return known[alias]
    raise UnderSpecified("GPU not stated" if not row.get("gpu") else "GPU not in the catalogue")


def _variant(row: Row, gpu: Gpu) -> Gpu:
    """The accelerator as a source had it: the PyTorch teams' H100 is one of 500 W with 96 GB of HBM2e where no memory size is stated."""
    theirs = row.get("source", "").startswith(LOW_POWER_SOURCES) and not row.get("gpu_mem_gb")
    if gpu.slug == "h100-sxm5-80gb" and theirs:
        return replace(gpu, tdp_watts=500.0, bandwidth=2.4 * TERA, memory_bytes=0.99 * 96 * GIB)
    return gpu


@cache
def gpu_aliases() -> dict[str, str]:
    """Catalogue slug by label, lower case, of labels that name one accelerator."""
    lines = resources.files("roofline").joinpath("data/gpu_aliases.csv").read_text(encoding="utf-8").splitlines()
    return {row["gpu"].lower(): row["slug"] for row in csv.DictReader(lines) if row["slug"] in presets()}


def model_of(row: Row) -> Architecture:
    """The architecture of a row: its configuration, else the catalogue model, else the dimensions of the hint, else the label's alias."""
    if row.get("config_json"):
        return _parsed(row["config_json"])
    hint, model_id = row.get("arch_hint", ""), row.get("model_id", "")
    if model_id in architecture.presets():
        return _catalogue_model(model_id, hint)
    if hint and "hidden=" in hint:
        return _hinted(hint, row.get("params_b", ""))
    raise UnderSpecified("size or architecture of the model not stated")


@cache
def _parsed(config: str) -> Architecture:
    try:
        return architecture.parse(json.loads(config))
    except (json.JSONDecodeError, architecture.UnsupportedArchitecture) as fault:
        raise UnderSpecified(f"configuration not readable: {fault}") from fault


@cache
def _catalogue_model(model_id: str, hint: str) -> Architecture:
    """The catalogue's model; with fewer layers where the hint says that only so many were run."""
    fewer = HINTED_LAYERS.search(hint)
    whole = architecture.presets()[model_id]
    if not fewer or "hidden=" in hint or int(fewer[1]) >= whole.layers:
        return whole
    config = json.loads(
        resources.files("roofline")
        .joinpath(f"data/models/{model_id.replace('/', '__')}.json")
        .read_text(encoding="utf-8")
    )
    config["num_hidden_layers"] = int(fewer[1])
    for key, value in config.items():
        if isinstance(value, list) and len(value) >= whole.layers:
            config[key] = value[: int(fewer[1])]
    try:
        return architecture.parse(config, name=f"{whole.name}, {fewer[1]} layers")
    except architecture.UnsupportedArchitecture:
        return whole


@cache
def _hinted(hint: str, params_b: str) -> Architecture:
    try:
        return architecture.from_hint(hint, float(params_b) if params_b else None)
    except architecture.UnsupportedArchitecture as fault:
        raise UnderSpecified("size or architecture of the model not stated") from fault


__all__ = ["GIGA", "Run", "Skip", "UnderSpecified", "measured_speed", "model_of", "read_run", "runs", "shipped_rows"]
