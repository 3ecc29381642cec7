"""Numbers of shape () and arrays take the same path: the same scenario gets the same answer alone and among others."""

from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from roofline import bench, codes
from roofline.columns import Batch, Layout, Levers, Serving, Training
from roofline.evaluate import Business, evaluate, rows
from roofline.selection import every, maximum, minimum, missing, pick, some

TABLES = bench.Tables()
SIZE = 400
NUMBERS = (-1.5, 0.0, 2.0, 7.0, np.inf, -np.inf, np.nan)


def _sometimes(rng: np.random.Generator, share: float, values: Any, other: Any) -> Any:
    return np.where(rng.random(SIZE) < share, values, other)


def _codes(rng: np.random.Generator, names: tuple[str, ...]) -> Any:
    return rng.integers(0, len(names), SIZE)


def _training(rng: np.random.Generator, batch: Batch) -> Batch:
    assert batch.training is not None
    layout: Layout = replace(
        batch.layout,
        zero_stage=rng.integers(0, 4, SIZE) * 1.0,
        sequence_parallel=rng.integers(0, 2, SIZE) * 1.0,
        ep=np.minimum(2.0 ** rng.integers(0, 4, SIZE), batch.layout.dp * batch.layout.tp),
    )
    setup: Training = replace(
        batch.training,
        method=_codes(rng, codes.METHODS),
        framework=_codes(rng, codes.FRAMEWORKS),
        framework_year=_sometimes(rng, 0.3, np.nan, rng.uniform(2022, 2027, SIZE)),
        precision=_codes(rng, codes.TRAINING_PRECISIONS),
        optimizer=_codes(rng, codes.OPTIMIZERS),
        padding_fraction=rng.uniform(0.0, 0.3, SIZE),
        data_loader_bytes_per_s=_sometimes(rng, 0.5, np.inf, 1e6),
    )
    return replace(batch, training=setup, layout=layout)


def _serving(rng: np.random.Generator, batch: Batch) -> Batch:
    assert batch.serving is not None
    rated, split = rng.random(SIZE) < 0.3, 1.0 * (rng.random(SIZE) < 0.2)
    closed = _sometimes(rng, 0.1, np.inf, batch.serving.concurrency)
    load: Serving = replace(
        batch.serving,
        engine=_codes(rng, codes.ENGINES),
        engine_year=_sometimes(rng, 0.3, np.nan, rng.uniform(2024, 2027, SIZE)),
        concurrency=np.where(rated, np.nan, closed),
        request_rate=np.where(rated, rng.uniform(0.1, 20.0, SIZE), np.nan),
        weights=_codes(rng, codes.WEIGHT_FORMATS),
        activations=_codes(rng, codes.ACTIVATION_FORMATS),
        kv_cache=_codes(rng, codes.KV_FORMATS),
        prefix_cache_hit=_sometimes(rng, 0.3, rng.uniform(0.0, 0.9, SIZE), 0.0),
        draft_tokens=rng.integers(0, 4, SIZE) * 1.0,
        acceptance=rng.uniform(0.3, 0.9, SIZE),
        draft_cost=np.float64(0.1),
        prefill_gpus=split * 8.0,
        prefill_tp=split * 4.0,
        decode_gpus=split * 8.0,
        decode_tp=split * 8.0,
        weight_bytes_override=_sometimes(rng, 0.2, batch.model.total_params * 1.2, np.nan),
    )
    layout: Layout = replace(batch.layout, attention_dp=1.0 * (rng.random(SIZE) < 0.3))
    return replace(batch, serving=load, layout=layout)


def varied(*, training: bool, seed: int) -> Batch:
    """Random scenarios in which every column that can vary does."""
    rng = np.random.default_rng(seed)
    batch = bench.batch(TABLES, rng, SIZE, training=training)
    levers = Levers(**{f.name: rng.integers(0, 2, SIZE) * 1.0 for f in fields(Levers)})
    batch = replace(batch, levers=levers)
    return _training(rng, batch) if training else _serving(rng, batch)


def figures(record: Any, name: str = "") -> dict[str, Any]:
    """Every number of an evaluation by its path."""
    if is_dataclass(record):
        record = {f.name: getattr(record, f.name) for f in fields(record)}
    if not hasattr(record, "items"):
        return {} if isinstance(record, str) else {name: np.asarray(record, dtype=float)}
    return {path: value for key, below in record.items() for path, value in figures(below, f"{name}.{key}").items()}


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("seed", [1, 2])
def test_alone_as_among_others(training: bool, seed: int) -> None:
    batch, business = varied(training=training, seed=seed), Business(np.linspace(1.0, 9.0, SIZE), np.full(SIZE, 0.9))
    together = figures(evaluate(batch, TABLES.gpus, business))
    for place in range(0, SIZE, 7):
        alone = figures(evaluate(rows(batch, place), TABLES.gpus, rows(business, place)))
        assert alone.keys() == together.keys()
        for path, value in alone.items():
            assert value.shape == (), path
            expected = np.broadcast_to(together[path], SIZE)[place]
            np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-9, err_msg=f"{path} of row {place}")


@pytest.mark.parametrize("kind", [float, np.float64])
def test_plain_numbers_are_selected_as_in_arrays(kind: type[float]) -> None:
    for first in map(kind, NUMBERS):
        assert missing(first) == np.isnan(first)
        for second in map(kind, NUMBERS):
            np.testing.assert_equal(maximum(first, second), np.maximum(first, second))
            np.testing.assert_equal(minimum(first, second), np.minimum(first, second))
            for condition in (True, np.False_):
                np.testing.assert_equal(pick(condition, first, second), np.where(condition, first, second))


def test_truths_are_numbers_in_a_selection() -> None:
    assert maximum(0, np.True_) == 1
    assert not isinstance(maximum(0, np.True_), np.bool_)  # it would mask where it should index


def test_conditions_over_columns() -> None:
    mixed, none = np.array([True, False]), np.zeros(2, dtype=bool)
    assert [some(mixed), every(mixed), some(none), every(~none)] == [True, False, False, True]
    assert [some(np.True_), every(False), some(0.0)] == [True, False, False]
