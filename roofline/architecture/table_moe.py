"""Families whose feed-forward can be a mixture of experts, with grouped-query or latent attention."""

from roofline.architecture.family import Family

MIXTRAL = Family(biases="none", moe=True, all_moe=True, expert_width="intermediate_size", window="all")
QWEN2_MOE = Family(qkv_bias="qkv_bias", o_bias="", mlp_bias="", moe=True, shared_gate=True, window="qwen")
QWEN3_MOE = Family(qk_norm="head", mlp_bias="", moe=True, window="qwen")
DEEPSEEK = Family(mla=True, moe=True, mlp_bias="mlp_bias")
DEEPSEEK_SPARSE = Family(mla=True, moe=True, mlp_bias="", special="indexed")
GLM4_MOE = Family(o_bias="", mlp_bias="", moe=True, qk_norm="head", qk_norm_if="use_qk_norm")
GRANITE_MOE = Family(mlp_bias="", moe=True, all_moe=True, expert_width="intermediate_size")
OLMOE = Family(qk_norm="full", mlp_bias="", moe=True, all_moe=True, expert_width="intermediate_size")

MIXTURES: dict[str, Family] = {
    "mixtral": MIXTRAL,
    "qwen2_moe": QWEN2_MOE,
    "qwen3_moe": QWEN3_MOE,
    "qwen3_vl_moe_text": Family(qk_norm="head", mlp_bias="", moe=True),
    "qwen3_omni_moe_text": Family(qk_norm="head", mlp_bias="", moe=True),
    "olmoe": OLMOE,
    "flex_olmo": OLMOE,
    "phimoe": Family(
        mlp_bias="",
        norm="layer",
        lm_head_bias="lm_head_bias",
        moe=True,
        all_moe=True,
        expert_width="intermediate_size",
        window="all",
    ),
    "gpt_oss": Family(
        mlp_bias="",
        sinks="all",
        moe=True,
        all_moe=True,
        expert_bias=True,
        router_bias="yes",
        expert_width="intermediate_size",
        window="even",
    ),
    "dbrx": Family(biases="none", norm="rms", moe=True, all_moe=True, special="dbrx"),
    "granitemoe": GRANITE_MOE,
    "granitemoeshared": GRANITE_MOE,
    "granitemoe_swa": Family(
        mlp_bias="", sinks="all", moe=True, all_moe=True, expert_width="intermediate_size", window="first", period=4
    ),
    "jetmoe": Family(biases="none", moe=True, all_moe=True, expert_width="intermediate_size", special="jetmoe"),
    "llama4_text": Family(
        mlp_bias="",
        moe=True,
        expert_width="intermediate_size",
        dense_width="intermediate_size_mlp",
        window="llama4",
        special="llama4",
    ),
    "minimax_m2": Family(
        biases="none",
        qk_norm="full",
        qk_norm_if="use_qk_norm",
        moe=True,
        all_moe=True,
        expert_width="intermediate_size",
        values={"use_qk_norm": True},
    ),
    "minimax_m3_vl_text": Family(
        biases="none",
        qk_norm="head",
        moe=True,
        expert_width="intermediate_size",
        dense_width="dense_intermediate_size",
        special="minimax_m3",
    ),
    "minimax_m3": Family(
        biases="none",
        qk_norm="head",
        moe=True,
        expert_width="intermediate_size",
        dense_width="dense_intermediate_size",
        special="minimax_m3",
        like="minimax_m3_vl_text",
    ),
    "mimo_v2_flash": Family(
        o_bias="",
        mlp_bias="",
        sinks="window",
        moe=True,
        window="mimo",
        special="mimo",
        values={"first_k_dense_replace": 1},
    ),
    "glm4_moe": GLM4_MOE,
    "glm4v_moe_text": Family(o_bias="", mlp_bias="", moe=True),
    "sarvam_moe": GLM4_MOE,
    "solar_open": Family(o_bias="", mlp_bias="", moe=True, all_moe=True),
    "ernie4_5_moe": Family(
        qkv_bias="use_bias",
        o_bias="use_bias",
        mlp_bias="use_bias",
        lm_head_bias="use_bias",
        moe=True,
        correction_bias="yes",
    ),
    "ernie4_5_vl_moe_text": Family(
        qkv_bias="use_bias", o_bias="use_bias", mlp_bias="use_bias", moe=True, correction_bias="yes", special="ernie_vl"
    ),
    "exaone_moe": Family(biases="none", qk_norm="head", moe=True, window="period", period=4),
    "hunyuan_v1_moe": Family(qk_norm="head", mlp_bias="", moe=True, all_moe=True, special="hunyuan_moe"),
    "hy_v3": Family(qk_norm="head", moe=True, values={"first_k_dense_replace": 1}),
    "dots1": Family(qk_norm="head", mlp_bias="", moe=True, window="qwen_layers"),
    "deepseek": Family(mlp_bias="", moe=True, values={"tie_word_embeddings": False}),
    "deepseek_v2": DEEPSEEK,
    "deepseek_v3": Family(mla=True, moe=True, mlp_bias=""),
    "kimi_k2": Family(mla=True, moe=True, mlp_bias="", like="deepseek_v3"),
    "sarvam_mla": Family(mla=True, moe=True, mlp_bias=""),
    "glm4_moe_lite": Family(mla=True, moe=True, mlp_bias="", values={"first_k_dense_replace": 1}),
    "mistral4": Family(mla=True, moe=True, mlp_bias=""),
    "axk1": Family(mla=True, moe=True, mlp_bias="", moe_norms=1, values={"first_k_dense_replace": 1}),
    "deepseek_v32": DEEPSEEK_SPARSE,
    "glm_moe_dsa": Family(mla=True, moe=True, mlp_bias="", special="indexed", values={"first_k_dense_replace": 3}),
    "deepseek_v4": Family(special="deepseek_v4"),
    "deepseek_ref": Family(special="deepseek_v4", like="deepseek_v4"),
    "longcat_flash": Family(mla=True, moe=True, mlp_bias="", special="longcat"),
    "afmoe": Family(
        mlp_bias="",
        qk_norm="head",
        query_gate="width",
        layer_norms=4,
        moe=True,
        correction_bias="yes",
        window="period",
        period=4,
    ),
    "aria_text": Family(moe=True, all_moe=True, expert_width="intermediate_size"),
    "arctic": Family(
        mlp_bias="", moe=True, expert_width="intermediate_size", special="arctic", values={"tie_word_embeddings": False}
    ),
    "grok-1": Family(
        mlp_bias="",
        moe=True,
        all_moe=True,
        layer_norms=4,
        expert_width="intermediate_size",
        values={"tie_word_embeddings": True},
    ),
    "laguna": Family(
        mlp_bias="",
        qk_norm="head",
        query_gate="head",
        query_gate_if="gating",
        moe=True,
        correction_bias="yes",
        special="laguna",
        values={"first_k_dense_replace": 1},
    ),
    "mellum": Family(mlp_bias="", qk_norm="head", moe=True),
    "kolibri1": Family(
        qkv_bias="",
        o_bias="",
        mlp_bias="",
        qk_norm="head",
        layer_norms=4,
        moe=True,
        all_moe=True,
        window="period",
        period=5,
    ),
    "flint": Family(
        mlp_bias="", qk_norm="head", sinks="all", moe=True, window="flint", values={"mlp_only_layers": [0, 1]}
    ),
    "cohere2_moe": Family(
        layer_norms=1, mlp_bias="", moe=True, expert_width="intermediate_size", window="period", period=4
    ),
    "step3_text": Family(biases="none", moe=True, special="step3", values={"tie_word_embeddings": False}),
    "axk2": Family(mla=True, moe=True, mlp_bias="", special="axk2", values={"first_k_dense_replace": 1}),
    "dots3_note_text": Family(
        mla=True, mla_gate="head", moe=True, mlp_bias="", special="dots3", values={"first_k_dense_replace": 1}
    ),
    "hy_v4": Family(
        mla=True,
        mla_gate="width",
        sinks="all",
        moe=True,
        mlp_bias="",
        special="hy_v4",
        values={"first_k_dense_replace": 1},
    ),
    "inkling_text": Family(
        biases="none",
        qk_norm="head",
        embedding_norm=True,
        moe=True,
        never_tied=True,
        special="inkling",
    ),
    "step3p7": Family(qk_norm="head", query_gate="head", moe=True, special="step"),
    "step3p5": Family(qk_norm="head", query_gate="head", moe=True, special="step", like="step3p7"),
    "bailing_moe": Family(
        qkv_bias="use_qkv_bias",
        o_bias="use_bias",
        mlp_bias="use_bias",
        qk_norm="head",
        qk_norm_if="use_qk_norm",
        moe=True,
        values={"tie_word_embeddings": False},
    ),
    "bailing_moe_v2": Family(
        qkv_bias="use_qkv_bias",
        o_bias="use_bias",
        mlp_bias="use_bias",
        qk_norm="head",
        qk_norm_if="use_qk_norm",
        moe=True,
        values={"tie_word_embeddings": False, "use_qk_norm": True},
    ),
    "minicpm_moe": Family(
        moe=True, all_moe=True, expert_width="intermediate_size", values={"tie_word_embeddings": True}
    ),
}
