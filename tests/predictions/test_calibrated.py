"""What a calibration may and may not change: the pace of the hardware, not that of arriving requests or data."""

from typing import Any

import pytest

from accounts.models import User
from predictions.models import Calibration
from predictions.services import predict

pytestmark = pytest.mark.django_db
SLOWER = 1.25
SERVING: dict[str, Any] = {
    "workload": "inference",
    "model": "llama-3.1-8b",
    "gpu": "h100-sxm5-80gb",
    "gpu_count": 1,
    "parallelism": {"tp": 1},
}
TRAINING: dict[str, Any] = {
    "workload": "training",
    "model": "llama-3.1-8b",
    "gpu": "h100-sxm5-80gb",
    "gpu_count": 64,
    "parallelism": {"tp": 2, "pp": 1, "cp": 1},
    "training": {"global_batch": 256, "micro_batch": 1},
}


@pytest.fixture
def slowed() -> Any:
    """A person whose hardware is a quarter slower than the shipped engine says."""
    owner = User.objects.create_user("slow")
    cells = [
        [["inference", "h100-sxm5-80gb", "vllm"], 0.2231435513, 9],
        [["training", "h100-sxm5-80gb", "megatron"], 0.2231435513, 9],
    ]
    Calibration.objects.create(owner=owner, name="slow", version="slow-1", cells=cells, active=True)
    return owner


def test_a_closed_loop_is_slower_throughout(slowed: Any) -> None:
    plain, calibrated = predict(SERVING), predict(SERVING, user=slowed)
    assert calibrated["inference"]["tpot_s"] == pytest.approx(SLOWER * plain["inference"]["tpot_s"])
    assert calibrated["inference"]["requests_per_s"] == pytest.approx(plain["inference"]["requests_per_s"] / SLOWER)


def test_an_offered_rate_is_still_answered(slowed: Any) -> None:
    scenario = {**SERVING, "inference": {"request_rate_per_s": 4.0}}
    plain, calibrated = predict(scenario), predict(scenario, user=slowed)
    assert plain["inference"]["requests_per_s"] == pytest.approx(4.0, rel=1e-3)
    assert calibrated["inference"]["requests_per_s"] == pytest.approx(4.0, rel=1e-3)
    assert calibrated["inference"]["tpot_s"] > SLOWER * plain["inference"]["tpot_s"] * 0.999
    assert "overload" not in {warning["code"] for warning in calibrated["warnings"]}
    assert calibrated["interval"]["requests_per_s"][1] <= 4.0 * 1.011


def test_a_starved_step_takes_as_long_as_its_data(slowed: Any) -> None:
    starved = {**TRAINING, "training": {**TRAINING["training"], "data_loader_bytes_per_s": 1e5}}
    plain, calibrated = predict(starved), predict(starved, user=slowed)
    assert calibrated["training"]["step_time_s"] == pytest.approx(plain["training"]["step_time_s"])
    assert predict(TRAINING, user=slowed)["training"]["step_time_s"] == pytest.approx(
        SLOWER * predict(TRAINING)["training"]["step_time_s"]
    )


def test_costs_carry_the_range_of_the_speed_they_follow_from() -> None:
    serving, run = predict(SERVING), predict({**TRAINING, "training": {**TRAINING["training"], "total_tokens": 1e12}})
    for answer, cost, speed, group in (
        (serving, "usd_per_million_output_tokens", "output_tokens_per_s", "inference"),
        (serving, "usd_per_million_total_tokens", "total_tokens_per_s", "inference"),
        (run, "usd_per_run", "tokens_per_s", "training"),
        (run, "usd_per_million_total_tokens", "tokens_per_s", "training"),
    ):
        low, high = answer["cost"]["interval"][cost]
        assert low < answer["cost"][cost] < high
        slow, fast = answer["interval"][speed]
        assert low * fast == pytest.approx(answer["cost"][cost] * answer[group][speed])
        assert high * slow == pytest.approx(answer["cost"][cost] * answer[group][speed])
