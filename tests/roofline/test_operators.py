"""Operators: roofs, monotonicity, alignment, arrays and scalars alike."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline import coefficients, operators
from roofline.ceilings import roof_time
from roofline.hardware import presets

H100 = presets()["h100-sxm5-80gb"]
HARDWARE = {"peak": H100.peak("bf16"), "bandwidth": H100.bandwidth, "sms": H100.sms}
MOE_HARDWARE = {"peak": H100.peak("bf16"), "bandwidth": H100.bandwidth}
GROUPED = {"heads": 64.0, "kv_heads": 8.0, "qk_dim": 128.0, "v_dim": 128.0, "kv_bytes": 2.0}
MIXTURE = {"hidden": 4096.0, "width": 1536.0, "experts": 128.0, "top_k": 8.0, "weight_bytes": 2.0}

sizes = st.integers(1, 20_000).map(float)
dims = st.integers(1, 400).map(lambda n: n * 64.0)


def coef(op, precision="bf16", engine="vllm", gpu=H100):
    return coefficients.lookup(op, gpu, engine, precision)[0]


GEMM, PREFILL, DECODE = coef("gemm"), coef("attention_prefill", "bf16/bf16"), coef("attention_decode", "bf16/bf16")
MOE, STREAM = coef("moe"), coef("elementwise")


def product(m, n=8192.0, k=8192.0, **changes):
    return operators.gemm(m, n, k, **{"weight_bytes": 2.0, "act_bytes": 2.0, "coef": GEMM, **HARDWARE, **changes})


def prefill(batch, new, **changes):
    return operators.attention_prefill(batch, new, **{**GROUPED, **HARDWARE, "coef": PREFILL, **changes})


def decode(batch, context, **changes):
    return operators.attention_decode(batch, context, **{**GROUPED, **HARDWARE, "coef": DECODE, **changes})


def mixture(tokens, **changes):
    return operators.moe(tokens, **{**MIXTURE, **MOE_HARDWARE, "ep": 1.0, "tp": 1.0, "coef": MOE, **changes})


def not_under_its_roof(op):
    assert np.all(op.time >= roof_time(op.flops, op.bytes, HARDWARE["peak"], HARDWARE["bandwidth"]) * (1 - 1e-9))


@settings(deadline=None)
@given(sizes, dims, dims)
def test_gemm_is_never_under_its_roof(m, n, k):
    not_under_its_roof(product(m, n, k))


@settings(deadline=None)
@given(st.integers(1, 256).map(float), sizes, st.sampled_from([np.inf, 128.0, 4096.0]))
def test_attention_is_never_under_its_roof(batch, length, window):
    not_under_its_roof(prefill(batch, length, window=window))
    not_under_its_roof(decode(batch, length, window=window))


@settings(deadline=None)
@given(sizes, st.sampled_from([1.0, 8.0, 64.0]))
def test_mixture_is_never_under_its_roof(tokens, ep):
    not_under_its_roof(mixture(tokens, ep=ep))


@settings(deadline=None)
@given(st.integers(1, 20_000), dims, dims)
def test_more_rows_of_tiles_never_cost_less(m, n, k):
    assert product(m + 64.0, n, k).compute >= product(float(m), n, k).compute * (1 - 0.35)
    assert product(m + 64.0, n, k).memory >= product(float(m), n, k).memory


@settings(deadline=None)
@given(sizes, st.floats(1.0, 4.0))
def test_more_bandwidth_is_never_slower(m, factor):
    wider = {"bandwidth": H100.bandwidth * factor}
    assert product(m, **wider).time <= product(m).time * (1 + 1e-12)
    assert decode(m, 4096.0, **wider).time <= decode(m, 4096.0).time * (1 + 1e-12)
    assert mixture(m, **wider).time <= mixture(m).time * (1 + 1e-12)


@settings(deadline=None)
@given(sizes, st.integers(1, 5000))
def test_longer_contexts_never_cost_less(context, more):
    assert decode(32.0, context + more).time >= decode(32.0, context).time
    assert prefill(4.0, 512.0, cached=context + more).time >= prefill(4.0, 512.0, cached=context).time


@settings(deadline=None)
@given(sizes, st.integers(1, 5000))
def test_more_tokens_never_cost_a_mixture_less(tokens, more):
    assert mixture(tokens + more).time >= mixture(tokens).time * (1 - 1e-12)


@settings(deadline=None)
@given(
    st.integers(1, 4096).map(float),
    sizes,
    st.sampled_from([1.0, 2.0, 8.0, 64.0]),
    st.sampled_from([64.0, 128.0, 512.0]),
)
def test_decode_costs_more_for_more_sequences_heads_and_dimensions(batch, context, kv_heads, dim):
    shape = {"heads": 64.0, "kv_heads": kv_heads, "qk_dim": dim, "v_dim": dim}
    usual = decode(batch, context, **shape).time
    assert decode(batch + 1.0, context, **shape).time >= usual
    assert decode(batch, context, **shape | {"heads": 128.0}).time >= usual
    assert decode(batch, context, **shape | {"qk_dim": dim + 64.0}).time >= usual


def test_starts_of_blocks_hide_behind_the_traffic_of_others():
    short, long = decode(2048.0, 1.0), decode(2048.0, 16384.0)
    free = DECODE._replace(block=0.0, block_dim=0.0, block_head=0.0)
    assert short.time > 2.0 * decode(2048.0, 1.0, coef=free).time
    assert long.time < 1.1 * decode(2048.0, 16384.0, coef=free).time


def test_query_heads_of_one_block_follow_one_another():
    one = DECODE._replace(heads_per_block=1.0)
    many = DECODE._replace(heads_per_block=128.0)
    wide = {"heads": 128.0, "kv_heads": 1.0}
    assert decode(1.0, 64.0, **wide, coef=many).latency > decode(1.0, 64.0, **wide, coef=one).latency
    assert decode(2048.0, 64.0, **wide, coef=one).latency > decode(2048.0, 64.0, **wide, coef=many).latency


def test_a_window_is_never_slower_than_none():
    assert decode(32.0, 32768.0, window=1024.0).time < decode(32.0, 32768.0).time
    assert prefill(1.0, 32768.0, window=1024.0).time < prefill(1.0, 32768.0).time


def test_rows_that_fill_tiles_use_the_tensor_cores_better():
    per_row = [product(m, 16384.0, 16384.0).compute / m for m in (127.0, 128.0, 129.0)]
    assert per_row[1] < per_row[0] < per_row[2]


@pytest.mark.parametrize("operator", [product, mixture, lambda m: decode(m, 777.0), lambda m: prefill(2.0, m)])
def test_scalars_and_arrays_agree_to_the_bit(operator):
    many = np.array([1.0, 7.0, 64.0, 128.0, 1000.0, 9999.0])
    together = operator(many)
    for i, m in enumerate(many):
        alone = operator(float(m))
        for whole, single in zip(together, alone, strict=True):
            assert np.broadcast_to(whole, many.shape)[i] == pytest.approx(float(single), rel=1e-14)


def test_causal_pairs_count_one_by_one():
    for new, cached, window in ((5, 0, np.inf), (5, 7, np.inf), (9, 0, 4), (9, 2, 4), (3, 10, 4)):
        by_hand = sum(min(cached + i + 1, window) for i in range(new))
        assert operators.causal_pairs(float(new), float(cached), float(window)) == by_hand


def test_flops_are_causal_and_count_both_products():
    assert prefill(1.0, 1000.0).flops == pytest.approx(4 * 64 * 128 * 1000 * 1001 / 2)


def test_absorbed_latent_attention_reads_its_cache_once():
    op = decode(8.0, 4096.0, heads=128.0, kv_heads=1.0, qk_dim=576.0, v_dim=512.0, kv_width=576.0)
    assert op.bytes == pytest.approx(8 * 4096 * 576 * 2 + 2 * 8 * 128 * (576 + 512), rel=0.03)
    assert op.flops / op.bytes == pytest.approx(242, rel=0.08)


@pytest.mark.parametrize(("tokens", "reached"), [(1, 8), (8, 57), (32, 163), (128, 251.6)])
def test_expected_experts_of_deepseek_v3(tokens, reached):
    assert float(operators.expected_experts(tokens, 256, 8)) == pytest.approx(reached, abs=0.6)


def test_a_single_expert_takes_all_tokens():
    assert float(operators.expected_experts(5.0, 1.0, 1.0)) == pytest.approx(1.0)


def test_skewed_routing_slows_the_busiest_rank():
    assert mixture(4096.0, ep=8.0, skew=1.2).time > mixture(4096.0, ep=8.0).time


def test_fp8_pays_for_quantising_its_activations():
    eight = coef("gemm", "fp8")
    without = eight._replace(quant_passes=0.0)
    arguments = {"weight_bytes": 1.0, "act_bytes": 1.0, "peak": H100.peak("fp8")}
    assert product(8192.0, **arguments, coef=eight).time > product(8192.0, **arguments, coef=without).time


def test_unfused_norm_moves_five_times_the_bytes():
    fused, unfused = (float(operators.chain_bytes(5, 2.0, fused)) for fused in (1, 0))
    assert unfused / fused == 5.0


def test_element_wise_time_is_bytes_plus_launches():
    op = operators.elementwise(
        1e9, flops_per_element=10.0, bytes_per_element=4.0, peak=312e12, bandwidth=1.5e12, coef=STREAM, kernels=3.0
    )
    assert op.flops / op.bytes == 2.5
    assert op.time == pytest.approx(4e9 / (1.5e12 * STREAM.eta_memory) + 3 * STREAM.launch)


def test_embedding_costs_no_flops_and_whole_transactions():
    op = operators.embedding(1000.0, 8190.0, bandwidth=2e12, coef=STREAM)
    assert op.flops == 0
    assert op.bytes == 1000 * (8192 + 8190)


def test_a_repeated_call_finds_small_operands_in_the_cache():
    assert decode(4.0, 1024.0, warm=True).time <= decode(4.0, 1024.0).time
    assert product(8.0, 1024.0, 4096.0, warm=True).time <= product(8.0, 1024.0, 4096.0).time
    assert mixture(8.0, warm=True).time <= mixture(8.0).time
