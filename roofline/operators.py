"""The operators of a transformer, each as time, FLOPs and bytes of one occurrence on one GPU.

Every function takes numbers or numpy arrays that broadcast, hardware figures in SI (`peak` dense FLOP/s of the compute type,
`bandwidth` bytes/s of device memory, `sms`), and a record of measured coefficients that `roofline.coefficients` looks up for (GPU,
engine, precision):

    gemm(m, n, k, *, weight_bytes, act_bytes, peak, bandwidth, sms, coef)                                               -> OpTime
    attention_prefill(batch, new, *, heads, kv_heads, qk_dim, v_dim, kv_bytes, peak, bandwidth, sms, coef, cached, window) -> OpTime
    attention_decode(batch, context, *, heads, kv_heads, qk_dim, v_dim, kv_bytes, peak, bandwidth, sms, coef, window, kv_width) -> OpTime
    moe(tokens, *, hidden, width, experts, top_k, ep, tp, weight_bytes, peak, bandwidth, coef, matrices, skew)           -> OpTime
    elementwise(elements, *, flops_per_element, bytes_per_element, peak, bandwidth, coef, kernels)                      -> OpTime
    embedding(rows, row_bytes, *, bandwidth, coef)                                                                      -> OpTime

`OpTime(time, flops, bytes, compute, memory, latency)`; `ceilings.bound(op)` names what binds. No time is under its roof,
max(flops / peak, bytes / bandwidth). Collectives are in `roofline.collectives`.
"""

from roofline.attention import (
    DecodeCoefficients,
    PrefillCoefficients,
    attention_decode,
    attention_prefill,
    causal_pairs,
)
from roofline.ceilings import OpTime, bound, intensity
from roofline.elementwise import ElementwiseCoefficients, chain_bytes, elementwise, embedding
from roofline.gemm import GemmCoefficients, gemm
from roofline.grouped_gemm import MoeCoefficients, expected_experts, moe

__all__ = [
    "DecodeCoefficients",
    "ElementwiseCoefficients",
    "GemmCoefficients",
    "MoeCoefficients",
    "OpTime",
    "PrefillCoefficients",
    "attention_decode",
    "attention_prefill",
    "bound",
    "causal_pairs",
    "chain_bytes",
    "elementwise",
    "embedding",
    "expected_experts",
    "gemm",
    "intensity",
    "moe",
]
