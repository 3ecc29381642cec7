"""Measured serving points as a Batch for the engine."""

import math
from collections.abc import Sequence

import numpy as np

from roofline import codes, hardware
from roofline.columns import Batch, Gpu, Layout, Levers, Model, Serving
from roofline.validation.serving_table import Run

HOPPER = "Hopper"
FLASH = {"flash_attention_2", "flash_attention_3"}
ON = {
    "flash_attention_2",
    "fused_kernels",
    "comm_overlap",
    "topology_aware",
    "paged_attention",
    "continuous_batching",
    "chunked_prefill",
    "cuda_graphs",
}


def batch_of(runs: Sequence[Run]) -> tuple[Batch, list[hardware.Gpu]]:
    """The batch of `runs`, columns of shape (len(runs),), and the GPUs in the order of `Gpu.code`."""
    gpus = list({run.gpu.slug: run.gpu for run in runs}.values())
    places = {gpu.slug: i for i, gpu in enumerate(gpus)}
    models = list({id(run.architecture): run.architecture for run in runs}.values())
    model_places = {id(model): i for i, model in enumerate(models)}
    model: Model = Model.stack([each.columns() for each in models]).take(
        np.array([model_places[id(run.architecture)] for run in runs])
    )
    gpu: Gpu = hardware.gpu_columns(gpus).take(np.array([places[run.gpu.slug] for run in runs]))
    batch = Batch(
        model=model,
        gpu=gpu,
        layout=Layout.stack([_layout(run) for run in runs]),
        levers=Levers.stack([_levers(run) for run in runs]),
        serving=Serving.stack([_serving(run) for run in runs]),
    )
    return batch, gpus


def _layout(run: Run) -> Layout:
    return Layout(
        gpus=run.gpus,
        tp=run.tp,
        pp=run.pp,
        cp=1.0,
        ep=run.ep,
        dp=run.dp,
        expert_tp=max(run.tp * (run.dp if run.attention_dp else 1.0) / run.ep, 1.0),
        zero_stage=0.0,
        virtual_pipeline=1.0,
        sequence_parallel=0.0,
        attention_dp=float(run.attention_dp),
        gpus_per_node=float(run.gpu.gpus_per_node),
        internode_bandwidth=run.gpu.nic_bandwidth,
    )


def _levers(run: Run) -> Levers:
    names = Levers.__dataclass_fields__
    on = ON | {"flash_attention_3"} if run.gpu.architecture == HOPPER else ON
    on = on if run.flash_attention else on - FLASH
    return Levers(**{name: float(name in on) for name in names})


def _serving(run: Run) -> Serving:
    formats = run.formats
    return Serving(
        engine=codes.ENGINES.index(run.engine),
        engine_year=run.year,
        input_tokens=run.input_tokens,
        output_tokens=run.output_tokens,
        concurrency=run.concurrency,
        request_rate=run.request_rate,
        weights=codes.WEIGHT_FORMATS.index(formats.weights),
        activations=codes.ACTIVATION_FORMATS.index(formats.activations),
        kv_cache=codes.KV_FORMATS.index(formats.kv_cache),
        max_model_len=run.input_tokens + run.output_tokens,
        gpu_memory_utilization=run.utilization,
        max_num_batched_tokens=run.chunk,
        max_num_seqs=run.sequences,
        prefix_cache_hit=run.prefix_hit,
        draft_tokens=run.beams - 1.0,  # beams take a row each in a step and yield one token, as drafts that are refused
        acceptance=0.0,
        draft_cost=0.0,
        prefill_gpus=run.prefill_gpus,
        prefill_tp=run.prefill_tp,
        decode_gpus=run.decode_gpus,
        decode_tp=run.decode_tp,
        backend=codes.BACKENDS.index(run.variant) if run.engine == "llama_cpp" else 0,
        weight_bytes_override=run.file_bytes if run.file_bytes > 0 else math.nan,
        prefill_attention_dp=run.pool_attention_dp[0],
        decode_attention_dp=run.pool_attention_dp[1],
    )
