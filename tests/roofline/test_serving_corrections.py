"""Measured corrections: found by what was measured, inherited by what was not, shrunk where little was, and wide where nothing is near."""

from dataclasses import replace

import numpy as np
import pytest

from roofline import codes, hardware, serving
from roofline.fitting.serving_corrections import PRIOR, fit_effects, run_features
from roofline.fitting.serving_fit import problem
from roofline.serving import corrections
from roofline.serving.coefficients import shipped, textbook
from roofline.serving.intervals import interval, nearness
from roofline.validation.serving_table import Run, read_run
from tests.roofline.serving_cases import GPUS, SLUGS, case, plain, speed

VLLM = codes.ENGINES.index("vllm")
OFFSET = np.array([0.1, 0.0, 0.0, 0.0, 0.0])


def table(effects: corrections.Effects) -> serving.ServingCoefficients:
    known = {"8030261248": "dense"}
    return replace(plain(), corrections=corrections.build(effects, GPUS, known))


@pytest.mark.parametrize(
    ("group", "level", "hit", "missed"),
    [
        ("e", "vllm", {}, {"engine": codes.ENGINES.index("sglang")}),
        ("ef", "vllm|Hopper/hbm", {}, {"gpu": "l40s"}),
        ("eg", "vllm|h100-sxm5-80gb", {}, {"gpu": "h200-sxm-141gb"}),
        ("em", "vllm|8030261248", {}, {"model": "Qwen/Qwen3-8B"}),
        ("ek", "vllm|dense", {"model": "Qwen/Qwen3-8B"}, {"model": "mixtral-8x7b", "tp": 2}),
        ("gw", "h100-sxm5-80gb|bf16", {}, {"weights": codes.WEIGHT_FORMATS.index("fp8")}),
        ("ekw", "vllm|dense|bf16", {}, {"weights": codes.WEIGHT_FORMATS.index("fp8")}),
        ("egm", "vllm|h100-sxm5-80gb|8030261248", {}, {"gpu": "h200-sxm-141gb"}),
        ("ev", "vllm|", {}, {"request_rate": 2.0, "concurrency": np.nan}),
    ],
)
def test_an_effect_meets_its_own(group: str, level: str, hit: dict[str, object], missed: dict[str, object]) -> None:
    c = table({("decode", group, level): OFFSET})
    for changed, factor in ((hit, np.exp(0.1)), (missed, 1.0)):
        batch = case(**changed)  # type: ignore[arg-type]
        assert float(speed(batch, c).tpot_s / speed(batch, plain()).tpot_s) == pytest.approx(factor, rel=1e-4)


def test_effects_of_a_saturated_loop_are_its_own() -> None:
    c = table({("saturated", "e", "vllm"): OFFSET})
    assert float(speed(case(), c).tpot_s / speed(case(), plain()).tpot_s) == pytest.approx(1.0, rel=1e-5)
    full = case(concurrency=np.inf)
    assert float(speed(full, c).output_tokens_per_s / speed(full, plain()).output_tokens_per_s) == pytest.approx(
        np.exp(-0.1), rel=1e-3
    )


def test_a_gpu_of_a_user_has_the_effects_of_its_family() -> None:
    own = hardware.Gpu.from_spec(
        {"name": "own", "architecture": "Hopper", "memory_gb": 80, "mem_bandwidth_gbs": 3350, "bf16_dense_tflops": 989}
    )
    catalogue = (own,)
    built = corrections.build({("decode", "ef", "vllm|Hopper/hbm"): OFFSET}, catalogue, {"1": "dense"})
    batch = case()
    batch.gpu = hardware.gpu_columns(catalogue).take(np.array(0))
    c = replace(serving.load(catalogue), corrections=None)
    assert float(speed(batch, replace(c, corrections=built)).tpot_s / speed(batch, c).tpot_s) == pytest.approx(
        np.exp(0.1), rel=1e-4
    )


def points(count: int, factor: float) -> list[Run]:
    """Points whose TPOT is `factor` times what the physics says."""
    row = {
        "model_id": "meta-llama/Meta-Llama-3.1-8B",
        "gpu_slug": "h100-sxm5-80gb",
        "engine": "vLLM",
        "n_gpus": "1",
        "tp": "1",
        "isl": "1000",
        "osl": "500",
        "ttft_ms": "80",
        "scenario": "fixed concurrency",
    }
    runs = [
        read_run({**row, "id": str(i), "concurrency_or_batch": str(4 * i + 4), "tpot_ms": "8"}) for i in range(count)
    ]
    p = problem(runs)
    predicted = p.predicted(serving.predict(p.batch, p.room, replace(serving.load(tuple(p.gpus)), corrections=None)))
    tpot = predicted[p.quantity == "tpot"]
    return [read_run({**run.row, "tpot_ms": str(1e3 * value * factor)}) for run, value in zip(runs, tpot, strict=True)]


def total_offset(runs: list[Run]) -> float:
    p = problem(runs)
    c = replace(serving.load(tuple(p.gpus)), corrections=None)
    effects = fit_effects(
        p, p.predicted(serving.predict(p.batch, p.room, c)), run_features(p, c), np.ones(len(p.rows), dtype=bool)
    )
    return float(sum(values[0] for (quantity, _, _), values in effects.items() if quantity == "decode"))


def test_few_points_move_little_and_many_move_more() -> None:
    one, many = total_offset(points(1, 1.2)), total_offset(points(20, 1.2))
    assert 0 < one < many < np.log(1.2)


def test_priors_cover_every_group() -> None:
    assert set(PRIOR) == set(corrections.GROUPS)


def test_nearness_widens_the_interval() -> None:
    c = serving.load(GPUS)
    known = case("llama-3.3-70b", "b200-sxm-180gb", tp=4)
    related = case("llama-2-13b", "h100-sxm5-80gb")
    unknown = case("llama-2-13b", "v100-sxm2-32gb")
    ranks = [int(nearness(batch, c)) for batch in (known, related, unknown)]
    assert ranks == [2, 1, 0]
    widths = [float(np.divide(*interval("tpot", batch, c)[::-1])) for batch in (known, related, unknown)]
    assert 1.1 < widths[0] < 1.6
    assert widths[0] <= widths[1] < 2.6


def test_every_fold_is_shipped() -> None:
    names = set(shipped(""))
    for fold in range(5):
        assert set(shipped(str(fold))) == names
        assert corrections.shipped(str(fold))


def test_coefficients_are_kept_for_a_catalogue() -> None:
    assert serving.load(GPUS) is serving.load(GPUS)


def test_the_textbook_has_no_losses() -> None:
    ideal, real = speed(case(), textbook(GPUS)), speed(case(), plain())
    assert float(ideal.tpot_s) < float(real.tpot_s)
    assert SLUGS
