"""llama.cpp's back ends in a scenario: named, by default, and where they have no meaning."""

from typing import Any

import pytest

from predictions.services import predict
from roofline.errors import ScenarioError

pytestmark = pytest.mark.django_db

LOCAL = {"engine": "llama_cpp", "weights": "q4_k_m", "input_tokens": 512, "output_tokens": 128, "concurrency": 1}


def answer(gpu: str, **serving: Any) -> Any:
    return predict(
        {"workload": "inference", "model": "llama-3.1-8b", "gpu": gpu, "gpu_count": 1, "inference": LOCAL | serving}
    )


@pytest.mark.parametrize(
    ("gpu", "backend"), [("rtx-4090", "cuda"), ("m2-ultra", "metal"), ("ryzen-ai-max-395", "rocm")]
)
def test_the_usual_back_end_of_the_vendor_is_the_default(gpu: str, backend: str) -> None:
    told = answer(gpu)
    assert told["scenario"]["inference"]["backend"] == backend
    assert told["origins"]["inference.backend"] == "default"
    assert answer(gpu, backend=backend)["inference"] == told["inference"]


def test_a_named_back_end_counts() -> None:
    rocm, rocblas = (
        answer("ryzen-ai-max-395", backend=name)["inference"]["prefill_tokens_per_s"] for name in ("rocm", "rocblas")
    )
    assert rocblas < 0.6 * rocm


def test_other_engines_have_none() -> None:
    told = answer("rtx-4090", engine="vllm", weights="bf16", backend="vulkan")
    assert "does_not_apply" in {warning["code"] for warning in told["warnings"]}
    assert answer("rtx-4090", engine="vllm", weights="bf16")["scenario"]["inference"]["backend"] is None
    assert told["inference"] == answer("rtx-4090", engine="vllm", weights="bf16")["inference"]


@pytest.mark.parametrize(("gpu", "backend"), [("rtx-4090", "metal"), ("mi300x", "cuda"), ("m2-ultra", "rocblas")])
def test_back_ends_of_another_vendor_are_refused(gpu: str, backend: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        answer(gpu, backend=backend)
    assert list(refusal.value.fields) == ["inference.backend"]
    assert answer(gpu, backend="vulkan")["scenario"]["inference"]["backend"] == "vulkan"
