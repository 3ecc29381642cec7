"""Runs of a table as a Batch, with what the table leaves open chosen as a planner would: what fits."""

import math
import re
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from roofline import codes, memory
from roofline.columns import Batch, Gpu, Layout, Levers, Model, Training
from roofline.hardware import Gpu as Accelerator
from roofline.hardware import gpu_columns
from roofline.training.habits import COMPILING, FUSING, newest_attention
from roofline.units import GIGA
from roofline.validation.training_table import FUSED_LABELS, Run

RAILS = re.compile(r"(\d+)\s*x[^;,]*?(\d+)\s*Gb", re.IGNORECASE)  # 4x100Gb, 8x ConnectX-7 IB NDR 400Gb/s
NO_OVERLAP = re.compile(r"no (?:comm\w* )?overlap|overlap off|without overlap")
NODE_TOTAL = re.compile(r"(\d+) Gbps node-node")
HOPPER_ATTENTION = re.compile(r"\bFA3\b|FlashAttention-3")
SIXTEEN_BIT_GRADIENTS = ("hf_trainer", "llm_foundry", "fsdp", "torchtitan", "deepspeed", "nemo")
FP32_ACCUMULATION = "fp32 grad accumulation"
WHOLE_STEP_GRAPHS = (
    2026.4  # recipes of NeMo from here on capture whole iterations, with static shapes of the routed tokens
)
LONGEST_GPU_BATCH, LONGEST_TPU_BATCH = 16_384, 65_536  # tokens of a micro-batch where none is stated
SLOWEST_RAIL, FASTEST_RAIL = 6.25, 800.0  # Gb/s of one GPU that a training network plausibly has


def network_of(run: Run) -> float:
    """Network bytes/s of one GPU: as the interconnect column states it, else the catalogue's."""
    text = run.row.get("interconnect", "")
    compute = text.split("Compute:")[-1].split("Management:")[0]
    per_node = NODE_TOTAL.search(text)
    rails = RAILS.search(compute)
    total = float(per_node[1]) if per_node else float(rails[1]) * float(rails[2]) if rails else math.nan
    rate = total / run.gpu.gpus_per_node
    return rate * GIGA / 8 if SLOWEST_RAIL <= rate <= FASTEST_RAIL else run.gpu.nic_bandwidth


def levers_of(run: Run) -> Levers:
    """The levers that a framework's own recipes have on."""
    newest = newest_attention(run.framework, run.year) or HOPPER_ATTENTION.search(run.row.get("notes", "")) is not None
    notes = run.row.get("notes", "").lower()
    return Levers(
        flash_attention_2=float(run.flash),
        flash_attention_3=float(run.flash and newest),
        fused_kernels=float(
            run.framework in FUSING or any(word in run.row.get("framework", "").lower() for word in FUSED_LABELS)
        ),
        torch_compile=float(run.framework in COMPILING or "compile" in notes),
        cuda_graphs=float(
            "cuda graph" in notes or "tokendrop" in notes or (run.framework == "nemo" and run.year >= WHOLE_STEP_GRAPHS)
        ),
        comm_overlap=float(not NO_OVERLAP.search(notes)),
        topology_aware=1.0,
        hierarchical_allreduce=1.0,
        gradient_compression=0.0,
        paged_attention=0.0,
        continuous_batching=0.0,
        chunked_prefill=0.0,
        sequence_packing=1.0,
    )


def _micro_batch(run: Run) -> float:
    """As stated, else the largest power of two that accumulation and usual activation sizes allow."""
    if not math.isnan(run.micro_batch):
        return run.micro_batch
    tokens = LONGEST_TPU_BATCH if run.gpu.architecture.startswith("TPU") else LONGEST_GPU_BATCH
    most = min(run.global_batch / run.dp, tokens * run.cp / run.seq_len)
    return float(2 ** math.floor(math.log2(max(most, 1.0))))


def _training(run: Run) -> Training:
    sixteen = run.zero_stage >= 3 or run.framework in SIXTEEN_BIT_GRADIENTS
    gradients = "bf16" if sixteen and FP32_ACCUMULATION not in run.row.get("notes", "") else "fp32"
    return Training(
        method=codes.METHODS.index(run.method),
        framework=codes.FRAMEWORKS.index(run.framework),
        framework_year=run.year,
        precision=codes.TRAINING_PRECISIONS.index(run.precision),
        gradient_dtype=codes.GRADIENT_DTYPES.index(gradients),
        seq_len=run.seq_len,
        global_batch=run.global_batch,
        micro_batch=_micro_batch(run),
        recompute=codes.RECOMPUTES.index(run.recompute or "none"),
        optimizer=0,
        total_tokens=math.nan,
        lora_rank=run.lora_rank,
        lora_targets=codes.LORA_TARGETS.index("attention" if run.framework in ("nemo", "other") else "all_linear"),
        padding_fraction=0.0,
        data_loader_bytes_per_s=math.inf,
    )


def _layout(run: Run) -> Layout:
    return Layout(
        gpus=run.gpus,
        tp=run.tp,
        pp=run.pp,
        cp=run.cp,
        ep=run.ep,
        dp=run.dp,
        expert_tp=run.expert_tp,
        zero_stage=run.zero_stage,
        virtual_pipeline=run.virtual_pipeline,
        sequence_parallel=float(run.tp > 1 and (math.isnan(run.year) or run.year >= 2022.3)),
        attention_dp=0.0,
        gpus_per_node=float(run.gpu.gpus_per_node),
        internode_bandwidth=network_of(run),
    )


def batch_of(runs: Sequence[Run]) -> tuple[Batch, list[Accelerator]]:
    """The batch of `runs`, shape (len(runs),), and the GPUs that its codes index.

    A run without a stated tensor-parallel size gets the least with which it fits; where recomputation is not stated,
    see `_settle_recompute`.
    """
    for _ in range(3):
        batch, gpus = _assembled(runs)
        assert batch.training is not None
        batch.training.recompute = np.full(len(runs), FULL)
        short = np.flatnonzero(~memory.training(batch).fits)
        grown = [runs[index] for index in short.tolist() if _may_grow(runs[index])]
        for run in grown:
            run.tp, run.dp = 2.0 * run.tp, run.dp / 2.0
        if not grown:
            break
    batch, gpus = _assembled(runs)
    _settle_recompute(batch, runs)
    return batch, gpus


def _may_grow(run: Run) -> bool:
    """Whether more tensor parallelism is consistent with what a row states."""
    unstated = not run.row.get("tp") and not run.row.get("dp")
    return unstated and run.zero_stage < 3 and run.dp % 2 == 0 and 2 * run.tp <= run.gpu.gpus_per_node


def _assembled(runs: Sequence[Run]) -> tuple[Batch, list[Accelerator]]:
    gpus = list(dict.fromkeys(run.gpu for run in runs))
    where = {gpu: index for index, gpu in enumerate(gpus)}
    hardware = gpu_columns(gpus).take(np.array([where[run.gpu] for run in runs], dtype=np.intp))
    models = list({id(run.architecture): run.architecture for run in runs}.values())
    number = {id(model): index for index, model in enumerate(models)}
    columns = Model.stack([model.columns() for model in models]).take(
        np.array([number[id(run.architecture)] for run in runs], dtype=np.intp)
    )
    assert isinstance(hardware, Gpu)
    batch = Batch(
        model=_floats(columns),
        gpu=hardware,
        layout=_floats(Layout.stack([_layout(run) for run in runs])),
        levers=Levers.stack([levers_of(run) for run in runs]),
        training=Training.stack([_training(run) for run in runs]),
    )
    return batch, gpus


def _settle_recompute(batch: Batch, runs: Sequence[Run]) -> None:
    """Where recomputation is not stated: none if that fits, else as the framework does it.

    Megatron and its relatives recompute single modules (norms, activation functions) until a run fits; others whole layers, and those for
    fine-tuning on few GPUs always.
    """
    assert batch.training is not None
    unstated = np.array([not run.recompute for run in runs])
    habit = np.array([run.framework == "hf_trainer" for run in runs])
    last = np.array([SELECTIVE if run.framework in MODULE_WISE else FULL for run in runs])
    stated = batch.training.recompute.copy()
    batch.training.recompute = np.full(len(runs), NONE)
    chosen = np.where(memory.training(batch).fits, NONE, last)
    batch.training.recompute = np.where(unstated, np.where(habit, FULL, chosen), stated)


MODULE_WISE = ("nemo", "megatron", "nanotron", "other")
NONE, SELECTIVE, FULL = (codes.RECOMPUTES.index(name) for name in ("none", "selective", "full"))
Record = TypeVar("Record", Model, Layout)


def _floats(columns: Record) -> Record:
    """The same columns as floats, so that products of sizes do not overflow."""
    for name in columns.__slots__:
        setattr(columns, name, np.asarray(getattr(columns, name), dtype=float))
    return columns
