"""Memory of a serving engine on one GPU: weights, activation peak, runtime, and what is left for the KV cache by the engine's own rule.

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
from roofline.memory.cache import SGLANG, VLLM, Cache, cache, sequence_bytes, since
from roofline.memory.constants import ServingConstants, serving_constants
from roofline.memory.shards import Shard, shard, stage
from roofline.precision import BODY_BYTES, EXPERTS_ONLY, HALF_LATENT_ATTENTION, HEAD_BYTES, IS_GGUF, IS_MXFP4, REST_BYTES, TABLE_BYTES
from roofline.units import GIB

Column = Any
TENSORRT_LLM, LLAMA_CPP, STATIC = (ENGINES.index(name) for name in ("tensorrt_llm", "llama_cpp", "static_batching"))
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
    """Bytes on the fullest GPU; `weights + kv_cache + activations + runtime = total`. Tokens and concurrency are those of one replica."""

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
    replica = layout.tp * np.where(layout.attention_dp > 0, layout.dp, 1.0)
    return np.maximum(layout.ep * layout.expert_tp, replica)


def weight_bytes(batch: Batch, held: Shard, shards: Column) -> Column:
    """Stored bytes of the parameters of `held`, with copies and tables that engines add."""
    model, layout, load = batch.model, batch.layout, batch.serving
    assert load is not None
    code = load.weights
    body, rest = BODY_BYTES[code], REST_BYTES[code]
    latent = (model.mla_layers > 0) | (model.recurrent_layers > 0)
    experts_only = (EXPERTS_ONLY[code] > 0) & (model.is_moe > 0)
    half = experts_only | ((HALF_LATENT_ATTENTION[code] > 0) & latent)
    attention_body = np.where(half, rest, body)
    feed_body = np.where(experts_only, rest, body)
    width = np.maximum(model.expert_width / layout.tp, 1.0)
    one_pad = (load.engine_year >= YEAR_ONE_PAD) & (load.engine_year < YEAR_BOTH_PADS)
    wide = np.where(one_pad, width, np.ceil(width / MXFP4_WIDTH_PAD) * MXFP4_WIDTH_PAD)
    padded = np.ceil(model.hidden / MXFP4_HIDDEN_PAD) * MXFP4_HIDDEN_PAD * wide
    expert_body = body * np.where(IS_MXFP4[code] & (load.engine == VLLM), padded / (model.hidden * width), 1.0)
    # A tied table in a GGUF file is stored once, in the head's type.
    table = np.where((model.lm_head_params == 0) & IS_GGUF[code], HEAD_BYTES[code], TABLE_BYTES[code])
    layers = (held.attention + held.recurrent) * attention_body + held.feed * feed_body + held.experts * expert_body
    stored = layers + held.table * table + held.head * HEAD_BYTES[code] + held.rest * rest
    # The checkpoint's own size, where known, corrects what the format's rule says of the whole model.
    whole = _whole_model_bytes(batch, attention_body, feed_body, body, table, rest)
    return stored * np.where(np.isnan(load.weight_bytes_override), 1.0, load.weight_bytes_override / whole)


def _whole_model_bytes(batch: Batch, attention: Column, feed: Column, expert: Column, table: Column, rest: Column) -> Column:
    model = batch.model
    assert batch.serving is not None
    head = HEAD_BYTES[batch.serving.weights]
    layers = (model.attention_params + model.recurrent_params) * attention + (model.mlp_params + model.shared_expert_params) * feed
    tables = (model.embedding_params + model.lookup_params) * table + model.lm_head_params * head
    return layers + model.expert_params * expert + tables + (model.norm_params + model.other_params + model.router_params) * rest


def engine_copies(batch: Batch) -> Column:
    """Bytes beside the checkpoint: absorbed projections of latent attention (16 bit) and tables of rotary cosines and sines."""
    model, layout, load = batch.model, batch.layout, batch.serving
    assert load is not None
    absorbed = model.mla_layers * model.mla_kv_rank * model.mla_heads * (model.mla_nope_dim + model.mla_v_dim) * 2.0 / (layout.tp * layout.pp)
    rotary = np.where(model.mla_layers > 0, model.mla_rope_dim, np.maximum(model.qk_dim, model.window_qk_dim))
    local = (model.window_layers > 0) & (model.rope_table_factor > 1)
    table = model.max_position * (model.rope_table_factor + local) * rotary * 2.0
    attends = model.full_layers + model.window_layers + model.mla_layers > 0
    return np.where(load.engine <= SGLANG, absorbed + table * attends, 0.0)


def activation_peak(batch: Batch, constants: ServingConstants) -> Column:
    """Activations at max_num_batched_tokens: the larger of a layer's live tensors and the sampler's warm-up, plus the experts' workspace."""
    model, layout, load = batch.model, batch.layout, batch.serving
    assert load is not None
    tokens, tp = load.max_num_batched_tokens, layout.tp
    wide = np.maximum(np.maximum(model.mlp_width, model.shared_width) * 3.0, model.heads * (model.qk_dim + model.v_dim)) / tp
    new = since(load.engine_year, YEAR_V1)
    vectors = np.where(new, constants.hidden_vectors_1, constants.hidden_vectors_0)
    layer = tokens * 2.0 * (wide + vectors * model.hidden)
    up = np.maximum(2.0 * model.expert_width / layout.expert_tp, model.hidden)
    down = np.maximum(model.expert_width / layout.expert_tp, model.hidden)
    fused = new & np.logical_not(IS_MXFP4[load.weights])  # MXFP4 kernels keep no workspace of their own
    routed = tokens * model.top_k * 2.0 * (up + down) * constants.expert_workspace * fused
    logit = np.where(since(load.engine_year, YEAR_LEAN), constants.logit_bytes_2, constants.logit_bytes_1)
    sampler = _sequences(batch) * model.vocab * logit + tokens * model.hidden * 4.0
    return np.maximum(layer, np.where(load.engine <= SGLANG, sampler, 0.0)) + routed


def _sequences(batch: Batch) -> Column:
    """Sequences that one replica may run at once: max_num_seqs, or what the engine chooses for the GPU."""
    load, gpu = batch.serving, batch.gpu
    assert load is not None
    large = (gpu.memory_bytes >= LARGE_GPU) & (gpu.peak_fp8 > 0) & since(load.engine_year, YEAR_V1)
    chosen = np.where(large, SEQUENCES_LARGE, SEQUENCES_SMALL)
    return np.where(np.isnan(load.max_num_seqs), chosen, load.max_num_seqs)


def runtime(batch: Batch, constants: ServingConstants) -> tuple[Column, Column]:
    """Context and libraries, and CUDA graphs: bytes outside of what the framework's allocator reports."""
    model, layout, load = batch.model, batch.layout, batch.serving
    assert load is not None
    parallel = layout.tp * layout.pp > 1
    new = since(load.engine_year, YEAR_LIBRARIES)
    together = np.where(new, constants.non_torch_parallel_2, constants.non_torch_parallel_1)
    context = np.where(parallel, together, np.where(new, constants.non_torch_single_2, constants.non_torch_single_1))
    context = np.where(since(load.engine_year, YEAR_V1), context, constants.non_torch_0)
    pool = np.where(parallel, constants.pool_overhead_parallel, constants.pool_overhead_single)
    context = np.where(load.engine == SGLANG, pool, np.where(load.engine == LLAMA_CPP, constants.llama_cpp_runtime, context))
    graphs = constants.graph_base + constants.graph_per_layer * model.layers / layout.pp + constants.graph_moe * model.is_moe
    captured = (batch.levers.cuda_graphs > 0) & (load.engine < LLAMA_CPP)
    return context, np.where(captured, graphs, 0.0)


def serving(batch: Batch, constants: ServingConstants | None = None) -> ServingMemory:
    """Memory of every scenario of `batch` (needs `batch.serving`). `constants` may be columns; by default the shipped ones."""
    model, layout, load = batch.model, batch.layout, batch.serving
    assert load is not None
    constants = constants or serving_constants()
    heaviest = stage(model, layout.pp)
    shards = expert_shards(batch)
    weights = weight_bytes(batch, shard(model, layout, shards, heaviest), shards) + engine_copies(batch)
    activations = activation_peak(batch, constants)
    context, graphs = runtime(batch, constants)
    capacity = batch.gpu.memory_bytes
    held = cache(batch, heaviest)

    share, engine = load.gpu_memory_utilization, load.engine
    free = capacity - weights - activations - context - graphs
    counted = since(load.engine_year, YEAR_GRAPHS_COUNTED) * graphs
    vllm = share * capacity - weights - activations - context - counted
    sglang = np.minimum(share * (capacity - context) - weights, free)
    pooled = np.where(engine == VLLM, vllm, np.where(engine == SGLANG, sglang, share * free))
    available = np.where(engine >= LLAMA_CPP, free, pooled)

    longest = np.where(engine == STATIC, load.input_tokens + load.output_tokens, load.max_model_len) + load.draft_tokens
    one = sequence_bytes(held, longest)
    context_mean = load.input_tokens + load.output_tokens / 2 + load.draft_tokens + MEAN_BLOCK_WASTE
    replica = np.where(layout.attention_dp > 0, layout.dp, 1.0)
    whole_blocks = np.maximum(np.floor(available / held.block), 0.0) * held.block
    usable = np.where(held.state > 0, np.where(held.grouped, whole_blocks, np.maximum(available, 0.0)), whole_blocks)
    concurrency = usable / one * replica
    mean_concurrency = usable / sequence_bytes(held, context_mean) * replica
    asked = _asked_sequences(batch, concurrency, replica)
    kept = np.where(engine >= LLAMA_CPP, np.maximum(asked, 1.0) * one, np.maximum(available, one))
    fits = (available >= one) & (kept <= available * (1 + 1e-9))
    return ServingMemory(
        weights_bytes=weights,
        kv_cache_bytes=kept,
        activations_bytes=activations,
        runtime_bytes=context + graphs,
        total_bytes=weights + kept + activations + context + graphs,
        capacity_bytes=capacity,
        fits=fits,
        kv_available_bytes=available,
        shortfall_bytes=np.maximum(kept - available, 0.0),
        kv_cache_tokens=_tokens(held, usable, one, longest) * replica,
        max_concurrency=concurrency,
        mean_concurrency=mean_concurrency,
        kv_bytes_per_token=held.full_token,
        sequence_bytes=one - np.ceil(longest / held.full_block_tokens) * held.full_block_tokens * held.full_token,
        sequence_bytes_at_max=one,
    )


def _tokens(held: Cache, usable: Column, one: Column, longest: Column) -> Column:
    """Tokens of a rank's cache: whole blocks where all layers are alike, else as many sequences as fit times their length."""
    plain = (held.window_token + held.state == 0) & np.logical_not(held.grouped)
    return np.where(plain, np.floor(usable / np.maximum(held.full_token, 1.0) + 1e-6), usable / one * longest)


def _asked_sequences(batch: Batch, concurrency: Column, replica: Column) -> Column:
    """Sequences for which llama.cpp or a static batch allocates: the asked concurrency of one replica, and at least one."""
    load, layout = batch.serving, batch.layout
    assert load is not None
    asked = np.where(np.isnan(load.concurrency), 1.0, load.concurrency) / np.maximum(layout.dp / replica, 1.0)
    return np.where(np.isinf(asked), np.maximum(np.floor(concurrency), 1.0), np.ceil(asked)) / replica
