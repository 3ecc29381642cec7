"""Reading a table of published training runs (columns of data/measurements/training.csv): scenarios and measured figures.

Only what a source states goes into a scenario. What it leaves open follows from what it states (tp x pp x cp x dp = GPUs, batch = dp x
micro-batch x accumulation), from the habits of the framework, or stays nan for the caller to choose what fits. Notes are read for inputs
that have no column (accumulation, expert tensor parallelism, assumed values) and for the measured figure that is derived there.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from roofline import codes
from roofline.architecture import Architecture
from roofline.hardware import Gpu
from roofline.units import GIB
from roofline.validation import tables
from roofline.validation.model_labels import UnderSpecified, number
from roofline.validation.residuals import source_name
from roofline.validation.training_labels import (
    Row,
    framework_of,
    gpu_of,
    is_guessed,
    model_of,
    precision_in,
    precision_of,
    software_year,
)

DERIVED_SPEED = re.compile(r"DERIVED tokens_per_s_per_gpu=([0-9.eE+-]+)")
ASSUMED = re.compile(r"ASSUMED (\w+)=([^\s;(]+)")
ACCUMULATION = re.compile(r"(?:micro_num|grad_accum|GA)=(\d+)|grad(?:ient)? accum(?:ulation)? (\d+)")
EXPERT_TP = re.compile(r"\bETP=(\d+)")
DERIVED_DP = re.compile(r"DERIVED dp=(\d+)")
LORA_RANK = re.compile(r"(?:LoRA r|rank[ =])(\d+)", re.IGNORECASE)
PIPELINED = re.compile(r"1F1B|PP/EP degree not printed")
UNUSABLE = ("OUTLIER", "WARNING", "SUSPECT", "PROXY", "truncated")  # words in the notes of rows that no fit may use
MOST_CHUNKS = 12.0
FUSED_LABELS = ("unsloth", "llm.c", "automodel", "xtuner", "internevo")
SHARDING = ("fsdp", "torchtitan", "llm_foundry", "maxtext")
OPTIMIZER_SHARDING = ("nemo", "megatron", "nanotron", "deepspeed", "other")
METHOD_WORDS = {"full-ft": "full_finetune", "sft": "full_finetune", "lora": "lora", "qlora": "qlora"}
SIZES = ("n_gpus", "tp", "pp", "cp", "ep", "dp", "vpp")  # whole numbers from 1 on


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
        return self.architecture.columns().kind

    @property
    def guessed(self) -> bool:
        """Whether only a name or a size says what was run."""
        return is_guessed(self.row)


@dataclass(frozen=True, slots=True)
class Skip:
    """A row that says too little, and what it does not say."""

    row: Row
    reason: str


def read_rows(path: str | Path) -> list[dict[str, str]]:
    """The rows of a table; blank where a cell is."""
    return tables.read(path, "training")


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
    gpu = gpu_of(stated)
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
    if pp > model.layers:
        raise UnderSpecified("more pipeline stages than layers")
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
        precision=precision_in(row, gpu),
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
    value = number(row.get(name, ""))
    if name in SIZES and (value < 1 or not value.is_integer()):
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


__all__ = [
    "Row",
    "Run",
    "Skip",
    "UnderSpecified",
    "framework_of",
    "measured_speed",
    "model_of",
    "precision_of",
    "read_run",
    "runs",
    "shipped_rows",
    "software_year",
]
