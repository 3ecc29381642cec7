"""Serving obeys physics: no time below its roof, shares of a peak between 0 and 1, and the right sign of every change."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline import codes, memory, serving
from roofline.serving import ServingSpeed
from roofline.serving.speculative import speculation
from tests.roofline.serving_cases import GPUS, case, levers, plain, speed

MODELS = st.sampled_from(
    ["llama-3.1-8b", "llama-3.1-70b", "Qwen/Qwen3-32B", "mixtral-8x7b", "openai/gpt-oss-120b", "deepseek-r1"]
)
ON = st.sampled_from(["h100-sxm5-80gb", "h200-sxm-141gb", "b200-sxm-180gb", "a100-sxm4-80gb", "l40s"])


def number(value: Any) -> float:
    return float(np.ravel(value)[0])


def test_it_works() -> None:
    found = speed(case())
    assert 0.004 < number(found.tpot_s) < 0.03
    assert number(found.output_tokens_per_s) > 1000
    assert number(found.ttft_s) < number(found.ttft_benchmark_s) < number(found.e2e_latency_s)


@settings(max_examples=40, deadline=None)
@given(model=MODELS, gpu=ON, users=st.integers(1, 512), prompt=st.integers(16, 8000), answer=st.integers(1, 2000))
def test_no_step_is_below_its_roof(model: str, gpu: str, users: int, prompt: int, answer: int) -> None:
    batch = case(model, gpu, tp=8, concurrency=float(users), input_tokens=float(prompt), output_tokens=float(answer))
    for c in (plain(), serving.load(GPUS)):
        found = speed(batch, c)
        assert 0 < number(found.mbu) < 1
        assert 0 < number(found.mfu) < 1
        assert number(found.tpot_s) > 0
        assert sum(number(share) for share in found.bound.values()) == pytest.approx(1.0, rel=1e-3)


@settings(max_examples=30, deadline=None)
@given(model=MODELS, gpu=ON, users=st.integers(1, 256), more=st.floats(1.05, 4.0))
def test_more_bandwidth_is_never_slower(model: str, gpu: str, users: int, more: float) -> None:
    batch = case(model, gpu, tp=8, concurrency=float(users))
    wider = case(model, gpu, tp=8, concurrency=float(users))
    wider.gpu.bandwidth = batch.gpu.bandwidth * more
    c = plain()
    assert number(speed(wider, c).output_tokens_per_s) >= number(speed(batch, c).output_tokens_per_s) * (1 - 1e-5)


@settings(max_examples=30, deadline=None)
@given(model=MODELS, users=st.integers(1, 200), more=st.integers(1, 200))
def test_more_users_never_get_faster_tokens(model: str, users: int, more: int) -> None:
    batch = case(model, "h200-sxm-141gb", tp=8, concurrency=np.array([float(users), float(users + more)]))
    found = speed(batch, plain())
    assert found.tpot_s[1] >= found.tpot_s[0] * (1 - 1e-5)


def test_a_longer_context_costs_time() -> None:
    found = speed(case(input_tokens=np.array([128.0, 1024.0, 7000.0])), plain())
    assert np.all(np.diff(found.tpot_s) > 0)
    assert np.all(np.diff(found.ttft_s) > 0)


def test_narrower_weights_are_read_faster() -> None:
    formats = np.array([codes.WEIGHT_FORMATS.index(name) for name in ("bf16", "fp8", "int4_g128")])
    kinds = np.array([0, codes.ACTIVATION_FORMATS.index("fp8"), 0])
    found = speed(case("llama-3.1-70b", tp=8, concurrency=1.0, weights=formats, activations=kinds), plain())
    assert np.all(np.diff(found.tpot_s) < 0)


@settings(max_examples=20, deadline=None)
@given(users=st.integers(1, 400), answer=st.integers(2, 1000))
def test_a_closed_loop_obeys_little(users: int, answer: int) -> None:
    found = speed(case(concurrency=float(users), output_tokens=float(answer)))
    in_flight = number(found.requests_per_s) * number(found.e2e_latency_s)
    assert in_flight == pytest.approx(users, rel=1e-3)


def test_an_open_loop_serves_what_it_is_asked_until_it_cannot() -> None:
    found = speed(case(concurrency=np.nan, request_rate=np.array([0.5, 2.0, 500.0])))
    assert found.requests_per_s[:2] == pytest.approx([0.5, 2.0], rel=1e-4)
    assert found.requests_per_s[2] < 500.0
    assert np.all(np.diff(found.tpot_s) > 0)


@pytest.mark.parametrize(
    "model", ["llama-3.1-8b", "openai/gpt-oss-120b", "deepseek-r1", "Qwen/Qwen3-Next-80B-A3B-Instruct"]
)
def test_one_scenario_is_answered_as_in_an_array(model: str) -> None:
    users = np.array([1.0, 16.0, 200.0])
    many = speed(case(model, tp=8, concurrency=users))
    for i, count in enumerate(users):
        one = speed(case(model, tp=8, concurrency=count))
        for field in fields(ServingSpeed):
            if field.name != "bound":
                assert number(getattr(one, field.name)) == pytest.approx(
                    float(np.broadcast_to(getattr(many, field.name), 3)[i]), rel=1e-4
                )


@pytest.mark.parametrize("model", ["llama-3.1-8b", "deepseek-r1"])
def test_flash_attention_spares_the_score_matrix_of_long_prompts(model: str) -> None:
    load: dict[str, Any] = {"tp": 8, "input_tokens": 32768.0, "concurrency": 4.0, "max_model_len": 65536.0}
    fused, unfused = case(model, **load), case(model, **load)
    unfused.levers = levers(flash_attention_2=0.0)
    assert number(speed(unfused).ttft_s) > 1.1 * number(speed(fused).ttft_s)


def test_replicas_share_the_load() -> None:
    one, two = speed(case(concurrency=32.0)), speed(case(dp=2, concurrency=64.0))
    assert number(two.tpot_s) == pytest.approx(number(one.tpot_s), rel=1e-4)
    assert number(two.output_tokens_per_s) == pytest.approx(2 * number(one.output_tokens_per_s), rel=1e-4)


@pytest.mark.parametrize("lever", ["paged_attention", "continuous_batching", "cuda_graphs", "fused_kernels"])
def test_a_lever_that_is_off_costs_throughput(lever: str) -> None:
    batch = case("llama-3.1-70b", tp=4, concurrency=np.inf, max_model_len=16384.0)
    without = case("llama-3.1-70b", tp=4, concurrency=np.inf, max_model_len=16384.0)
    without.levers = levers(**{lever: 0.0})
    c = plain()
    assert number(speed(without, c).output_tokens_per_s) < number(speed(batch, c).output_tokens_per_s)


def test_prefix_hits_shorten_the_wait() -> None:
    found = speed(case(input_tokens=4000.0, prefix_cache_hit=np.array([0.0, 0.5, 0.9])), plain())
    assert np.all(np.diff(found.ttft_s) < 0)


def test_drafts_help_one_user_and_not_a_crowd() -> None:
    users = np.array([1.0, 512.0])
    bare = speed(case("llama-3.1-70b", tp=8, concurrency=users), plain())
    drafted = speed(
        case("llama-3.1-70b", tp=8, concurrency=users, draft_tokens=4.0, acceptance=0.7, draft_cost=0.05), plain()
    )
    gain = bare.tpot_s / drafted.tpot_s
    assert gain[0] > 1.5
    assert gain[1] < gain[0]


def test_the_yield_of_drafts_is_the_published_formula() -> None:
    load = case(
        draft_tokens=np.array([0.0, 4.0, 4.0, 4.0]), acceptance=np.array([0.7, 0.0, 0.7, 1.0]), draft_cost=0.1
    ).serving
    assert load is not None
    found = speculation(load)
    assert found.accepted == pytest.approx([1.0, 1.0, (1 - 0.7**5) / 0.3, 5.0], rel=1e-2)
    assert np.asarray(found.draft) == pytest.approx([0.0, 0.4, 0.4, 0.4])


def test_disaggregated_throughput_is_that_of_the_slower_pool() -> None:
    def pools(prefill: float, decode: float) -> float:
        batch = case(
            "llama-3.1-70b",
            "h100-sxm5-80gb",
            tp=8,
            concurrency=4096.0,
            max_num_seqs=4096.0,
            input_tokens=4000.0,
            prefill_gpus=prefill,
            prefill_tp=8.0,
            decode_gpus=decode,
            decode_tp=8.0,
        )
        batch = replace(batch, layout=replace(batch.layout, gpus=prefill + decode))
        return number(serving.predict(batch, memory.serving(batch), plain()).requests_per_s)

    base = pools(8.0, 8.0)
    assert pools(16.0, 8.0) >= base
    assert pools(8.0, 16.0) >= base * 0.999
    assert max(pools(16.0, 8.0), pools(8.0, 16.0)) > base * 1.2
    assert pools(16.0, 16.0) == pytest.approx(2 * base, rel=0.1)


def test_operators_add_up_to_the_decode_step() -> None:
    batch = case("openai/gpt-oss-120b", tp=4)
    rows = serving.operators(batch, memory.serving(batch), plain())
    decode = [row for row in rows if row["phase"] == "decode"]
    assert {"attention.qkv", "experts.routed", "lm_head", "collectives", "launches"} <= {row["name"] for row in decode}
    total = sum(row["time_s"] * row["count"] for row in decode)
    assert 0.5 * number(speed(batch, plain()).tpot_s) < total <= number(speed(batch, plain()).tpot_s)
    assert all(row["bound"] in codes.BOUNDS for row in rows)


def test_overload_delivers_the_capacity_whatever_the_rate() -> None:
    """Beyond saturation more arrivals only lengthen the queue."""
    rates = (100.0, 1e3, 1e4)
    gpt: dict[str, Any] = {
        "gpu": "h100-sxm5-80gb",
        "tp": 2,
        "concurrency": np.nan,
        "engine": codes.ENGINES.index("tensorrt_llm"),
    }
    delivered = [
        number(speed(case("openai/gpt-oss-120b", request_rate=rate, **gpt)).output_tokens_per_s) for rate in rates
    ]
    assert delivered == pytest.approx([delivered[-1]] * len(rates), rel=0.01)


def test_chunks_protect_running_sequences_at_the_price_of_the_first_token() -> None:
    load: dict[str, Any] = {
        "input_tokens": 8000.0,
        "output_tokens": 500.0,
        "max_num_batched_tokens": 512.0,
        "max_model_len": 16384.0,
    }
    chunked, whole = (case("llama-3.1-70b", tp=4, concurrency=32.0, **load) for _ in range(2))
    whole.levers = levers(chunked_prefill=0.0)
    on, off = speed(chunked, plain()), speed(whole, plain())
    assert number(off.itl_p99_s) > 5 * number(on.itl_p99_s)
    assert number(on.itl_p99_s) < 2 * number(on.tpot_s)
    assert 1.1 < number(on.ttft_s) / number(off.ttft_s) < 2.0
    assert 1.0 < number(on.output_tokens_per_s) / number(off.output_tokens_per_s) < 1.5


def test_scattered_ranks_talk_over_the_network() -> None:
    """Placement matters where a system spans machines: inside one, all GPUs reach each other alike."""
    for replicas, slower in ((1, False), (4, True)):
        near, far = (case("llama-3.1-70b", tp=8, dp=replicas, concurrency=64.0 * replicas) for _ in range(2))
        near.levers, far.levers = levers(topology_aware=1.0), levers()
        one, other = speed(near, plain()), speed(far, plain())
        assert (number(other.tpot_s) > 1.2 * number(one.tpot_s)) is slower
        assert (number(other.tpot_s) == pytest.approx(number(one.tpot_s), rel=1e-6)) is not slower


def test_a_pipeline_reads_what_its_micro_batches_touch() -> None:
    """DeepSeek-R1 in two stages of eight GPUs: a token passes both, each read with half of the sequences."""
    fp8: dict[str, Any] = {
        "weights": codes.WEIGHT_FORMATS.index("fp8"),
        "activations": codes.ACTIVATION_FORMATS.index("fp8"),
    }
    staged = speed(case("deepseek-r1", "h200-sxm-141gb", tp=8, pp=2, concurrency=64.0, **fp8), plain())
    whole = speed(case("deepseek-r1", "h200-sxm-141gb", tp=8, concurrency=32.0, **fp8), plain())
    read_staged = number(staged.mbu) * number(staged.tpot_s)
    assert read_staged == pytest.approx(number(whole.mbu) * number(whole.tpot_s), rel=1e-3)


def prompts(backend: str, model: str = "llama-2-7b", **load: Any) -> float:
    llama = {"engine": codes.ENGINES.index("llama_cpp"), "max_num_batched_tokens": 512.0, "concurrency": 1.0}
    told = llama | {"backend": codes.BACKENDS.index(backend), "max_model_len": 65536.0} | load
    return number(speed(case(model, "ryzen-ai-max-395", **told), plain()).prefill_tokens_per_s)


def test_back_ends_of_llama_cpp_differ() -> None:
    """Llama-2-7B on a Ryzen AI Max 395, 512 tokens: hipBLASLt makes three times what rocBLAS does; ROCm is the usual one."""
    q4 = codes.WEIGHT_FORMATS.index("q4_0")
    usual, tuned, untuned, vulkan = (
        prompts(name, input_tokens=512.0, weights=q4) for name in ("", "rocm", "rocblas", "vulkan")
    )
    assert usual == tuned
    assert 2.0 < tuned / untuned < 5.0
    assert untuned < vulkan < tuned


def test_packed_weights_cost_llama_cpp_arithmetic() -> None:
    q4, half = (
        prompts("rocm", input_tokens=512.0, weights=codes.WEIGHT_FORMATS.index(name)) for name in ("q4_0", "fp16")
    )
    assert 0.6 < q4 / half < 1.0


def test_a_lone_arrival_waits_for_nobody() -> None:
    """At a vanishing rate TPOT is that of one sequence and TTFT that of its own pass."""
    rare = speed(case(concurrency=np.nan, request_rate=1e-4, input_tokens=4000.0), plain())
    alone = speed(case(concurrency=1.0, input_tokens=4000.0), plain())
    assert number(rare.tpot_s) == pytest.approx(number(alone.tpot_s), rel=1e-3)
    assert number(rare.ttft_s) < number(alone.ttft_s) * 1.05


@pytest.mark.parametrize("concurrency", [0.25, 1.0, 7.0, 64.0])
def test_waiting_for_the_longest_answer_is_never_faster_and_keeps_littles_law(concurrency: float) -> None:
    together, apart = (
        case("opt-30b", "a100-sxm4-80gb", tp=4, concurrency=concurrency, output_tokens=1000.0) for _ in range(2)
    )
    together.levers = levers(continuous_batching=0.0)
    static, continuous = speed(together, plain()), speed(apart, plain())
    assert number(static.output_tokens_per_s) <= number(continuous.output_tokens_per_s) * 1.0001
    assert number(static.requests_per_s) * number(static.e2e_latency_s) == pytest.approx(concurrency, rel=1e-3)


def test_static_batches_deliver_their_capacity_under_any_overload() -> None:
    static: dict[str, Any] = {"engine": codes.ENGINES.index("static_batching"), "concurrency": np.nan}
    rates = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0])
    told = speed(case(input_tokens=4000.0, request_rate=rates, **static), plain())
    delivered = np.asarray(told.requests_per_s)
    assert (np.diff(delivered) > -1e-6).all()
    assert delivered[0] == pytest.approx(0.5)
    assert delivered[-1] == pytest.approx(delivered[-2], rel=1e-6)
