"""An architecture as the engine's columns: layers sorted into slots.

Dimensions averaged where they differ within one.
"""

from collections.abc import Callable, Sequence
from typing import Any

from roofline.architecture.layers import Attention, FeedForward, Recurrent
from roofline.architecture.model import CACHE_BYTES, Architecture
from roofline.columns import Model


def columns(architecture: Architecture) -> Model:
    """The scalar `Model` record of an architecture."""
    parts = architecture.parts()
    fields: dict[str, Any] = {
        "hidden": architecture.hidden,
        "vocab": architecture.vocab,
        "layers": architecture.layers,
        "max_position": architecture.max_position,
        "rope_table_factor": architecture.rope_table_factor,
        **_attention(architecture),
        **_recurrent(architecture.recurrents()),
        **_feed_forward(architecture.feed_forwards()),
        "total_params": architecture.total_params,
        "active_params": architecture.active_params,
        "embedding_params": architecture.embedding_params,
        "lm_head_params": architecture.lm_head_params,
        "lookup_params": parts["lookup"],
        "attention_params": parts["attention"],
        "mlp_params": parts["mlp"],
        "expert_params": parts["routed_experts"],
        "shared_expert_params": parts["shared_experts"],
        "router_params": parts["router"],
        "recurrent_params": parts["recurrent"],
        "norm_params": parts["norms"],
        "other_params": parts["biases"] + parts["other"],
        "vision_params": architecture.vision_params or 0,
        "kv_bytes_per_token": architecture.kv_bytes_per_token,
        "kv_window_bytes_per_token": architecture.kv_window_bytes_per_token,
        "kv_indexer_bytes_per_token": architecture.kv_indexer_bytes_per_token,
        "state_bytes_per_sequence": architecture.state_bytes_per_sequence,
        "flops_per_token": architecture.flops_per_token,
        "is_moe": int(architecture.is_moe),
        "is_mla": int(architecture.is_mla),
        "is_hybrid": int(architecture.is_hybrid),
    }
    return Model(**fields)


def _mean(parts: Sequence[tuple[int, Any]], value: Callable[[Any], float]) -> float:
    """Mean over layers, a whole number where it is one; 0 for an empty slot."""
    count = sum(number for number, _ in parts)
    if not count:
        return 0
    total = sum(number * value(part) for number, part in parts)
    return total // count if isinstance(total, int) and total % count == 0 else total / count


def _count(parts: Sequence[tuple[int, Any]]) -> int:
    return sum(number for number, _ in parts)


def _attention(architecture: Architecture) -> dict[str, Any]:
    every = architecture.attentions()
    full = [(n, a) for n, a in every if a.kind in ("full", "chunked", "window") and not a.window]
    window = [(n, a) for n, a in every if a.kind != "mla" and a.window]
    latent = [(n, a) for n, a in every if a.kind == "mla"]
    indexed = [(n, a) for n, a in every if a.indexer_heads]
    shared = _count([(n, a) for n, a in [*full, *window] if not a.keeps_cache])
    return {
        "full_layers": _count(full),
        "heads": _mean(full, lambda a: a.heads),
        "kv_heads": _mean(full, lambda a: a.kv_heads),
        "qk_dim": _mean(full, lambda a: a.qk_dim),
        "v_dim": _mean(full, lambda a: a.v_dim),
        "query_gate": int(any(a.query_gate for _, a in every)),
        "window_layers": _count(window),
        "window": _mean(window, lambda a: a.window),
        "window_heads": _mean(window, lambda a: a.heads),
        "window_kv_heads": _mean(window, lambda a: a.kv_heads),
        "window_qk_dim": _mean(window, lambda a: a.qk_dim),
        "window_v_dim": _mean(window, lambda a: 0 if a.shared_kv else a.v_dim),
        "kv_shared_layers": shared,
        "full_kv_layers": _count([(n, a) for n, a in full if a.keeps_cache]),
        "window_kv_layers": _count([(n, a) for n, a in window if a.keeps_cache]),
        **_latent(latent),
        "indexer_layers": _count(indexed),
        "indexer_heads": _mean(indexed, lambda a: a.indexer_heads),
        "indexer_dim": _mean(indexed, lambda a: a.indexer_dim),
        "indexer_top_k": max((a.indexer_top_k for _, a in every), default=0),
    }


def _latent(parts: Sequence[tuple[int, Attention]]) -> dict[str, Any]:
    return {
        "mla_layers": _count(parts),
        "mla_heads": _mean(parts, lambda a: a.heads),
        "mla_q_rank": _mean(parts, lambda a: a.q_rank),
        "mla_kv_rank": _mean(parts, lambda a: a.kv_rank),
        "mla_nope_dim": _mean(parts, lambda a: a.nope_dim),
        "mla_rope_dim": _mean(parts, lambda a: a.rope_dim),
        "mla_v_dim": _mean(parts, lambda a: a.v_dim),
    }


def _recurrent(parts: Sequence[tuple[int, Recurrent]]) -> dict[str, Any]:
    return {
        "recurrent_layers": _count(parts),
        "recurrent_in": _mean(parts, lambda r: r.weights_in),
        "recurrent_out": _mean(parts, lambda r: r.weights_out),
        "recurrent_flops": _mean(parts, lambda r: r.flops),
        "recurrent_state_bytes": _mean(parts, lambda r: CACHE_BYTES * (r.state + r.conv_state)),
    }


def _feed_forward(parts: Sequence[tuple[int, FeedForward]]) -> dict[str, Any]:
    dense = [(n, f) for n, f in parts if f.width]
    moe = [(n, f) for n, f in parts if f.experts]
    return {
        "mlp_layers": _count(dense),
        "mlp_width": _mean(dense, lambda f: f.width),
        "mlp_matrices": _mean(dense, lambda f: f.matrices),
        "moe_layers": _count(moe),
        "experts": _mean(moe, lambda f: f.experts),
        "top_k": _mean(moe, lambda f: f.top_k),
        "expert_width": _mean(moe, lambda f: f.expert_width),
        "expert_matrices": _mean(moe, lambda f: f.expert_matrices),
        "shared_width": _mean(moe, lambda f: f.shared_width),
    }
