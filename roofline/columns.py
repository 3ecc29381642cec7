"""The engine's structure of arrays: what a scenario is once its words have become numbers.

Every class here is a record of columns. A column is a numpy array (or a plain number) and all columns of a batch
broadcast against each other: one scenario has columns of shape (), a million have shape (1e6,). There is one code
path for both. Everything is SI: bytes, FLOP/s, seconds, bytes/s per direction. Categories are integer codes into the
tuples of `roofline.codes`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

Column = Any  # float | int | NDArray[np.floating] | NDArray[np.integer]: anything that broadcasts


# Columns of codes, which index tables; all others are floats: products of whole numbers could overflow, and would be
# cast again in every operation.
CODES = frozenset(
    (
        *("code", "engine", "backend", "weights", "activations", "kv_cache"),
        *("method", "framework", "precision", "gradient_dtype", "recompute", "optimizer", "lora_targets"),
    )
)


def _column(name: str, values: list[Any]) -> NDArray[Any]:
    return np.array(values) if name in CODES else np.array(values, dtype=float)


@dataclass(slots=True)
class Columns:
    """Base of the records: stacking rows into columns and taking rows out of them."""

    @classmethod
    def stack(cls, rows: Sequence[Self]) -> Self:
        """Columns of shape (len(rows),) out of scalar records."""
        return cls(**{f.name: _column(f.name, [getattr(row, f.name) for row in rows]) for f in fields(cls)})

    def take(self, index: NDArray[np.intp]) -> Self:
        """The records at `index`; a column of shape () is shared by all and stays as it is."""
        columns = {}
        for f in fields(self):
            column = getattr(self, f.name)
            columns[f.name] = column[index] if np.ndim(column) else column
        return type(self)(**columns)


@dataclass(slots=True)
class Model(Columns):
    """A language model as the speed and memory formulas need it. Dimensions of layers that a model lacks are 0.

    Layers fall into slots, each counted once a layer: attention is full, windowed, MLA or recurrent (Mamba, gated
    delta, RWKV …); the feed-forward is dense or MoE. A slot whose layers differ in width holds their mean, so that
    sums over the slot stay exact.
    """

    hidden: Column
    vocab: Column
    layers: Column  # transformer blocks in total
    max_position: Column  # longest context by the config; 0 if not stated

    full_layers: Column  # attention over the whole context (MHA, GQA, MQA)
    heads: Column
    kv_heads: Column
    qk_dim: Column  # head dimension of queries and keys
    v_dim: Column
    query_gate: Column  # 1 where the query projection also yields an output gate (Qwen3-Next), else 0

    window_layers: Column  # attention over the last `window` tokens (sliding or chunked)
    window: Column
    window_heads: Column
    window_kv_heads: Column
    window_qk_dim: Column
    window_v_dim: Column

    kv_shared_layers: Column  # layers (of the two slots above) that read another layer's KV cache and keep none
    full_kv_layers: Column  # full-attention layers that keep a KV cache of their own
    window_kv_layers: Column

    mla_layers: Column  # multi-head latent attention
    mla_heads: Column
    mla_q_rank: Column  # 0: queries are projected at full width
    mla_kv_rank: Column
    mla_nope_dim: Column
    mla_rope_dim: Column
    mla_v_dim: Column
    indexer_layers: Column  # layers with a sparse-attention indexer
    indexer_heads: Column
    indexer_dim: Column
    indexer_top_k: Column  # tokens that sparse attention reads; 0: all

    recurrent_layers: Column
    recurrent_in: Column  # parameters of a layer's input projections (GEMM weights)
    recurrent_out: Column  # parameters of a layer's output projection
    recurrent_flops: Column  # FLOPs of the scan, one token, one layer
    recurrent_state_bytes: Column  # one sequence, one layer (recurrent + convolution state, 16 bit)

    mlp_layers: Column  # layers with a dense feed-forward
    mlp_width: Column
    mlp_matrices: Column  # 3 gated, 2 not

    moe_layers: Column
    experts: Column  # routed
    top_k: Column
    expert_width: Column
    expert_matrices: Column  # 3 gated, 2 not
    shared_width: Column  # total width of the shared experts

    # Parameters, counted exactly; they add up to total_params.
    total_params: Column
    active_params: Column
    embedding_params: Column  # input table
    lm_head_params: Column  # 0 when tied
    lookup_params: Column  # learned positions and per-layer tables: stored, only looked up
    attention_params: Column  # projections of all attention layers, MLA and indexer included
    mlp_params: Column  # dense feed-forwards
    expert_params: Column  # routed experts
    shared_expert_params: Column
    router_params: Column
    recurrent_params: Column  # projections and vectors of the recurrent layers
    norm_params: Column  # norms
    other_params: Column  # whatever is left
    vision_params: Column  # apart, not in total_params; 0 where unknown

    # KV cache, 16 bit, whole model, as CONTRACT defines them.
    kv_bytes_per_token: Column
    kv_window_bytes_per_token: Column
    kv_indexer_bytes_per_token: Column
    state_bytes_per_sequence: Column

    flops_per_token: Column  # forward, matmuls of active parameters less looked-up tables; no attention scores
    is_moe: Column  # 1 or 0
    is_mla: Column
    is_hybrid: Column  # 1 where recurrent layers mix with attention
    rope_table_factor: Column = (
        1.0  # linear rope scaling: engines keep cosines and sines of max_position x factor positions
    )

    @property
    def kind(self) -> str:
        """dense, moe, mla or hybrid; of one model, not of columns."""
        if self.is_hybrid:
            return "hybrid"
        if self.is_mla:
            return "mla"
        return "moe" if self.is_moe else "dense"


@dataclass(slots=True)
class Gpu(Columns):
    """An accelerator.

    Peaks are dense FLOP/s; 0 where the hardware lacks the type. Links are bytes/s, one direction, one GPU.
    """

    code: Column  # row of the catalogue of this batch: coefficients are looked up by it
    memory_bytes: Column  # what the driver reports
    bandwidth: Column  # device memory, bytes/s
    peak_fp32: Column
    peak_tf32: Column
    peak_fp16: Column
    peak_bf16: Column
    peak_fp8: Column
    peak_int8: Column
    peak_fp4: Column
    peak_int4: Column
    link_bandwidth: Column  # NVLink, xGMI, ICI …; 0 where GPUs meet over PCIe only
    pcie_bandwidth: Column
    nic_bandwidth: Column  # network, bytes/s for one GPU
    domain: Column  # GPUs that the fast link joins (8, 72, 2 for a bridge, 1 for none)
    gpus_per_node: Column
    sms: Column  # SMs or CUs
    l2_bytes: Column
    tdp_watts: Column  # nan where it is not known
    idle_watts: Column


@dataclass(slots=True)
class Layout(Columns):
    """How a model is spread: tp · pp · cp · dp = gpus."""

    gpus: Column
    tp: Column
    pp: Column
    cp: Column
    ep: Column
    dp: Column
    expert_tp: Column
    zero_stage: Column
    virtual_pipeline: Column
    sequence_parallel: Column  # 1 or 0
    attention_dp: Column  # 1: attention data parallel, experts shared (inference)
    gpus_per_node: Column
    internode_bandwidth: Column  # bytes/s, one direction, one GPU


@dataclass(slots=True)
class Levers(Columns):
    """Optimizations, each 1 (on) or 0 (off); names are those of the scenario format."""

    flash_attention_2: Column
    flash_attention_3: Column
    fused_kernels: Column
    torch_compile: Column
    cuda_graphs: Column
    comm_overlap: Column
    topology_aware: Column
    hierarchical_allreduce: Column
    gradient_compression: Column
    paged_attention: Column
    continuous_batching: Column
    chunked_prefill: Column
    sequence_packing: Column


@dataclass(slots=True)
class Training(Columns):
    """A training run.

    Codes index METHODS, FRAMEWORKS, TRAINING_PRECISIONS, GRADIENT_DTYPES, RECOMPUTES, OPTIMIZERS, LORA_TARGETS.
    """

    method: Column
    framework: Column
    framework_year: Column  # software date in years (2024.5): how old the kernels are; nan where unknown
    precision: Column
    gradient_dtype: Column
    seq_len: Column
    global_batch: Column  # sequences
    micro_batch: Column  # sequences, one data-parallel rank
    recompute: Column
    optimizer: Column
    total_tokens: Column  # nan where not asked
    lora_rank: Column
    lora_targets: Column
    padding_fraction: Column
    data_loader_bytes_per_s: Column  # inf where not limited


@dataclass(slots=True)
class Serving(Columns):
    """A serving load.

    Codes index ENGINES, BACKENDS, WEIGHT_FORMATS, ACTIVATION_FORMATS, KV_FORMATS. Concurrency and rates are of the whole
    system.
    """

    engine: Column
    engine_year: Column  # software date in years; nan where unknown
    input_tokens: Column
    output_tokens: Column
    concurrency: Column  # inf: all that fits; nan where a request rate is given
    request_rate: Column  # requests/s; nan where a concurrency is given
    weights: Column
    activations: Column
    kv_cache: Column
    max_model_len: Column
    gpu_memory_utilization: Column
    max_num_batched_tokens: Column
    max_num_seqs: Column
    prefix_cache_hit: Column
    draft_tokens: Column  # 0: no speculation
    acceptance: Column
    draft_cost: Column
    prefill_gpus: Column  # 0: not disaggregated
    prefill_tp: Column
    decode_gpus: Column
    decode_tp: Column
    weight_bytes_override: (
        Column  # bytes on the disk where a checkpoint states them (quantization_config with exceptions); nan else
    )
    backend: Column = 0  # of llama.cpp; 0: the usual one of the GPU's vendor
    prefill_attention_dp: Column = math.nan  # of a pool of its own; nan: as the layout says
    decode_attention_dp: Column = math.nan


@dataclass(slots=True)
class Batch:
    """Scenarios of one workload, ready for `roofline.memory`, `roofline.training` and `roofline.serving`."""

    model: Model
    gpu: Gpu
    layout: Layout
    levers: Levers
    training: Training | None = None
    serving: Serving | None = None
