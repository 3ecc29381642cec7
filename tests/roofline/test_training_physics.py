"""Training speed obeys the roof, the definitions of MFU and the schedules of pipelines."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline import codes, training
from roofline.training.coefficients import resolve
from roofline.training.communication import communication
from roofline.training.pipeline import bubble_fraction, pipeline_time, slowest_stage
from roofline.training.speed import attention_flops_per_token, model_flops_per_token
from roofline.training.work import shape_of
from tests.roofline.training_cases import batch, coefficients, config, moe_config

PEAK = 989.4e12


def speed(**changes):
    gpu = changes.get("gpu", "h100-sxm5-80gb")
    return training.predict(batch(**changes), coefficients(gpu))


def test_it_works():
    result = speed()
    assert 800 < result.tokens_per_s_per_gpu < 1_400
    assert result.tokens_per_s == pytest.approx(64 * result.tokens_per_s_per_gpu)
    assert result.step_time_s == pytest.approx(512 * 4096 / result.tokens_per_s)
    assert result.time_to_train_s == pytest.approx(1e12 / result.tokens_per_s)


def test_mfu_is_model_flops_over_the_dense_peak():
    result = speed()
    assert result.mfu == pytest.approx(result.tflops_per_gpu * 1e12 / PEAK)
    assert 0.3 < result.mfu < 0.6


def test_six_n_and_causal_attention():
    case = batch(config(num_key_value_heads=64))
    shape = shape_of(case)
    attention = attention_flops_per_token(case, shape)
    assert attention == pytest.approx(4 * 80 * 8192 * 4097 / 2)
    multiplied = case.model.total_params - case.model.embedding_params
    assert model_flops_per_token(case, shape) == pytest.approx(6 * multiplied + 3 * attention)


def test_gpt3_flops():
    gpt3 = {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "n_embd": 12288,
        "n_layer": 96,
        "n_head": 96,
        "n_positions": 2048,
        "vocab_size": 51200,
    }
    case = batch(gpt3, seq_len=2048.0)
    published = 72 * 96 * 12288**2 * (1 + 2048 / (12 * 12288) + 51200 / (12 * 96 * 12288))  # causal half of the scores
    assert model_flops_per_token(case, shape_of(case)) == pytest.approx(published, rel=0.005)


def test_frozen_weights_cost_four_n():
    full, frozen = batch(), batch(method=codes.METHODS.index("lora"))
    attention = 3.0 * attention_flops_per_token(full, shape_of(full))
    ratio = (model_flops_per_token(frozen, shape_of(frozen)) - attention) / (
        model_flops_per_token(full, shape_of(full)) - attention
    )
    assert ratio == pytest.approx(4 / 6)


def test_full_recomputation_costs_a_third_more_arithmetic():
    plain, again = speed(), speed(recompute=codes.RECOMPUTES.index("full"))
    assert again.hfu / again.mfu == pytest.approx(4 / 3, rel=0.05)
    assert 1.2 < again.step_time_s / plain.step_time_s < 1.4


def test_shares_add_up_to_one():
    result = speed(pp=2)
    parts = [result.compute_share, result.memory_share, result.interconnect_share, result.latency_share]
    assert sum(parts) == pytest.approx(1.0)
    assert min(parts) >= 0


def test_bubble_of_one_forward_one_backward():
    assert bubble_fraction(8, 32) == pytest.approx(7 / 32)
    assert bubble_fraction(8, 32, 4) == pytest.approx(7 / 128)
    assert pipeline_time(1.0, 1.0, 4.0, 8.0, 1.0) == pytest.approx(8 + 3)
    assert pipeline_time(1.0, 1.0, 4.0, 8.0, 3.0) == pytest.approx(8 + 1)


def test_uneven_stages_wait_for_the_fullest():
    even = slowest_stage(80.0, 0.0, 80.0, 4.0, 1.0)
    uneven = slowest_stage(81.0, 0.0, 81.0, 4.0, 1.0)
    assert even == pytest.approx(20.0)
    assert uneven == pytest.approx(21.0)
    assert slowest_stage(80.0, 2.0, 80.0, 4.0, 1.0) == pytest.approx(22.0)


def test_interleaving_shrinks_the_bubble():
    plain, interleaved = speed(pp=4, global_batch=16.0), speed(pp=4, global_batch=16.0, virtual_pipeline=5.0)
    assert interleaved.tokens_per_s > 1.1 * plain.tokens_per_s


@settings(max_examples=60, deadline=None)
@given(
    tp=st.sampled_from([1, 2, 4, 8]),
    pp=st.sampled_from([1, 2, 4]),
    micro=st.sampled_from([1.0, 2.0, 4.0]),
    seq=st.sampled_from([1024.0, 4096.0, 32768.0]),
    precision=st.sampled_from(["bf16", "fp8", "mxfp8", "nvfp4", "fp32"]),
    gpu=st.sampled_from(["a100-sxm4-80gb", "h100-sxm5-80gb", "b200-sxm-180gb", "mi300x", "l4", "v100-sxm2-32gb"]),
    moe=st.booleans(),
)
def test_never_over_the_roof(tp, pp, micro, seq, precision, gpu, moe):
    model = moe_config() if moe else config()
    case = {
        "tp": tp,
        "pp": pp,
        "micro_batch": micro,
        "seq_len": seq,
        "precision": codes.TRAINING_PRECISIONS.index(precision),
    }
    result = speed(model=model, gpu=gpu, **case)
    assert 0 < result.mfu < 0.85
    assert result.mfu <= result.hfu < 1
    assert np.isfinite(result.step_time_s)


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(["bandwidth", "peak_bf16", "link_bandwidth"]),
    factor=st.floats(1.0, 4.0),
    pp=st.sampled_from([1, 2]),
)
def test_more_hardware_is_never_slower(name, factor, pp):
    base = batch(pp=pp)
    faster = batch(pp=pp, **{name: getattr(base.gpu, name) * factor})
    c = coefficients()
    assert training.predict(faster, c).step_time_s <= training.predict(base, c).step_time_s * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(small=st.floats(10e9, 100e9), factor=st.floats(1.0, 8.0))
def test_a_faster_network_is_never_slower(small, factor):
    slow, fast = speed(gpus=256.0, internode_bandwidth=small), speed(gpus=256.0, internode_bandwidth=small * factor)
    assert fast.step_time_s <= slow.step_time_s * (1 + 1e-12)


def test_more_tokens_take_longer():
    steps = [float(speed(global_batch=size).step_time_s) for size in (64.0, 128.0, 256.0, 512.0)]
    assert steps == sorted(steps)


def test_arrays_and_scalars_agree():
    sizes = np.array([64.0, 128.0, 512.0])
    c = coefficients()
    together = training.predict(batch(global_batch=sizes), c)
    alone = [training.predict(batch(global_batch=size), c) for size in sizes]
    for name in ("tokens_per_s", "mfu", "compute_share", "latency_share"):
        assert getattr(together, name) == pytest.approx([float(getattr(one, name)) for one in alone], rel=1e-12)


def test_operators_make_up_the_arithmetic():
    case = batch()
    rows = training.operators(case, coefficients())
    flops = sum(row["count"] * row["flops"] for row in rows if row["phase"] in ("forward", "backward"))
    tokens = 512 * 4096 / 64
    assert flops == pytest.approx(tokens * model_flops_per_token(case, shape_of(case)), rel=0.03)
    assert {row["bound"] for row in rows} <= set(codes.BOUNDS)
    assert {"attention.in", "mlp.up", "attention.core", "lm_head", "optimizer", "tensor_parallel"} <= {
        row["name"] for row in rows
    }


@pytest.mark.parametrize("case", [{"pp": 4}, {"pp": 2, "model": moe_config(), "tp": 1, "ep": 8}, {}])
def test_operators_make_up_the_step(case):
    case = {"global_batch": 64.0, **case}
    rows = training.operators(batch(**case), coefficients())
    busy = sum(row["count"] * row["time_s"] for row in rows if row["phase"] != "communication")
    assert 0.5 < busy / float(speed(**case).step_time_s) < 1.1


def test_intervals_widen_without_measurements_near():
    near = training.interval(batch(gpus=128.0), coefficients())
    far = training.interval(batch(gpu="v100-sxm2-32gb"), coefficients("v100-sxm2-32gb"))
    assert near.low < 1 < near.high
    assert near.high / near.low < far.high / far.low
    assert near.basis > far.basis


def test_experts_get_each_token_and_give_it_back_once():
    case = batch(moe_config(), gpu="h100-sxm5-80gb", gpus=8.0, tp=1, ep=8.0)
    found = coefficients()
    shape = shape_of(case)
    traffic = communication(case, resolve(case, found), shape, found)
    reached = (
        8.0 * (1.0 - (7.0 / 8.0) ** 2) * 7.0 / 8.0
    )  # ranks that hold one of a token's two experts, but for its own
    both_ways = 4096.0 * 4096.0 * (2.0 + 2.0)
    assert traffic.ep.bytes == pytest.approx(32.0 * both_ways * reached, rel=1e-6)


def test_unbalanced_routing_waits_for_the_fullest_rank():
    spread = {
        "model": moe_config(),
        "gpus": 8.0,
        "tp": 1,
        "zero_stage": 3.0,
        "ep": np.array([1.0, 8.0]),
        "expert_tp": 1.0,
    }
    balanced, skewed = (speed(**spread, framework=codes.FRAMEWORKS.index(name)) for name in ("nemo", "fsdp"))
    cost = [float(one.tokens_per_s[0] / one.tokens_per_s[1]) for one in (balanced, skewed)]
    assert cost[1] > cost[0]


def test_an_old_generation_gets_no_faster_with_new_software():
    run = {
        "framework_year": np.array([2022.0, 2023.0, 2024.0, 2026.0]),
        "framework": codes.FRAMEWORKS.index("nanotron"),
    }
    old, new = (speed(gpu=gpu, **run) for gpu in ("a100-sxm4-80gb", "b200-sxm-180gb"))
    assert old.mfu[1] > old.mfu[0]
    assert old.mfu[3] == pytest.approx(float(old.mfu[2]))
    assert np.all(np.diff(new.mfu) > 0)


def test_sixteen_bit_training_stays_within_the_published_record():
    for gpu, best in (("a100-sxm4-80gb", 0.63), ("mi300x", 0.45), ("h100-sxm5-80gb", 0.56), ("b200-sxm-180gb", 0.50)):
        result = speed(
            gpu=gpu, gpus=1024.0, tp=8, pp=8, virtual_pipeline=10.0, global_batch=1536.0, framework_year=np.nan
        )
        assert result.mfu < best, gpu


def test_narrow_frozen_weights_are_gathered_narrow():
    frozen = {
        "method": codes.METHODS.index("lora"),
        "zero_stage": 3.0,
        "tp": 1,
        "framework": codes.FRAMEWORKS.index("fsdp"),
    }
    wide, narrow = (speed(**frozen, precision=codes.TRAINING_PRECISIONS.index(name)) for name in ("bf16", "fp8"))
    assert narrow.tokens_per_s > wide.tokens_per_s
