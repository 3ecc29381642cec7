"""The operators of one scenario, decode step and prefill pass: FLOPs, bytes and time of one occurrence on one GPU.

The passes of `roofline.serving.step` time the projections of all layers together, as they share their rows; here that time is shared out by
weights, so that the rows of a phase add up to its pass.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from roofline.codes import BOUNDS
from roofline.serving.schedule import Steps
from roofline.serving.step import HALF_BYTES

Row = dict[str, Any]


class Work(NamedTuple):
    """Work of a pass on one GPU."""

    phase: str
    tokens: float
    expert_tokens: float
    rows: float
    sequences: float
    prompt_tokens: float


def first(value: Any) -> float:
    """The number of a column of one scenario, shape ()."""
    return float(value)


class One:
    """A record of columns of one scenario, read as numbers."""

    def __init__(self, record: Any) -> None:
        self._record = record

    def __getattr__(self, name: str) -> float:
        return first(getattr(self._record, name))


def rows(scene: Any, state: Steps) -> list[Row]:
    """Rows of the decode step and of the pass that takes a prompt in, sequences in decode left out of the latter."""
    running = max(first(state.running) / first(scene.pools.pp), 1.0)
    each = max(running / first(scene.pools.decode_ranks), 1.0)
    width = first(scene.speculation.width)
    prompt = min(first(scene.load.prompt), first(scene.load.chunk)) / first(scene.pools.prefill_ranks)
    decode = Work("decode", each * width, running * width, each * width, each, 0.0)
    prefill = Work("prefill", prompt, prompt * first(scene.pools.prefill_ranks), 1.0, 0.0, prompt)
    return [*_pass(scene, decode, 0), *_pass(scene, prefill, 1)]


def _pass(scene: Any, work: Work, phase: int) -> Iterator[Row]:
    model, k = One(scene.batch.model), One(scene.costs[phase])
    f, shape = One(scene.formats), One((scene.pools.decode, scene.pools.prefill)[phase])
    yield from _projections(model, k, f, shape, work)
    if model.moe_layers:
        yield _experts(model, k, f, shape, work)
    yield _attention(model, k, scene, work)
    head = model.vocab * model.hidden / shape.tp
    yield _row("lm_head", work, 1, 2 * head * work.rows, head * f.head_bytes, k.head_row * work.rows, k.head_read)
    chain = k.element_token * work.tokens / max(model.layers, 1)
    size = HALF_BYTES * model.hidden * work.tokens * 2
    yield _finish("elementwise", work, model.layers, 5.0 * model.hidden * work.tokens, size, chain, "memory")
    wire = k.wire_token * work.tokens + k.network
    if wire > 0:
        yield _finish("collectives", work, model.layers, 0.0, 0.0, wire / model.layers, "interconnect")
    idle = k.launch + k.decode_latency * work.sequences
    yield _finish("launches", work, model.layers, 0.0, 0.0, idle / model.layers, "latency")


def _projections(model: One, k: Any, f: One, shape: One, work: Work) -> Iterator[Row]:
    compute, memory = k.linear_token * (work.tokens + k.small_rows), k.linear_read
    parts = [part for part in _weights(model) if part[1] > 0]
    whole = sum(weights * (f.attention_bytes if attention else f.feed_bytes) for _, weights, _, attention in parts)
    for name, weights, count, attention in parts:
        stored = f.attention_bytes if attention else f.feed_bytes
        share = weights * stored / whole / max(count, 1)
        one = weights / max(count, 1) / shape.tp
        yield _row(name, work, count, 2 * one * work.tokens, one * stored, compute * share, memory * share)


def _weights(model: One) -> list[tuple[str, float, float, bool]]:
    """(name, weights of all layers, layers, of attention) of every projection."""
    query = model.full_layers * model.heads * model.qk_dim * (1 + model.query_gate)
    query += model.window_layers * model.window_heads * model.window_qk_dim
    cached = model.full_kv_layers * model.kv_heads * (model.qk_dim + model.v_dim)
    cached += model.window_kv_layers * model.window_kv_heads * (model.window_qk_dim + model.window_v_dim)
    output = (
        model.full_layers * model.heads * model.v_dim + model.window_layers * model.window_heads * model.window_v_dim
    )
    qkv, out = model.hidden * (query + cached), model.hidden * output
    plain = model.full_layers + model.window_layers
    up = (model.mlp_matrices - 1) / max(model.mlp_matrices, 1)
    inner = model.recurrent_layers * model.recurrent_in
    return [
        ("attention.qkv", qkv, plain, True),
        ("attention.output", out, plain, True),
        (
            "attention.latent",
            max(model.attention_params - qkv - out, 0.0) if model.mla_layers else 0.0,
            model.mla_layers,
            True,
        ),
        ("recurrent.in", min(inner, model.recurrent_params), model.recurrent_layers, True),
        ("recurrent.out", model.recurrent_layers * model.recurrent_out, model.recurrent_layers, True),
        ("mlp.up", model.mlp_params * up, model.mlp_layers, False),
        ("mlp.down", model.mlp_params * (1 - up), model.mlp_layers, False),
        ("experts.shared", model.shared_expert_params, model.moe_layers, False),
    ]


def _experts(model: One, k: Any, f: One, shape: One, work: Work) -> Row:
    drawn = -k.experts * np.expm1(work.expert_tokens**k.draws * k.expert_miss)
    touched = min(drawn + k.spread * np.sqrt(drawn), k.experts)
    routed = work.expert_tokens * k.routed
    routed += k.spread * np.sqrt(routed)
    expert = model.expert_params / max(model.experts, 1) / model.moe_layers / (shape.expert_ranks / shape.ep)
    compute, memory = (
        k.expert_row * (routed + k.tile * touched) / model.moe_layers,
        k.expert_read * touched / model.moe_layers,
    )
    return _row(
        "experts.routed", work, model.moe_layers, 2 * expert * routed, expert * touched * f.feed_bytes, compute, memory
    )


def _attention(model: One, k: Any, scene: Any, work: Work) -> Row:
    layers = max(model.layers, 1)
    half, bandwidth = first(scene.formats.half_peak), first(scene.batch.gpu.bandwidth)
    compute = (k.decode_compute * work.sequences + k.prompt_token * work.prompt_tokens) / layers
    memory = k.decode_memory * work.sequences / layers
    share = scene.coefficients.scalar
    rate = half * (share["decode_attention"] if work.sequences else share["prefill_attention"])
    return _row(
        "attention.scores", work, layers, compute * rate, memory * bandwidth * share["kv_memory"], compute, memory
    )


def _row(name: str, work: Work, count: float, flops: float, nbytes: float, compute: float, memory: float) -> Row:
    time = float(np.sqrt(compute * compute + memory * memory))
    return _finish(name, work, count, flops, nbytes, time, BOUNDS[0] if compute > memory else BOUNDS[1])


def _finish(name: str, work: Work, count: float, flops: float, nbytes: float, time: float, bound: str) -> Row:
    return {
        "name": name,
        "phase": work.phase,
        "count": count,
        "flops": flops,
        "bytes": nbytes,
        "intensity": flops / nbytes if nbytes > 0 else 0.0,
        "time_s": time,
        "bound": bound,
    }
