"""Memory of a serving engine on one GPU: weights, activation peak, runtime, and what is left for the KV cache by the
engine's own rule.

- vLLM: utilization x total - weights - activation peak - non-torch memory (- CUDA graphs from 0.22 on).
- SGLang: utilization x what was free before loading - weights.
- TensorRT-LLM: utilization x what is free after loading and the profiling run.
- llama.cpp, static batching: the cache is allocated for the stated context or batch; the rest stays free.

All columns broadcast to the shape of the batch, () or (N,). Bytes. Sources: docs/algorithms/memory.md.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from roofline.codes import ENGINES
from roofline.columns import Batch
from roofline.memory.cache import BLOCK, VLLM, cache, sequence_bytes, since
from roofline.memory.constants import ServingConstants, serving_constants
from roofline.memory.shards import Shard, kv_heads, shard, stage
from roofline.precision import (
    BODY_BYTES,
    EXPERTS_ONLY,
    HALF_LATENT_ATTENTION,
    HEAD_BYTES,
    IS_GGUF,
    IS_MXFP4,
    REST_BYTES,
    TABLE_BYTES,
)
from roofline.selection import maximum, minimum, pick
from roofline.units import GIB

Column = Any
SGLANG, TENSORRT_LLM, LLAMA_CPP, STATIC = range(1, 5)
assert ENGINES[1:] == ("sglang", "tensorrt_llm", "llama_cpp", "static_batching")
SEQUENCES_LARGE, SEQUENCES_SMALL = 1024.0, 256.0  # vLLM's max_num_seqs by default, by the size of the GPU
LARGE_GPU = 70 * GIB
YEAR_V1, YEAR_LEAN = 2025.35, 2026.18  # vLLM 0.9: new engine; 0.17: smaller sampler warm-up
YEAR_LIBRARIES = 2026.23  # vLLM 0.18: communication libraries counted in full
YEAR_GRAPHS_COUNTED = 2026.5  # vLLM 0.22: CUDA graphs inside the budget
MXFP4_HIDDEN_PAD, MXFP4_WIDTH_PAD = 256.0, 128.0  # kernels for gpt-oss pad hidden size and expert width
YEAR_ONE_PAD, YEAR_BOTH_PADS = 2025.7, 2026.0  # vLLM 0.11 to 0.13 padded the hidden size alone
MEAN_BLOCK_WASTE = 8.0  # tokens of the last block that stay empty, on average


@dataclass(slots=True)
class ServingMemory:
    """Bytes on the fullest GPU; `weights + kv_cache + activations + runtime = total`. Tokens and concurrency are
    those of one replica.
    """

    weights_bytes: Column
    kv_cache_bytes: Column  # what the engine takes; where it has less than one sequence needs, what that sequence needs
    activations_bytes: Column
    runtime_bytes: Column
    total_bytes: Column
    capacity_bytes: Column
    fits: Column  # bool
    kv_available_bytes: Column  # by the engine's rule; negative where weights alone are too much
    shortfall_bytes: Column  # what lacks for one sequence of max_model_len; 0 where it fits
    kv_cache_tokens: Column
    max_concurrency: Column  # sequences at max_model_len, not rounded
    mean_concurrency: Column  # sequences at the mean context of the load
    kv_bytes_per_token: Column  # marginal, one GPU
    sequence_bytes: Column  # fixed, one sequence, one GPU: windows and recurrent states
    sequence_bytes_at_max: Column  # one sequence of max_model_len, one GPU


def expert_shards(batch: Batch) -> Column:
    """GPUs that share the routed experts of a replica."""
    layout = batch.layout
    replica = layout.tp * (1.0 + (layout.attention_dp > 0) * (layout.dp - 1.0))
    return maximum(layout.ep * layout.expert_tp, replica)


def weight_bytes(batch: Batch, held: Shard) -> Column:
    """Stored bytes of the parameters of `held`."""
    model, load = batch.model, batch.serving
    assert load is not None
    code = load.weights
    body, rest, head = BODY_BYTES[code], REST_BYTES[code], HEAD_BYTES[code]
    latent = (model.mla_layers > 0) | (model.recurrent_layers > 0)
    half_feed = EXPERTS_ONLY[code] * model.is_moe
    half_attention = maximum(half_feed, HALF_LATENT_ATTENTION[code] * latent)
    feed = body + half_feed * (rest - body)
    attention = body + half_attention * (rest - body)
    # A tied table in a GGUF file is stored once, in the head's type.
    table = TABLE_BYTES[code]
    table = table + (model.lm_head_params == 0) * IS_GGUF[code] * (head - table)
    experts = body * (1.0 + IS_MXFP4[code] * (load.engine == VLLM) * _mxfp4_padding(batch))
    layers = (held.attention + held.recurrent) * attention + held.feed * feed + held.experts * experts
    stored = layers + held.table * table + held.head * head + held.rest * rest
    # A checkpoint's own size, where known, corrects what the format's rule says of the whole model.
    projections = (model.attention_params + model.recurrent_params) * attention + model.expert_params * body
    feeds = (model.mlp_params + model.shared_expert_params) * feed
    tables = (model.embedding_params + model.lookup_params) * table + model.lm_head_params * head
    vectors = model.norm_params + model.other_params + model.router_params + model.vision_params
    whole = projections + feeds + tables + vectors * rest
    known = load.weight_bytes_override
    return stored * pick(known > 0, known / whole, 1.0)


def _mxfp4_padding(batch: Batch) -> Column:
    """What kernels for MXFP4 experts add by rounding sizes up, as a share."""
    model, load = batch.model, batch.serving
    assert load is not None
    one_pad = (load.engine_year >= YEAR_ONE_PAD) & (load.engine_year < YEAR_BOTH_PADS)
    width = model.expert_width / batch.layout.tp + (model.expert_width == 0)
    wide = np.ceil(width / MXFP4_WIDTH_PAD) * MXFP4_WIDTH_PAD / width
    hidden = np.ceil(model.hidden / MXFP4_HIDDEN_PAD) * MXFP4_HIDDEN_PAD / model.hidden
    return hidden * (wide + one_pad * (1.0 - wide)) - 1.0


def engine_copies(batch: Batch) -> Column:
    """Bytes that engines keep beside the checkpoint.

    Absorbed projections of latent attention, 16 bit, and tables of rotary cosines and sines.
    """
    model, layout, load = batch.model, batch.layout, batch.serving
    assert load is not None
    latent_dims = model.mla_heads * (model.mla_nope_dim + model.mla_v_dim)
    absorbed = model.mla_layers * model.mla_kv_rank * latent_dims * 2.0 / (layout.tp * layout.pp)
    rotary = maximum(model.qk_dim, model.window_qk_dim) * (model.mla_layers == 0) + model.mla_rope_dim
    local = (model.window_layers > 0) & (model.rope_table_factor > 1)
    table = model.max_position * (model.rope_table_factor + local) * rotary * 2.0
    return (load.engine <= SGLANG) * (absorbed + table)


def activation_peak(batch: Batch, constants: ServingConstants) -> Column:
    """Activations at max_num_batched_tokens.

    The larger of a layer's live tensors and the sampler's warm-up, plus the experts' workspace.
    """
    model, layout, load = batch.model, batch.layout, batch.serving
    assert load is not None
    tokens, tp, year = load.max_num_batched_tokens, layout.tp, load.engine_year
    feed = maximum(model.mlp_width, model.shared_width) * 3.0
    wide = maximum(feed, model.heads * (model.qk_dim + model.v_dim)) / tp
    new, lean = since(year, YEAR_V1), since(year, YEAR_LEAN)
    vectors = constants.hidden_vectors_0 + new * (constants.hidden_vectors_1 - constants.hidden_vectors_0)
    layer = tokens * 2.0 * (wide + vectors * model.hidden)
    each = model.expert_width / layout.expert_tp
    routed = maximum(2.0 * each, model.hidden) + maximum(each, model.hidden)
    fused = new * (1.0 - IS_MXFP4[load.weights])  # MXFP4 kernels keep no workspace of their own
    workspace = tokens * model.top_k * 2.0 * routed * constants.expert_workspace * fused
    logit = constants.logit_bytes_1 + lean * (constants.logit_bytes_2 - constants.logit_bytes_1)
    sampler = _sequences(batch, new) * model.vocab * logit + tokens * model.hidden * 4.0
    return maximum(layer, (load.engine <= SGLANG) * sampler) + workspace


def _sequences(batch: Batch, new: Column) -> Column:
    """Sequences that one replica may run at once: max_num_seqs, or what the engine chooses for the GPU."""
    load, gpu = batch.serving, batch.gpu
    assert load is not None
    large = (gpu.memory_bytes >= LARGE_GPU) & (gpu.peak_fp8 > 0)
    chosen = SEQUENCES_SMALL + large * new * (SEQUENCES_LARGE - SEQUENCES_SMALL)
    return pick(load.max_num_seqs > 0, load.max_num_seqs, chosen)


def runtime(batch: Batch, constants: ServingConstants) -> tuple[Column, Column]:
    """Context and libraries, and CUDA graphs: bytes outside of what the framework's allocator reports."""
    model, layout, load = batch.model, batch.layout, batch.serving
    assert load is not None
    year, engine = load.engine_year, load.engine
    parallel = (layout.tp * layout.pp * (1.0 + (layout.attention_dp > 0) * (layout.dp - 1.0)) > 1) * 1.0
    single = constants.non_torch_single_1 + parallel * (constants.non_torch_parallel_1 - constants.non_torch_single_1)
    latest = constants.non_torch_single_2 + parallel * (constants.non_torch_parallel_2 - constants.non_torch_single_2)
    context = single + since(year, YEAR_LIBRARIES) * (latest - single)
    context = constants.non_torch_0 + since(year, YEAR_V1) * (context - constants.non_torch_0)
    pool = constants.pool_overhead_single + parallel * (
        constants.pool_overhead_parallel - constants.pool_overhead_single
    )
    context = context + (engine == SGLANG) * (pool - context)
    context = context + (engine == LLAMA_CPP) * (constants.llama_cpp_runtime - context)
    graphs = constants.graph_base + constants.graph_per_layer * model.layers / layout.pp
    captured = (batch.levers.cuda_graphs > 0) & (engine < LLAMA_CPP)
    return context, captured * (graphs + constants.graph_moe * model.is_moe)


def serving(batch: Batch, constants: ServingConstants | None = None) -> ServingMemory:
    """Memory of every scenario of `batch` (needs `batch.serving`).

    `constants` may be columns; by default the shipped ones.
    """
    model, layout, load = batch.model, batch.layout, batch.serving
    assert load is not None
    constants = constants or serving_constants()
    heaviest, heads = stage(model, layout.pp), kv_heads(model, layout.tp)
    weights = weight_bytes(batch, shard(model, layout, expert_shards(batch), heaviest, heads)) + engine_copies(batch)
    activations = activation_peak(batch, constants)
    context, graphs = runtime(batch, constants)
    held = cache(batch, heaviest, heads)
    capacity = batch.gpu.memory_bytes
    available = _available(batch, capacity, weights, activations, context, graphs)
    allocates = load.engine >= LLAMA_CPP
    replica = 1.0 + (layout.attention_dp > 0) * (layout.dp - 1.0)

    stated = load.input_tokens + load.output_tokens
    longest = load.max_model_len + (load.engine == STATIC) * (stated - load.max_model_len) + load.draft_tokens
    one = sequence_bytes(held, longest)
    mean = sequence_bytes(held, stated - load.output_tokens / 2 + load.draft_tokens + MEAN_BLOCK_WASTE)
    usable = maximum(np.floor(available / held.block), 0.0) * held.block
    concurrency = usable / one * replica
    # llama.cpp and static batches allocate for the sequences that are asked for, or for all that fit.
    most = maximum(np.floor(concurrency), 1.0) / replica
    asked = pick(load.concurrency < np.inf, np.ceil(load.concurrency / layout.dp), most)
    kept = allocates * asked * one + (1.0 - allocates) * maximum(available, one)
    lacking = maximum(kept - available, 0.0)
    # Tokens: all blocks where layers are alike; else as many as sequences of the longest kind hold, or, where their
    # windows save nothing, as the groups share blocks.
    groups = held.full_groups + held.window_groups + held.state_groups
    shared = usable / held.block * BLOCK / (1.0 + held.grouped * (groups - 1.0))
    uneven = held.window_token + held.state > 0
    tokens = shared + uneven * (maximum(shared * held.grouped, usable / one * longest) - shared)
    return ServingMemory(
        weights_bytes=weights,
        kv_cache_bytes=kept,
        activations_bytes=activations,
        runtime_bytes=context + graphs,
        total_bytes=weights + kept + activations + context + graphs,
        capacity_bytes=capacity,
        fits=lacking <= 1e-9 * one,
        kv_available_bytes=available,
        shortfall_bytes=lacking,
        kv_cache_tokens=tokens * replica,
        max_concurrency=concurrency,
        mean_concurrency=usable / mean * replica,
        kv_bytes_per_token=held.full_token,
        sequence_bytes=one - longest * held.full_token,
        sequence_bytes_at_max=one,
    )


def _available(
    batch: Batch, capacity: Column, weights: Column, activations: Column, context: Column, graphs: Column
) -> Column:
    """What the engine's rule leaves for the KV cache of one GPU; negative where the rest is too much."""
    load = batch.serving
    assert load is not None
    share, engine = load.gpu_memory_utilization, load.engine
    used = weights + activations + context
    free = capacity - used - graphs
    vllm = share * capacity - used - since(load.engine_year, YEAR_GRAPHS_COUNTED) * graphs
    sglang = minimum(share * (capacity - context) - weights, free)
    pooled = (engine == VLLM) * vllm + (engine == SGLANG) * sglang + (engine == TENSORRT_LLM) * share * free
    return pooled + (engine >= LLAMA_CPP) * free
