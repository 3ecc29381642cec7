"""DeepSeek-V4: one shared key/value head, compressed caches, grouped output projection, hyper-connections."""

from roofline.architecture import build, patterns
from roofline.architecture.build import Draft
from roofline.architecture.errors import InvalidConfig
from roofline.architecture.family import Family
from roofline.architecture.layers import Attention, FeedForward, Layer
from roofline.architecture.reading import Reader

WINDOW_ONLY, SPARSE, HEAVY = "sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"


def deepseek_v4(reader: Reader, family: Family) -> Draft:
    """Each layer attends to a window and, where it has a compressor, to entries that stand for 4 or 128 tokens each."""
    hidden, streams = reader.dim("hidden_size"), reader.dim("hc_mult", 4)
    kinds = _kinds(reader)
    built = {kind: _attention(reader, kind) for kind in dict.fromkeys(kinds)}
    forward = _mixture(reader)
    mixing = (2 + streams) * streams
    connections = 2 * (mixing * streams * hidden + mixing + 3)
    layers = {
        kind: Layer(attention=own, feed_forward=forward, norms=2 * hidden, other=connections)
        for kind, own in built.items()
    }
    draft = build.outside(reader, family)
    draft.other = streams * streams * hidden + streams + 1
    draft.layers = [layers[kind] for kind in kinds]
    return draft


def _rates(reader: Reader) -> dict[str, int]:
    stated = reader.section("compress_rates")
    sparse = reader.get("compress_rate_csa") or stated.get(SPARSE) or 4
    heavy = reader.get("compress_rate_hca") or stated.get(HEAVY) or 128
    return {
        SPARSE: reader.whole("compress_rates", sparse, least=1),
        HEAVY: reader.whole("compress_rates", heavy, least=1),
    }


def _kinds(reader: Reader) -> list[str]:
    count = patterns.layer_count(reader)
    names = {name: name for name in (WINDOW_ONLY, SPARSE, HEAVY)}
    explicit = patterns.named(reader, "layer_types", count, names)
    if explicit is not None:
        return explicit
    ratios = reader.per_layer("compress_ratios", count)
    if ratios is None:
        return ([HEAVY] * 2 + [SPARSE if index % 2 else HEAVY for index in range(max(count - 2, 0))])[:count]
    by_ratio = {0: WINDOW_ONLY, **{rate: kind for kind, rate in _rates(reader).items()}}
    if any(ratio not in by_ratio for ratio in ratios):
        raise InvalidConfig(
            f"{reader.model_type}: compress_ratios may hold {sorted(by_ratio)}", fields=("compress_ratios",)
        )
    return [by_ratio[ratio] for ratio in ratios]


def _attention(reader: Reader, kind: str) -> Attention:
    hidden, heads, dim = reader.dim("hidden_size"), reader.dim("num_attention_heads"), reader.dim("head_dim")
    q_rank, groups, o_rank = reader.dim("q_lora_rank"), reader.dim("o_groups", 8), reader.dim("o_lora_rank")
    weights = hidden * q_rank + q_rank * heads * dim + hidden * dim
    weights += groups * o_rank * (heads * dim // groups) + groups * o_rank * hidden
    norms = q_rank + dim
    compressed = rate = index_heads = index_dim = 0
    other = heads
    if kind != WINDOW_ONLY:
        rate, compressed = _rates(reader)[kind], dim
        lanes = 2 if kind == SPARSE else 1  # overlapping windows keep two candidates
        weights, norms, other = weights + 2 * hidden * lanes * dim, norms + dim, other + rate * lanes * dim
    if kind == SPARSE:
        index_heads, index_dim = reader.dim("index_n_heads"), reader.dim("index_head_dim")
        weights += 2 * hidden * 2 * index_dim + q_rank * index_heads * index_dim + hidden * index_heads
        norms, other = norms + index_dim, other + rate * 2 * index_dim
    return Attention(
        kind="window",
        heads=heads,
        kv_heads=1,
        qk_dim=dim,
        v_dim=dim,
        window=reader.dim("sliding_window", 128),
        q_rank=q_rank,
        rope_dim=reader.count("qk_rope_head_dim", 64),
        indexer_heads=index_heads,
        indexer_dim=index_dim,
        indexer_top_k=reader.count("index_topk") if index_heads else 0,
        compressed_dim=compressed,
        compression=rate or 1,
        shared_kv=True,
        weights=weights,
        norms=norms,
        other=other,
    )


def _mixture(reader: Reader) -> FeedForward:
    hidden, experts, width = reader.dim("hidden_size"), reader.dim("num_experts"), reader.dim("moe_intermediate_size")
    shared = width
    return FeedForward(
        kind="moe",
        experts=experts,
        top_k=reader.dim("num_experts_per_tok"),
        expert_width=width,
        expert_matrices=3,
        shared_width=shared,
        routed=3 * experts * hidden * width,
        shared=3 * hidden * shared,
        router=hidden * experts,
    )
