"""Families with recurrent layers, alone or between attention layers."""

from roofline.architecture.family import Family

QWEN_NEXT = Family(
    mlp_bias="",
    qk_norm="head",
    query_gate="double",
    moe=True,
    shared_gate=True,
    recurrent="gated_delta",
    window="recurrent_period",
    period=4,
)
MAMBA = Family(special="mamba")
GRANITE_HYBRID = Family(
    mlp_bias="",
    moe=True,
    expert_width="intermediate_size",
    recurrent="mamba2",
    window="all_recurrent",
    special="granite_hybrid",
)

HYBRIDS: dict[str, Family] = {
    "qwen3_next": QWEN_NEXT,
    "qwen3_5_text": Family(
        mlp_bias="", qk_norm="head", query_gate="double", recurrent="gated_delta", window="recurrent_period", period=4
    ),
    "qwen3_5_moe_text": QWEN_NEXT,
    "olmo_hybrid": Family(
        mlp_bias="", qk_norm="full", recurrent="gated_delta", window="recurrent_period", period=4, special="olmo_hybrid"
    ),
    "lara_mini": Family(
        mlp_bias="",
        qk_norm="head",
        moe=True,
        all_moe=True,
        recurrent="gated_delta",
        window="cycle",
        cycle=("recurrent", "window", "recurrent", "full", "window"),
    ),
    "kimi_linear": Family(
        mla=True,
        moe=True,
        mlp_bias="",
        recurrent="kimi_delta",
        window="kimi",
        never_tied=True,
        values={"first_k_dense_replace": 1},
    ),
    "bailing_hybrid": Family(
        mla=True,
        mla_gate="head",
        moe=True,
        mlp_bias="",
        recurrent="kimi_delta_full",
        window="recurrent_period",
        period=6,
        never_tied=True,
    ),
    "minimax": Family(
        biases="none",
        moe=True,
        all_moe=True,
        expert_width="intermediate_size",
        recurrent="lightning",
        window="alternate_recurrent",
    ),
    "minimax_m1": Family(
        biases="none",
        moe=True,
        all_moe=True,
        expert_width="intermediate_size",
        recurrent="lightning",
        window="alternate_recurrent",
        values={"tie_word_embeddings": False},
    ),
    "minimax_text_01": Family(
        biases="none",
        moe=True,
        all_moe=True,
        expert_width="intermediate_size",
        recurrent="lightning",
        window="alternate_recurrent",
        values={"tie_word_embeddings": False},
    ),
    "jamba": Family(
        biases="none", moe=True, expert_width="intermediate_size", recurrent="mamba1", window="jamba", special="jamba"
    ),
    "bamba": Family(recurrent="mamba2", window="all_recurrent"),
    "falcon_h1": Family(recurrent="mamba2", special="falcon_h1"),
    "granitemoehybrid": GRANITE_HYBRID,
    "lfm2": Family(biases="none", qk_norm="head", recurrent="short_conv", window="lfm2", width_rule="lfm2"),
    "lfm2_moe": Family(biases="none", qk_norm="head", moe=True, recurrent="short_conv", window="lfm2"),
    "lfm3": Family(
        mlp_bias="",
        qk_norm="head",
        query_gate="head",
        query_gate_if="use_attention_gate",
        layer_norms=4,
        recurrent="short_conv",
        window="lfm3",
        special="lfm3",
        values={"conv_L_cache": 7},
    ),
    "recurrent_gemma": Family(
        qkv_bias="attention_bias",
        o_bias="yes",
        mlp_bias="yes",
        width_rule="half",
        recurrent="rg_lru",
        window="griffin",
        special="griffin",
    ),
    "nemotron_h": Family(
        qkv_bias="",
        o_bias="",
        never_tied=True,
        gated=False,
        expert_gated=False,
        moe=True,
        recurrent="mamba2",
        special="nemotron_h",
    ),
    "mamba": MAMBA,
    "falcon_mamba": MAMBA,
    "mamba2": Family(special="mamba2", renames={"num_heads": "mamba_n_heads", "head_dim": "mamba_d_head"}),
    "rwkv": Family(special="rwkv"),
    "rwkv5": Family(special="rwkv5", renames={"head_size": "rwkv_head_size"}),
    "xlstm": Family(special="xlstm", never_tied=True),
    "zamba": Family(special="zamba"),
    "zamba2": Family(special="zamba2"),
}
