"""Builders of families that the standard stack does not describe, by the name in their row."""

from collections.abc import Callable

from roofline.architecture import (
    special_dense,
    special_gemma,
    special_layers,
    special_sparse,
    special_state,
    special_v4,
)
from roofline.architecture.build import Draft
from roofline.architecture.family import Family
from roofline.architecture.reading import Reader

Builder = Callable[[Reader, Family], Draft]

BUILDERS: dict[str, Builder] = {
    "stablelm": special_dense.stablelm,
    "falcon": special_dense.falcon,
    "opt": special_dense.opt,
    "gpt_neo": special_dense.gpt_neo,
    "gpt_neox_japanese": special_dense.gpt_neox_japanese,
    "chatglm": special_dense.chatglm,
    "doge": special_dense.doge,
    "mllama": special_dense.mllama,
    "modernbert": special_dense.modernbert,
    "dbrx": special_dense.dbrx,
    "jetmoe": special_dense.jetmoe,
    "hunyuan_moe": special_dense.hunyuan_moe,
    "llama4": special_dense.llama4,
    "arctic": special_dense.arctic,
    "laguna": special_dense.laguna,
    "step": special_dense.step,
    "step3": special_dense.step3,
    "mimo": special_dense.mimo,
    "minimax_m3": special_dense.minimax_m3,
    "indexed": special_dense.indexed,
    "longcat": special_dense.longcat,
    "gemma3n": special_gemma.gemma3n,
    "gemma4": special_gemma.gemma4,
    "mamba": special_state.mamba,
    "mamba2": special_state.mamba2,
    "nas": special_layers.nas,
    "openelm": special_layers.openelm,
    "jais": special_layers.jais,
    "rwkv": special_state.rwkv,
    "rwkv5": special_state.rwkv5,
    "xlstm": special_state.xlstm,
    "jamba": special_state.jamba,
    "falcon_h1": special_state.falcon_h1,
    "granite_hybrid": special_state.granite_hybrid,
    "lfm3": special_state.lfm3,
    "griffin": special_state.griffin,
    "nemotron_h": special_state.nemotron_h,
    "olmo_hybrid": special_state.olmo_hybrid,
    "zamba": special_state.zamba,
    "zamba2": special_state.zamba2,
    "axk2": special_sparse.axk2,
    "dots3": special_sparse.dots3,
    "hy_v4": special_sparse.hy_v4,
    "inkling": special_sparse.inkling,
    "deepseek_v4": special_v4.deepseek_v4,
}
