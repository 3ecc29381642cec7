"""Builders of families that differ from the standard stack in one place or two."""

from dataclasses import replace

from roofline.architecture import attention, build, feedforward, patterns
from roofline.architecture.build import Draft
from roofline.architecture.errors import InvalidConfig
from roofline.architecture.family import Family
from roofline.architecture.layers import Attention, FeedForward, Layer
from roofline.architecture.reading import Reader


def stablelm(reader: Reader, family: Family) -> Draft:
    """A parallel residual shares one norm."""
    return build.standard(reader, replace(family, layer_norms=1 if reader.flag("use_parallel_residual") else 2))


def falcon(reader: Reader, family: Family) -> Draft:
    """Falcon's three generations: multi-query, grouped (new decoder), and the old sequential one."""
    new, parallel = reader.flag("new_decoder_architecture"), reader.flag("parallel_attn", True)
    heads = reader.dim("num_attention_heads")
    kv_heads = reader.dim("num_key_value_heads", heads) if new else 1 if reader.flag("multi_query", True) else heads
    norms = reader.count("num_ln_in_parallel_attn", 2 if new else 1) if parallel else 2
    family = replace(family, layer_norms=2 if norms == 2 else 1)

    def of(reader: Reader, family: Family, kind: str, index: int) -> Attention:
        dim = attention.head_dim(reader, heads)
        return attention.grouped(
            reader, family, kind=kind, window=0, heads=heads, kv_heads=kv_heads, qk_dim=dim, v_dim=dim
        )

    return build.standard(reader, family, attention_of=of)


def opt(reader: Reader, family: Family) -> Draft:
    """OPT: embeddings may be narrower than the model (350m), and a post-norm model ends without a norm."""
    affine = reader.flag("layer_norm_elementwise_affine", True)
    ends = reader.flag("do_layer_norm_before", True) and not reader.flag("_remove_final_layer_norm")
    draft = build.standard(reader, replace(family, final_norm=ends, norm="layer" if affine else "none"))
    hidden, width = reader.dim("hidden_size"), reader.dim("word_embed_proj_dim", reader.dim("hidden_size"))
    if width != hidden:
        vocab = reader.dim("vocab_size")
        draft.embedding, draft.other = vocab * width, draft.other + 2 * width * hidden
        draft.lm_head = vocab * width if draft.lm_head else 0
    return draft


def gpt_neo(reader: Reader, family: Family) -> Draft:
    """GPT-Neo: [[["global", "local"], 12]] spells the pattern out."""
    kinds: list[str] = []
    for item in reader.get("attention_types") or [[["global", "local"], 12]]:
        if not (isinstance(item, list | tuple) and len(item) == 2 and isinstance(item[0], list | tuple)):
            raise InvalidConfig(
                f"{reader.model_type}: attention_types holds pairs of a pattern and a count",
                fields=("attention_types",),
            )
        kinds += [str(kind) for kind in item[0]] * reader.whole("attention_types", item[1], least=0)
        if len(kinds) > patterns.layer_count(reader):
            break
    reader.values["layer_types"] = kinds
    return build.standard(reader, family)


def gpt_neox_japanese(reader: Reader, family: Family) -> Draft:
    """Only the last layer's attention has a bias."""
    draft = build.standard(reader, family)
    draft.biases += reader.dim("hidden_size")
    return draft


def chatglm(reader: Reader, family: Family) -> Draft:
    """ChatGLM 2 to 4 in their original code: grouped queries behind a switch, RMS or layer norms."""
    grouped = reader.flag("multi_query_attention")
    if not grouped:
        reader.values["num_key_value_heads"] = reader.dim("num_attention_heads")
    norm = "rms" if reader.flag("rmsnorm", True) else "layer"
    return build.standard(reader, replace(family, norm=norm, final_norm=reader.flag("post_layer_norm", True)))


def doge(reader: Reader, family: Family) -> Draft:
    """Doge: a dynamic mask and learned residual scales; its mixture of experts is a product-key store."""
    if reader.flag("is_moe"):
        raise InvalidConfig("doge: the product-key experts are not counted", fields=("is_moe",))
    reader.values["num_experts"] = None
    draft = build.standard(reader, family)
    draft.layers = [replace(layer, other=layer.other + 2 * reader.dim("hidden_size")) for layer in draft.layers]
    return draft


def mllama(reader: Reader, family: Family) -> Draft:
    """Llama-3.2-Vision: some layers attend to image tokens only; the input table has 8 more rows."""
    hidden = reader.dim("hidden_size")
    value = reader.get("cross_attention_layers")
    crossing = (
        {reader.whole("cross_attention_layers", i, least=0) for i in value}
        if isinstance(value, list | tuple)
        else {3, 8, 13, 18, 23, 28, 33, 38}
    )
    heads, kv_heads, dim = attention.head_dims(reader)
    draft = build.outside(reader, family)
    draft.embedding += 8 * hidden
    own = build.plain_attention(reader, family, patterns.FULL, 0)
    across = attention.grouped(
        reader,
        replace(family, qk_norm="head"),
        kind="cross",
        window=0,
        heads=heads,
        kv_heads=kv_heads,
        qk_dim=dim,
        v_dim=dim,
    )
    forward = build.plain_feed_forward(reader, family, patterns.DENSE, 0)
    layers = (
        Layer(attention=own, feed_forward=forward, norms=2 * hidden),
        Layer(attention=across, feed_forward=forward, norms=2 * hidden, other=2),
    )
    draft.layers = [layers[index in crossing] for index in range(patterns.layer_count(reader))]
    return draft


def modernbert(reader: Reader, family: Family) -> Draft:
    """ModernBERT as a decoder: embeddings with a norm, no first attention norm, a dense head before the tied table."""
    hidden, vocab = reader.dim("hidden_size"), reader.dim("vocab_size")
    each = hidden * (2 if reader.flag("norm_bias") else 1)
    reader.values["sliding_window"] = reader.dim("local_attention", 128) // 2
    every = reader.dim("global_attn_every_n_layers", 3)
    if not isinstance(reader.get("layer_types"), list | tuple):
        count = patterns.layer_count(reader)
        reader.values["layer_types"] = [
            "full_attention" if index % every == 0 else "sliding_attention" for index in range(count)
        ]
    draft = build.standard(reader, replace(family, layer_norms=0))
    draft.layers = [replace(layer, norms=each * (1 if index == 0 else 2)) for index, layer in enumerate(draft.layers)]
    draft.norms = 3 * each
    draft.other += hidden * hidden
    draft.biases += vocab * reader.flag("decoder_bias", True) + hidden * reader.flag("classifier_bias")
    return draft


def dbrx(reader: Reader, family: Family) -> Draft:
    """DBRX nests its attention and expert sizes."""
    attn, ffn = reader.section("attn_config"), reader.section("ffn_config")
    reader.values["num_key_value_heads"] = attn.get("kv_n_heads", 1)
    reader.values["intermediate_size"] = ffn.get("ffn_hidden_size", 3584)
    reader.values["moe_intermediate_size"] = reader.values["intermediate_size"]
    reader.values["num_experts"] = ffn.get("moe_num_experts", 4)
    reader.values["num_experts_per_tok"] = ffn.get("moe_top_k", 1)
    return build.standard(reader, family)


def jetmoe(reader: Reader, family: Family) -> Draft:
    """JetMoE: the query and output projections are experts too; each expert runs all KV heads."""
    hidden, kv_heads, dim = (
        reader.dim("hidden_size"),
        reader.dim("num_key_value_heads", 16),
        reader.dim("head_dim", 128),
    )
    experts, top_k = reader.dim("num_experts"), reader.dim("num_experts_per_tok")
    width = kv_heads * dim
    routed = experts * 2 * hidden * width
    mixing = Attention(
        kind="full",
        heads=kv_heads * top_k,
        kv_heads=kv_heads,
        qk_dim=dim,
        v_dim=dim,
        weights=2 * hidden * width + experts * hidden,
        routed=routed,
        active_routed=routed * top_k // experts,
        biases=hidden,
    )
    forward = feedforward.experts(reader, family)
    forward = replace(forward, biases=forward.biases + hidden)
    draft = build.outside(reader, family)
    draft.layers = [Layer(attention=mixing, feed_forward=forward, norms=2 * hidden)] * patterns.layer_count(reader)
    return draft


def hunyuan_moe(reader: Reader, family: Family) -> Draft:
    """Hunyuan: one shared MLP as wide as a dense layer beside the experts."""
    reader.values["n_shared_experts"] = None
    if not reader.has("shared_intermediate_size"):
        reader.values["shared_intermediate_size"] = reader.get("intermediate_size")
    family = replace(
        family, expert_width="moe_intermediate_size" if reader.has("moe_intermediate_size") else "intermediate_size"
    )
    return build.standard(reader, family)


def llama4(reader: Reader, family: Family) -> Draft:
    """Llama 4: chunked attention where rope is used; a shared expert of the same width as a routed one."""
    count = patterns.layer_count(reader)
    reader.values["sliding_window"] = reader.get("attention_chunk_size")
    reader.values["shared_intermediate_size"] = reader.get("intermediate_size")
    if not isinstance(reader.get("layer_types"), list | tuple):
        rope = reader.per_layer("no_rope_layers", count) if reader.get("no_rope_layers") else None
        every = reader.dim("no_rope_layer_interval", 4)
        rope = rope or [int((index + 1) % every != 0) for index in range(count)]
        reader.values["layer_types"] = ["chunked_attention" if uses else "full_attention" for uses in rope]
    return build.standard(reader, family)


def arctic(reader: Reader, family: Family) -> Draft:
    """Arctic: a dense MLP as wide as the model runs beside the experts, with a norm of its own."""
    hidden, every = reader.dim("hidden_size"), reader.dim("moe_layer_frequency", 2)
    draft = build.outside(reader, family)
    own = build.plain_attention(reader, family, patterns.FULL, 0)
    mixture = feedforward.experts(reader, family)
    residual = feedforward.dense(reader, family, hidden)
    parallel = reader.flag("parallel_attn_mlp_res", True)
    sparse = Layer(
        attention=own,
        feed_forward=mixture,
        second_feed_forward=residual if parallel else None,
        norms=(3 if parallel else 2) * hidden,
    )
    plain = Layer(
        attention=own, feed_forward=feedforward.dense(reader, family, reader.dim("intermediate_size")), norms=2 * hidden
    )
    draft.layers = [sparse if (index + 1) % every == 0 else plain for index in range(patterns.layer_count(reader))]
    return draft


def laguna(reader: Reader, family: Family) -> Draft:
    """Laguna: a number of query heads for each layer."""
    count = patterns.layer_count(reader)
    per_layer = reader.per_layer("num_attention_heads_per_layer", count, least=1)

    def of(reader: Reader, family: Family, kind: str, index: int) -> Attention:
        heads, kv_heads, dim = attention.head_dims(reader)
        heads = per_layer[index] if per_layer else heads
        window = patterns.window_size(reader, family) if kind != patterns.FULL else 0
        return attention.grouped(
            reader, family, kind=kind, window=window, heads=heads, kv_heads=kv_heads, qk_dim=dim, v_dim=dim
        )

    return build.standard(reader, family, attention_of=of, differs_by=per_layer)


def step(reader: Reader, family: Family) -> Draft:
    """Step-3.5/3.7: windowed layers may have other head counts; experts from the fourth layer on; one shared expert."""
    other = reader.section("attention_other_setting")
    window_heads = reader.get("num_sliding_attention_heads") or other.get("num_attention_heads")
    window_kv = other.get("num_attention_groups")
    if not any(
        reader.has(key) for key in ("mlp_layer_types", "moe_layers_enum", "moe_layer_freq", "first_k_dense_replace")
    ):
        reader.values["first_k_dense_replace"] = 3
    reader.values["n_shared_experts"] = None

    def of(reader: Reader, family: Family, kind: str, index: int) -> Attention:
        heads, kv_heads, dim = attention.head_dims(reader)
        if kind == patterns.WINDOW:
            heads = (
                reader.whole("num_sliding_attention_heads", window_heads, least=1)
                if window_heads is not None
                else heads
            )
            kv_heads = reader.whole("num_attention_groups", window_kv, least=1) if window_kv is not None else kv_heads
        window = patterns.window_size(reader, family) if kind != patterns.FULL else 0
        return attention.grouped(
            reader, family, kind=kind, window=window, heads=heads, kv_heads=kv_heads, qk_dim=dim, v_dim=dim
        )

    return build.standard(reader, family, attention_of=of)


def mimo(reader: Reader, family: Family) -> Draft:
    """MiMo-V2: windowed layers have their own head counts and widths, and sinks; V is narrower than K."""

    def of(reader: Reader, family: Family, kind: str, index: int) -> Attention:
        prefix = "swa_" if kind == patterns.WINDOW else ""
        heads = reader.dim(f"{prefix}num_attention_heads", reader.dim("num_attention_heads"))
        fallback = 8 if prefix else reader.dim("num_key_value_heads", heads)
        kv_heads = reader.dim(f"{prefix}num_key_value_heads", fallback)
        dim = reader.dim(f"{prefix}head_dim", attention.head_dim(reader, heads))
        v_dim = reader.dim(f"{prefix}v_head_dim", reader.dim("v_head_dim", dim))
        window = patterns.window_size(reader, family) if kind == patterns.WINDOW else 0
        return attention.grouped(
            reader, family, kind=kind, window=window, heads=heads, kv_heads=kv_heads, qk_dim=dim, v_dim=v_dim
        )

    return build.standard(reader, family, attention_of=of)


def minimax_m3(reader: Reader, family: Family) -> Draft:
    """MiniMax-M3: block-sparse layers have an indexer with one key head; its cache is index_head_dim wide."""
    section = reader.section("sparse_attention_config")
    count = patterns.layer_count(reader)
    heads = reader.whole(
        "index_n_heads", section.get("sparse_num_index_heads", reader.get("index_n_heads") or 4), least=1
    )
    dim = reader.whole("index_head_dim", section.get("sparse_index_dim", reader.get("index_head_dim") or 128), least=1)
    types = reader.get("layer_types")
    reader.values["sparse"] = section.get("sparse_attention_freq")
    sparse = reader.per_layer("sparse", count) or [0] * count
    if isinstance(types, list | tuple):
        sparse = [int(item == "minimax_m3_sparse") for item in types]
    reader.values["n_shared_experts"] = None
    hidden = reader.dim("hidden_size")

    def of(reader: Reader, family: Family, kind: str, index: int) -> Attention:
        plain = build.plain_attention(reader, family, kind, index)
        if not sparse[index]:
            return plain
        added = hidden * (heads + 1) * dim
        return replace(
            plain, indexer_heads=heads, indexer_dim=dim, weights=plain.weights + added, norms=plain.norms + 2 * dim
        )

    return build.standard(reader, family, attention_of=of, differs_by=sparse)


def indexed(reader: Reader, family: Family) -> Draft:
    """DeepSeek-V3.2, GLM-5: latent attention with an indexer in each layer that owns one."""
    count = patterns.layer_count(reader)
    owners = patterns.named(reader, "indexer_types", count, {"full": "full", "shared": "shared"}) or ["full"] * count

    def of(reader: Reader, family: Family, kind: str, index: int) -> Attention:
        return attention.with_indexer(attention.latent(reader, family), reader, owns=owners[index] == "full")

    return build.standard(reader, family, attention_of=of, differs_by=owners)


def longcat(reader: Reader, family: Family) -> Draft:
    """LongCat-Flash: each layer is two attentions and two dense MLPs around one mixture with identity experts."""
    hidden = reader.dim("hidden_size")
    latent = attention.latent(reader, family)
    dense = feedforward.dense(reader, family, reader.dim("intermediate_size"))
    reader.values["n_shared_experts"] = None
    mixture = feedforward.experts(reader, family)
    zero = reader.count("zero_expert_num")
    merged = replace(
        mixture,
        router=hidden * (mixture.experts + zero) + reader.flag("router_bias") * (mixture.experts + zero),
        weights=dense.weights,
        width=dense.width,
        matrices=dense.matrices,
    )
    layer = Layer(
        attention=latent,
        second_attention=latent,
        feed_forward=_with_identity_rows(merged, hidden, zero),
        second_feed_forward=dense,
        norms=4 * hidden,
    )
    draft = build.outside(reader, family)
    draft.layers = [layer] * patterns.layer_count(reader)
    return draft


def _with_identity_rows(mixture: FeedForward, hidden: int, zero: int) -> FeedForward:
    """The class sizes the gate and up projections for the identity experts as well."""
    return replace(mixture, other=mixture.other + zero * 2 * hidden * mixture.expert_width)


def step3(reader: Reader, family: Family) -> Draft:
    """Step-3's factorised attention: queries through a shared rank, one key/value head."""
    hidden, rank = reader.dim("hidden_size"), reader.dim("share_q_dim")
    reader.values["n_shared_experts"] = None

    def of(reader: Reader, family: Family, kind: str, index: int) -> Attention:
        heads, dim = reader.dim("num_attention_heads"), reader.dim("head_dim")
        weights = hidden * rank + 2 * hidden * dim + rank * heads * dim + heads * dim * hidden
        return Attention(
            kind="full", heads=heads, kv_heads=1, qk_dim=dim, v_dim=dim, q_rank=rank, weights=weights, norms=rank
        )

    return build.standard(reader, family, attention_of=of)
