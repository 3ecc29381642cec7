"""The arithmetic of the published claims, to the digit."""

from dataclasses import replace

import pytest

from roofline import audit
from roofline.columns import Model
from roofline.hardware import presets


def model(params: float) -> Model:
    zeros = dict.fromkeys(Model.__dataclass_fields__, 0.0)
    return Model(**{**zeros, "active_params": params, "total_params": params})


def subject(
    workload: str, gpu: str, gpus: int, params: float, *, precision: str = "bf16", record: audit.Record | None = None
) -> audit.Subject:
    return audit.Subject(workload, model(params), presets()[gpu], gpus, precision, 2 * params, record=record)


def values(report: dict) -> dict[str, float]:
    return {
        finding["quantity"]: finding["value"]
        for finding in report["findings"]
        if finding["kind"] in ("implied", "consistent")
    }


RECORD = audit.Record("dense models on H100", 200, 0.40, 0.60, "a source")


def test_finance_claim_needs_fp8() -> None:
    before, claim = (
        {"tokens_per_s_per_gpu": 847, "time_days": 18},
        {"tokens_per_s_per_gpu": 1923, "time_days": 8, "usd_saved": 240_000},
    )
    report = audit.audit(subject("training", "h100-sxm5-80gb", 64, 70e9, record=RECORD), claim, before)
    found = values(report)
    assert found["tokens_before"] == pytest.approx(84.3e9, rel=1e-3)
    assert found["tokens_after"] == pytest.approx(85.1e9, rel=1e-3)
    assert found["usd_per_gpu_hour"] == pytest.approx(15.625)
    assert found["tflops_per_gpu"] == pytest.approx(808, rel=1e-3)
    assert found["mfu_bf16"] == pytest.approx(0.816, abs=1e-3)
    assert found["mfu_fp8"] == pytest.approx(0.408, abs=1e-3)
    assert report["verdict"].startswith("plausible only if the products run in FP8")


def test_healthcare_price_is_for_one_gpu() -> None:
    before = {"tpot_s": 0.142, "tokens_per_s": 820, "usd_per_million_tokens": 0.73}
    claim = {"tpot_s": 0.047, "tokens_per_s": 2140, "usd_per_million_tokens": 0.28}
    report = audit.audit(subject("inference", "a100-sxm4-80gb", 8, 13e9), claim, before)
    found = values(report)
    assert found["usd_per_hour_before"] == pytest.approx(2.155, abs=0.005)
    assert found["usd_per_hour_after"] == pytest.approx(2.157, abs=0.005)
    assert found["weights_read_s"] == pytest.approx(0.0128 / 8, rel=5e-3)
    assert found["times_floor_before"] == pytest.approx(11, abs=0.2)
    assert report["verdict"] == "plausible only if the throughput is that of one GPU, or the price is for one GPU"


def test_ecommerce_claim_is_beyond_the_record() -> None:
    record = audit.Record("mixture-of-experts models", 300, 0.2, 0.45, "a source")
    report = audit.audit(subject("training", "h100-sxm5-80gb", 128, 20e9, record=record), {"mfu": 0.71}, {"mfu": 0.43})
    assert report["verdict"] == "beyond the published record"


def test_untuned_node_waste() -> None:
    report = audit.audit(
        subject("training", "h100-sxm5-80gb", 8, 70e9), {"mfu": 0.98, "usd_wasted_per_year": 380_000}, {"mfu": 0.43}
    )
    found = values(report)
    assert found["gpu_hours_wasted"] == pytest.approx(39_331, abs=1)
    assert found["usd_per_gpu_hour"] == pytest.approx(9.66, abs=0.01)


def test_faster_than_the_weights_can_be_read() -> None:
    report = audit.audit(subject("inference", "a100-sxm4-80gb", 1, 13e9), {"tpot_s": 0.001})
    assert report["verdict"] == "beyond the roof"


def test_unknown_figure_is_refused() -> None:
    with pytest.raises(KeyError):
        audit.audit(subject("training", "h100-sxm5-80gb", 1, 1e9), {"happiness": 1})


def kinds(report: dict) -> list[tuple[str, str]]:
    return [(finding["kind"], finding["quantity"]) for finding in report["findings"]]


def test_finance_price_stays_beside_the_reading() -> None:
    claim = {"tokens_per_s_per_gpu": 1923, "time_days": 8, "usd_saved": 240_000}
    report = audit.audit(
        subject("training", "h100-sxm5-80gb", 64, 70e9, record=RECORD),
        claim,
        {"tokens_per_s_per_gpu": 847, "time_days": 18},
    )
    assert report["verdict"].endswith("; but $15.63 per GPU-hour is above the market ($0.50 to $12.00)")


def test_a_reading_repairs_only_its_own_kind() -> None:
    claim = {"tpot_s": 1e-5, "tokens_per_s": 820, "usd_per_million_tokens": 0.73}
    report = audit.audit(subject("inference", "a100-sxm4-80gb", 8, 13e9), claim)
    assert ("reading", "usd_per_gpu_hour_claimed") in kinds(report)
    assert report["verdict"] == "beyond the roof"


def test_waste_without_a_gain_is_no_division() -> None:
    claim = {"mfu": 0.4, "usd_wasted_per_year": 1.0}
    report = audit.audit(subject("training", "h100-sxm5-80gb", 8, 70e9), claim, {"mfu": 0.4})
    assert ("inconsistent", "gpu_hours_wasted") in kinds(report)
    assert report["verdict"] == "inconsistent"


def test_speculation_explains_a_token_below_the_floor() -> None:
    floor = 26e9 / presets()["a100-sxm4-80gb"].bandwidth
    report = audit.audit(subject("inference", "a100-sxm4-80gb", 1, 13e9), {"tpot_s": floor / 2})
    assert report["verdict"] == "plausible only if each step yields 2.0 tokens, as speculative decoding can"


def test_stated_hourly_price_is_held_against_market_and_tokens() -> None:
    claim = {"usd_per_hour": 80.0, "usd_per_million_tokens": 1.0, "tokens_per_s": 2222.0}
    report = audit.audit(subject("inference", "h100-sxm5-80gb", 8, 70e9), claim)
    assert values(report)["usd_per_gpu_hour_stated_claimed"] == pytest.approx(10.0)
    assert ("inconsistent", "usd_per_hour_ratio_claimed") in kinds(report)  # $8 of tokens an hour
    assert audit.audit(subject("inference", "h100-sxm5-80gb", 8, 70e9), {"usd_per_hour": 1.0})["verdict"] == (
        "inconsistent"
    )


def test_requests_in_flight_follow_from_speed_and_pace() -> None:
    claim, before = {"tpot_s": 0.047, "tokens_per_s": 2140}, {"tpot_s": 0.142, "tokens_per_s": 820}
    found = values(audit.audit(subject("inference", "a100-sxm4-80gb", 8, 13e9), claim, before))
    assert (round(found["concurrency_before"]), round(found["concurrency_after"])) == (116, 101)


def test_serving_rate_above_every_peak_breaks_the_roof() -> None:
    about = subject("inference", "h100-sxm5-80gb", 1, 70e9)
    about.model.flops_per_token = 140e9
    most = presets()["h100-sxm5-80gb"].peak("fp8") / 140e9
    assert audit.audit(about, {"tokens_per_s": 0.9 * most})["verdict"] == "plausible"
    assert audit.audit(about, {"tokens_per_s": 1.1 * most})["verdict"] == "beyond the roof"


def test_adapters_cost_four_flops_a_parameter() -> None:
    about = audit.Subject(
        "training", model(70e9), presets()["h100-sxm5-80gb"], 8, "bf16", 0.0, flops_per_param=audit.ADAPTER_FLOPS
    )
    report = audit.audit(about, {"tokens_per_s_per_gpu": 1000})
    assert values(report)["tflops_per_gpu"] == pytest.approx(4 * 70e9 * 1000 / 1e12)


def test_a_time_says_a_rate_where_the_length_of_the_run_is_known() -> None:
    run = replace(subject("training", "h100-sxm5-80gb", 16_384, 405.9e9), run_tokens=15.6e12)
    found = values(audit.audit(run, {"time_days": 54}))
    rate = 15.6e12 / (54 * 86_400 * 16_384)
    assert found["tflops_per_gpu"] == pytest.approx(6 * 405.9e9 * rate / 1e12)
    assert found["mfu_bf16"] == pytest.approx(0.50, abs=0.01)


def test_a_utilisation_says_a_rate() -> None:
    found = values(audit.audit(subject("training", "h100-sxm5-80gb", 8, 70e9), {"mfu": 0.41}))
    assert found["tokens_per_s_per_gpu"] == pytest.approx(0.41 * 989.4e12 / (6 * 70e9), rel=1e-3)


def test_small_multiples_of_the_floor_keep_their_digits() -> None:
    report = audit.audit(subject("inference", "h100-sxm5-80gb", 1, 8e9), {"tpot_s": 0.0025})
    sentences = [finding["sentence"] for finding in report["findings"]]
    assert any("is 0.523 times the memory floor" in sentence for sentence in sentences)
