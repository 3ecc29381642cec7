"""Disaggregated pools: each with an attention layout of its own, caches handed over by their bytes; SGLang's share of the memory."""

from typing import Any

import pytest

from predictions.services import predict_many

pytestmark = pytest.mark.django_db


def answers(*changes: dict[str, Any], **common: Any) -> list[dict[str, Any]]:
    raw = {"workload": "inference", "model": "deepseek-r1", "gpu": "H200-SXM", **common}
    return predict_many([raw | change for change in changes])


def pools(prefill: bool | None, decode: bool | None, users: int = 256) -> dict[str, Any]:
    sizes: dict[str, dict[str, Any]] = {"prefill": {"gpus": 8, "tp": 8}, "decode": {"gpus": 16, "tp": 8}}
    for pool, flag in (("prefill", prefill), ("decode", decode)):
        if flag is not None:
            sizes[pool]["attention_dp"] = flag
    return {"inference": {"concurrency": users, "input_tokens": 4000, "output_tokens": 500, "disaggregated": sizes}}


def test_each_pool_has_an_attention_layout_of_its_own() -> None:
    plain, prefill, decode, both = answers(
        pools(None, None), pools(True, None), pools(None, True), pools(True, True), gpu_count=24
    )
    speeds = [answer["inference"] for answer in (plain, prefill, decode, both)]
    assert speeds[1]["tpot_s"] == pytest.approx(speeds[0]["tpot_s"], rel=0.05)
    assert speeds[1]["ttft_s"] != pytest.approx(speeds[0]["ttft_s"], rel=1e-3)
    assert speeds[2]["tpot_s"] != pytest.approx(speeds[0]["tpot_s"], rel=1e-3)
    assert len({round(speed["tpot_s"], 9) for speed in speeds}) > 1
    assert decode["scenario"]["parallelism"]["attention_dp"] is True


def test_a_slower_network_hands_caches_over_later() -> None:
    fast, slow = answers(
        {"internode_gbps_per_gpu": 400}, {"internode_gbps_per_gpu": 10}, gpu_count=24, **pools(None, None, 8)
    )
    assert slow["inference"]["ttft_s"] > fast["inference"]["ttft_s"]


def test_sglang_keeps_back_what_its_buffers_need() -> None:
    engines = [{"inference": {"engine": name}} for name in ("sglang", "vllm")]
    sglang, vllm = answers(*engines, model="llama-3.1-8b", gpu_count=1)
    path = ("inference", "gpu_memory_utilization")
    assert sglang["scenario"][path[0]][path[1]] == pytest.approx(0.903)
    assert vllm["scenario"][path[0]][path[1]] == 0.9
    (given,) = answers({"inference": {"engine": "sglang", "gpu_memory_utilization": 0.7}}, model="llama-3.1-8b")
    assert given["scenario"]["inference"]["gpu_memory_utilization"] == 0.7
