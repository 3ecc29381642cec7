"""What no engine can beat: weights and caches are read once a step, and FLOPs of the model run at most at the dense peak."""

from typing import Any, NamedTuple

import numpy as np

from roofline.columns import Batch
from roofline.selection import maximum, minimum
from roofline.serving.formats import Formats
from roofline.serving.pools import Pools
from roofline.serving.schedule import Load
from roofline.serving.speculative import Speculation

Column = Any
HEADROOM = 1.02  # no prediction comes nearer to a roof


class Roofs(NamedTuple):
    """What no engine can beat."""

    request_flops: Column  # FLOPs of the model for one request
    read: Column  # bytes that must be read for a token of the settled batch, over the GPUs that share a layer
    lanes: Column  # share of a pipeline's stages that have a micro-batch
    tpot: Column  # s
    ttft: Column  # s
    request: Column  # s of an instance that one request takes at least


def roofs(batch: Batch, f: Formats, pools: Pools, load: Load, spec: Speculation, running: Column) -> Roofs:
    """Least times of a settled state: weights and caches read once a step, FLOPs of the model at the dense peak of the compute type."""
    model, serving = batch.model, batch.serving
    assert serving is not None
    context = serving.input_tokens + 0.5 * serving.output_tokens
    heads = model.full_layers * model.heads * (model.qk_dim + model.v_dim)
    heads = 2.0 * (
        heads + model.mla_layers * model.mla_heads * (model.mla_nope_dim + model.mla_rope_dim + model.mla_v_dim)
    )
    body = model.flops_per_token - 2.0 * model.vocab * model.hidden  # a prompt token needs no logits
    prompt = load.prompt * (body + heads * (serving.input_tokens - 0.5 * load.prompt))
    answer = load.output * (model.flops_per_token + heads * context)
    gpus = pools.decode.tp * pools.decode.attention_ranks
    tp = gpus / pools.decode_ranks
    # A token passes all stages with its micro-batch; a stage holds its share of the layers and reads it for each micro-batch.
    lane = maximum(running / pools.pp, 1.0)
    touched = -np.expm1(lane * np.log1p(-minimum(model.top_k / maximum(model.experts, 1.0), 0.999999)))
    dense = (model.attention_params + model.recurrent_params) * f.attention_bytes
    dense = (
        dense
        + (model.mlp_params + model.shared_expert_params) * f.feed_bytes
        + model.vocab * model.hidden * f.head_bytes
    )
    weights = dense / tp + model.expert_params * touched * f.feed_bytes / gpus
    held = model.kv_bytes_per_token * context + model.kv_window_bytes_per_token * minimum(context, model.window)
    each = maximum(lane / pools.decode_ranks, 1.0)
    read = weights + (held * (0.5 * f.kv_bytes) + model.state_bytes_per_sequence) * each / tp
    rate = gpus * pools.pp * f.feed_peak
    step = read / batch.gpu.bandwidth / spec.accepted
    others = maximum(running - 1.0, 0.0) * (1.0 - pools.split)
    shared = (others * prompt + running * answer) / (load.output * rate)
    request = (prompt * (1.0 - pools.split) + answer) / rate
    return Roofs(
        request_flops=prompt + answer,
        read=read,
        lanes=minimum(running / pools.pp, 1.0),
        tpot=maximum(step, shared) * HEADROOM,
        ttft=prompt / rate * HEADROOM,
        request=request * HEADROOM,
    )
