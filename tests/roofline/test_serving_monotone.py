"""More work is never cheaper and more hardware never slower: shipped coefficients with their corrections, any engine."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from roofline import bench, codes, memory, serving
from roofline.columns import Batch
from roofline.serving import ServingSpeed

COUNT = 6_000
TABLES = bench.Tables()
PEAKS = ("peak_fp32", "peak_tf32", "peak_fp16", "peak_bf16", "peak_fp8", "peak_int8", "peak_fp4", "peak_int4")
SLACK = 1e-4  # of single precision
Change = Callable[[Batch], None]


def drawn(*, arriving: bool = False) -> Batch:
    """Random models, GPUs, engines, layouts and loads, the same each time."""
    rng = np.random.default_rng(11)
    batch = bench.batch(TABLES, rng, COUNT, training=False)
    load = batch.serving
    assert load is not None
    load.engine = rng.integers(0, len(codes.ENGINES), COUNT)
    load.activations = rng.choice([0, codes.ACTIVATION_FORMATS.index("fp8")], COUNT)
    load.input_tokens = np.exp(rng.uniform(np.log(8), np.log(16_000), COUNT))
    load.output_tokens = np.exp(rng.uniform(np.log(2), np.log(4_000), COUNT))
    load.concurrency = np.exp(rng.uniform(0.0, np.log(600), COUNT))
    load.max_num_batched_tokens = rng.choice([512.0, 2048.0, 8192.0, 16_384.0], COUNT)
    load.max_model_len, load.max_num_seqs = np.float64(40_000.0), np.float64(1e4)
    if arriving:
        load.request_rate = np.exp(rng.uniform(np.log(0.01), np.log(30), COUNT))
        load.concurrency = np.float64(np.nan)
    return batch


def times(name: str, factor: float) -> Change:
    """Multiplies a column."""
    record, _, column = name.partition(".")

    def change(batch: Batch) -> None:
        target = getattr(batch, record)
        setattr(target, column, getattr(target, column) * factor)

    return change


def faster_chips(batch: Batch) -> None:
    for name in PEAKS:
        setattr(batch.gpu, name, getattr(batch.gpu, name) * 1.5)


def faster_links(batch: Batch) -> None:
    batch.gpu.link_bandwidth = batch.gpu.link_bandwidth * 1.5
    batch.gpu.pcie_bandwidth = batch.gpu.pcie_bandwidth * 1.5
    batch.layout.internode_bandwidth = batch.layout.internode_bandwidth * 1.5


def answered(batch: Batch) -> tuple[ServingSpeed, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Speeds, and where the cache holds all that is asked and prompts leave room in the passes and in time.

    Where prompts alone fill the time, faster steps only move a wait from decoding to the queue.
    """
    held, load = memory.serving(batch), batch.serving
    assert load is not None
    found = serving.predict(batch, held, serving.load(TABLES.gpus))
    replicas = batch.layout.dp
    running = np.where(np.isnan(load.concurrency), found.concurrency, load.concurrency) / replicas
    prompts = running * load.input_tokens / load.output_tokens
    admitted = serving.prediction.MOST_SEQUENCES[load.engine]
    room = np.minimum(held.mean_concurrency, admitted)
    busy = found.requests_per_s / replicas * load.input_tokens / found.prefill_tokens_per_s
    return found, (room > 1.5 * running) & (prompts < 0.5 * load.max_num_batched_tokens) & (busy < 0.7)


def growth(figure: str, change: Change, *, arriving: bool = False) -> Any:
    """ln of a figure after over before the change, where neither is saturated."""
    before, after = drawn(arriving=arriving), drawn(arriving=arriving)
    change(after)
    (one, fits), (other, still) = answered(before), answered(after)
    moved = np.log(getattr(other, figure) / getattr(one, figure))
    unsaturated = np.broadcast_to(fits & still, np.shape(moved))
    assert unsaturated.sum() > COUNT // 4
    return moved[unsaturated]


@pytest.mark.parametrize("figure", ["tpot_s", "ttft_s", "ttft_benchmark_s", "e2e_latency_s"])
@pytest.mark.parametrize("arriving", [False, True])
@pytest.mark.parametrize("factor", [1.02, 1.3, 4.0])
def test_longer_prompts_take_no_less_time(figure: str, arriving: bool, factor: float) -> None:
    assert growth(figure, times("serving.input_tokens", factor), arriving=arriving).min() > -SLACK


@pytest.mark.parametrize("factor", [1.02, 1.3, 4.0])
def test_longer_prompts_and_answers_cost_no_less(factor: float) -> None:
    for column in ("serving.input_tokens", "serving.output_tokens"):
        assert growth("requests_per_s", times(column, factor)).max() < SLACK


@pytest.mark.parametrize("arriving", [False, True])
def test_longer_answers_take_no_less_time(arriving: bool) -> None:
    assert growth("e2e_latency_s", times("serving.output_tokens", 1.3), arriving=arriving).min() > -SLACK


@pytest.mark.parametrize("figure", ["tpot_s", "ttft_s", "requests_per_s"])
def test_more_users_wait_no_less_and_get_no_fewer_answers(figure: str) -> None:
    # A larger static batch waits for a longer longest answer: its throughput may fall by a little.
    assert growth(figure, times("serving.concurrency", 1.3)).min() > (-0.02 if figure == "requests_per_s" else -SLACK)


@pytest.mark.parametrize("figure", ["tpot_s", "ttft_s", "requests_per_s"])
def test_a_higher_rate_is_no_faster(figure: str) -> None:
    assert growth(figure, times("serving.request_rate", 1.3), arriving=True).min() > -SLACK


@pytest.mark.parametrize("figure", ["tpot_s", "ttft_s", "ttft_benchmark_s", "e2e_latency_s"])
@pytest.mark.parametrize("arriving", [False, True])
@pytest.mark.parametrize("change", [times("gpu.bandwidth", 1.5), faster_chips, faster_links])
def test_more_hardware_is_never_slower(figure: str, arriving: bool, change: Change) -> None:
    assert growth(figure, change, arriving=arriving).max() < SLACK


def test_shares_of_what_the_hardware_can_do_stay_below_one() -> None:
    for arriving in (False, True):
        batch = drawn(arriving=arriving)
        found = serving.predict(batch, memory.serving(batch), serving.load(TABLES.gpus))
        for share in (found.mbu, found.mfu):
            assert np.min(share) > 0
            assert np.max(share) < 1
