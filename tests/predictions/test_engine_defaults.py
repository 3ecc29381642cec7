"""What an engine does where a scenario is silent, held to public reports of its memory."""

from __future__ import annotations

import pytest

from predictions.services import predict

pytestmark = pytest.mark.django_db
EIGHT = {"workload": "inference", "model": "meta-llama/Meta-Llama-3.1-8B", "gpu_count": 1}


def memory(asked: dict[str, object], **load: object) -> dict[str, object]:
    found: dict[str, object] = predict({**asked, "inference": load}, detail=False)["memory"]
    return found


def test_a_small_gpu_takes_fewer_tokens_in_a_pass_and_keeps_more_for_the_cache() -> None:
    # Ray Serve: 3.53 sequences of 8,192 tokens on an A10G
    tokens = memory({**EIGHT, "gpu": "a10g"}, max_model_len=8192)["kv_cache_tokens"]
    assert 3.0 <= tokens / 8192 <= 3.8  # type: ignore[operator]
    # 476,016 tokens logged on an H100 with 95 %
    large = memory(
        {**EIGHT, "gpu": "h100-sxm5-80gb"}, gpu_memory_utilization=0.95, max_model_len=8192, engine_version="0.19"
    )
    assert large["kv_cache_tokens"] == pytest.approx(476_016, rel=2e-3)


def test_the_first_releases_prefilled_whole_prompts() -> None:
    # vllm 0.6.4 on an RTX 3090: 20,000 tokens start, 29,000 do not
    asked = {**EIGHT, "gpu": "rtx-3090"}
    assert memory(asked, engine_version="0.6.4", max_model_len=20_000)["fits"]
    assert not memory(asked, engine_version="0.6.4", max_model_len=29_000)["fits"]


@pytest.mark.parametrize(("gpus", "fits"), [(1, False), (2, True)])
def test_a_quantised_copy_is_served_as_its_name_says(gpus: int, fits: bool) -> None:
    # dynamo 10104: one sequence of 131,072 tokens takes 40 GiB beside 67.7 GiB of weights
    asked = {
        "workload": "inference",
        "model": "nvidia/Llama-3.1-70B-Instruct-FP8",
        "gpu": "h100-sxm5-80gb",
        "gpu_count": gpus,
        "parallelism": {"tp": gpus},
        "inference": {"input_tokens": 131_000, "output_tokens": 72, "max_model_len": 131_072, "concurrency": 1},
    }
    answer = predict(asked, detail=False)
    assert answer["memory"]["fits"] == fits
    assert answer["scenario"]["inference"]["weights"] == "fp8"
    assert "weights_by_name" in {warning["code"] for warning in answer["warnings"]}
    given = {**asked, "inference": {**asked["inference"], "weights": "bf16"}}  # type: ignore[dict-item]
    assert "weights_by_name" not in {warning["code"] for warning in predict(given, detail=False)["warnings"]}
