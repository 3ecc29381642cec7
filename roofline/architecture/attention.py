"""Softmax attention of one layer, counted: MHA, GQA and MQA, multi-head latent attention, cross-attention.

Dimensions: d hidden, H query heads, Hkv key/value heads, hd head dimension.
"""

from dataclasses import replace

from roofline.architecture.errors import InvalidConfig
from roofline.architecture.family import Family
from roofline.architecture.layers import Attention
from roofline.architecture.reading import Reader


def head_dims(reader: Reader) -> tuple[int, int, int]:
    """(query heads, key/value heads, head dimension).

    With the rules of the transformers classes for what is left out.
    """
    heads = reader.dim("num_attention_heads")
    kv_heads = reader.dim("num_key_value_heads", heads)
    return heads, kv_heads, head_dim(reader, heads)


def head_dim(reader: Reader, heads: int) -> int:
    if reader.has("head_dim"):
        return reader.dim("head_dim")
    hidden = reader.dim("hidden_size")
    if hidden % heads and not reader.missing:
        raise InvalidConfig(
            f"{reader.model_type}: hidden_size {hidden} does not divide by num_attention_heads {heads}, "
            "and head_dim is not stated",
            fields=("hidden_size", "num_attention_heads"),
        )
    return max(hidden // heads, 1)


def check_groups(reader: Reader, heads: int, kv_heads: int) -> None:
    if heads % kv_heads and not reader.missing:
        raise InvalidConfig(
            f"{reader.model_type}: {heads} query heads do not divide into {kv_heads} key/value heads",
            fields=("num_attention_heads", "num_key_value_heads"),
        )


def is_latent(reader: Reader, family: Family) -> bool:
    """MLA by structure: a latent KV rank is stated (or the family always has one)."""
    stated = family.mla or "kv_lora_rank" in reader.given
    return stated and reader.has("kv_lora_rank") and reader.get("use_mla") is not False


def grouped(
    reader: Reader,
    family: Family,
    *,
    kind: str,
    window: int,
    heads: int,
    kv_heads: int,
    qk_dim: int,
    v_dim: int,
    projects_kv: bool = True,
    keys_are_values: bool = False,
) -> Attention:
    """Attention with H query and Hkv key/value heads: d·H·qk + d·Hkv·(qk + v) + H·v·d, and what the family adds."""
    check_groups(reader, heads, kv_heads)
    hidden = reader.dim("hidden_size")
    queries, keys, values = heads * qk_dim, kv_heads * qk_dim, kv_heads * v_dim
    if not projects_kv:
        keys = values = 0
    projected = keys if keys_are_values else keys + values
    gate = family.query_gate if reader.flags(family.query_gate_if) else ""
    weights = hidden * (queries + projected) + heads * v_dim * hidden
    weights += hidden * {"": 0, "width": heads * v_dim, "double": queries, "head": heads}[gate]
    doubled = queries if gate == "double" else 0
    biases = (queries + doubled + projected) * reader.flags(family.qkv_flag) + hidden * reader.flags(family.o_flag)
    norms = _qk_norm(reader, family, kind, queries, keys, qk_dim, projects_kv) + hidden * family.attention_norm
    return Attention(
        kind=kind,
        heads=heads,
        kv_heads=kv_heads,
        qk_dim=qk_dim,
        v_dim=v_dim,
        window=window,
        keeps_cache=projects_kv,
        query_gate=gate in ("width", "double"),
        weights=weights,
        norms=norms,
        biases=biases,
        other=_sinks(family, kind, heads) + _extras(family, reader, heads, kv_heads, qk_dim),
    )


def _qk_norm(reader: Reader, family: Family, kind: str, queries: int, keys: int, qk_dim: int, projects_kv: bool) -> int:
    if (
        not family.qk_norm
        or not reader.flags(family.qk_norm_if)
        or (family.qk_norm == "head_if_window" and kind == "full")
    ):
        return 0
    if family.qk_norm == "full":
        return queries + keys
    each = 2 if family.qk_norm == "head_bias" else 1
    return each * qk_dim * (2 if projects_kv else 1)


def _sinks(family: Family, kind: str, heads: int) -> int:
    return heads if family.sinks == "all" or (family.sinks == "window" and kind != "full") else 0


def _extras(family: Family, reader: Reader, heads: int, kv_heads: int, qk_dim: int) -> int:
    """Vectors of single families: lambdas of differential attention, the decay of Doge, the scales of Dory."""
    if family.attention_other == "diff_lambdas":
        return 4 * qk_dim
    if family.attention_other == "doge_mask":
        return kv_heads + kv_heads * qk_dim * kv_heads
    if family.attention_other == "dory_scales":
        return 2 * heads * qk_dim
    return 0


def latent(
    reader: Reader,
    family: Family,
    *,
    kind_window: int = 0,
    heads: int | None = None,
    overrides: dict[str, int] | None = None,
) -> Attention:
    """MLA: queries through rank qr (or directly), keys and values through rank r; the cache holds r + rope elements.

    `(qr ? d·qr + qr·H·(no+ro) : d·H·(no+ro)) + d·(r+ro) + r·H·(no+vd) + H·vd·d`, norms qr + r.
    """
    sizes = overrides or {}
    hidden = reader.dim("hidden_size")
    heads = heads or reader.dim("num_attention_heads")
    rank = sizes.get("kv_lora_rank") or reader.dim("kv_lora_rank")
    nope = sizes.get("qk_nope_head_dim") or reader.dim("qk_nope_head_dim")
    rope = reader.dim("qk_rope_head_dim")
    v_dim = sizes.get("v_head_dim") or reader.dim("v_head_dim", max(1, hidden // heads))
    q_rank = reader.count("q_lora_rank")
    queries = heads * (nope + rope)
    bias = reader.flags(family.qkv_flag)
    gate = "width" if reader.flag("mla_use_output_gate") else family.mla_gate
    weights = (hidden * q_rank + q_rank * queries if q_rank else hidden * queries) + hidden * (rank + rope)
    weights += rank * heads * (nope + v_dim) + heads * v_dim * hidden
    weights += hidden * {"": 0, "head": heads, "width": heads * v_dim}[gate]
    biases = bias * ((q_rank if q_rank else 0) + rank + rope) + hidden * reader.flags(family.o_flag)
    return Attention(
        kind="mla",
        heads=heads,
        kv_heads=1,
        qk_dim=nope + rope,
        v_dim=v_dim,
        window=kind_window,
        q_rank=q_rank,
        kv_rank=rank,
        nope_dim=nope,
        rope_dim=rope,
        query_gate=gate == "width",
        weights=weights,
        norms=q_rank + rank,
        biases=biases,
        other=_sinks(family, "mla", heads),
    )


def with_indexer(attention: Attention, reader: Reader, *, owns: bool = True) -> Attention:
    """The lightning indexer of sparse attention: `qr·nh·di + d·di + d·nh` and a LayerNorm of 2·di.

    Its cache holds di elements a token.
    """
    heads, dim = reader.dim("index_n_heads"), reader.dim("index_head_dim")
    hidden = reader.dim("hidden_size")
    query_in = attention.q_rank or hidden
    added = query_in * heads * dim + hidden * dim + hidden * heads if owns else 0
    return replace(
        attention,
        indexer_heads=heads if owns else 0,
        indexer_dim=dim if owns else 0,
        indexer_top_k=reader.count("index_topk"),
        weights=attention.weights + added,
        norms=attention.norms + (2 * dim if owns else 0),
    )
