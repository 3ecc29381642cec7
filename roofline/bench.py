"""How fast the engine is: `python -m roofline.bench` times a million scenarios and one, on one core.

Half are training and half serving, over all shipped models that can be sized and all GPUs, with layouts given, seeded
and no two alike. Each gets its memory, its time and its cost. Timings are printed, never asserted.
"""

import json
import resource
import sys
import time
from dataclasses import fields

import numpy as np
from numpy.typing import NDArray

from roofline import architecture, codes, hardware
from roofline.columns import Batch, Gpu, Layout, Levers, Model, Serving, Training
from roofline.evaluate import CHUNK, Business, evaluate, rows

SEED = 20_260
Array = NDArray[np.float64]


class Tables:
    """Models and GPUs as columns, read once."""

    def __init__(self) -> None:
        models = [model.columns() for model in architecture.presets().values()]
        self.models = Model.stack(models)
        self.gpus = tuple(hardware.presets().values())
        self.hardware = hardware.gpu_columns(self.gpus)


def _powers(rng: np.random.Generator, count: int, most: int) -> Array:
    return np.asarray(2.0 ** rng.integers(0, most + 1, count), dtype=np.float64)


def _layout(rng: np.random.Generator, count: int, gpu: Gpu, *, training: bool) -> Layout:
    tp, pp, dp = _powers(rng, count, 3), _powers(rng, count, 2), _powers(rng, count, 6 if training else 2)
    one, zero = np.float64(1.0), np.float64(0.0)
    stage = np.where(dp > 1, 1.0, 0.0) if training else zero
    return Layout(tp * pp * dp, tp, pp, one, one, dp, tp, stage, one, one, zero, gpu.gpus_per_node, gpu.nic_bandwidth)


def _levers() -> Levers:
    return Levers(**{f.name: np.float64(f.name not in ("flash_attention_3", "torch_compile")) for f in fields(Levers)})


def _training(rng: np.random.Generator, count: int, layout: Layout) -> Training:
    micro = _powers(rng, count, 2)
    return Training(
        method=np.int64(0),
        framework=np.int64(0),
        framework_year=np.float64(np.nan),
        precision=np.int64(codes.TRAINING_PRECISIONS.index("bf16")),
        gradient_dtype=np.int64(0),
        seq_len=rng.integers(8, 65, count) * 128.0,
        global_batch=layout.dp * micro * rng.integers(1, 65, count),
        micro_batch=micro,
        recompute=rng.integers(0, 3, count),
        optimizer=np.int64(0),
        total_tokens=rng.uniform(1e9, 1e13, count),
        lora_rank=np.float64(16.0),
        lora_targets=np.int64(1),
        padding_fraction=np.float64(0.0),
        data_loader_bytes_per_s=np.float64(np.inf),
    )


def _serving(rng: np.random.Generator, count: int) -> Serving:
    plain = {f.name: np.float64(0.0) for f in fields(Serving)}
    chosen = {
        "engine": np.int64(0),
        "engine_year": np.float64(np.nan),
        "backend": np.int64(0),
        "input_tokens": rng.integers(16, 8192, count) * 1.0,
        "output_tokens": rng.integers(16, 2048, count) * 1.0,
        "concurrency": rng.integers(1, 513, count) * 1.0,
        "request_rate": np.float64(np.nan),
        "weights": rng.choice([codes.WEIGHT_FORMATS.index(name) for name in ("bf16", "fp8", "int4_g128")], count),
        "activations": np.int64(0),
        "kv_cache": np.int64(0),
        "max_model_len": np.float64(16_384.0),
        "gpu_memory_utilization": rng.uniform(0.8, 0.95, count),
        "max_num_batched_tokens": np.float64(8192.0),
        "max_num_seqs": np.float64(256.0),
        "weight_bytes_override": np.float64(np.nan),
    }
    return Serving(**plain | chosen)


def batch(tables: Tables, rng: np.random.Generator, count: int, *, training: bool) -> Batch:
    """`count` random scenarios of one workload."""
    models = tables.models.take(rng.integers(0, np.size(tables.models.hidden), count))
    gpu = tables.hardware.take(rng.integers(0, len(tables.gpus), count))
    layout = _layout(rng, count, gpu, training=training)
    setup = _training(rng, count, layout) if training else None
    return Batch(models, gpu, layout, _levers(), setup, None if training else _serving(rng, count))


def million(tables: Tables, count: int = 1_000_000) -> float:
    """CPU seconds to evaluate `count` scenarios chunk by chunk, without the time to draw them."""
    rng, spent = np.random.default_rng(SEED), 0.0
    for start in range(0, count, CHUNK):
        size = min(CHUNK, count - start)
        drawn = batch(tables, rng, size, training=(start // CHUNK) % 2 == 0)
        business = Business(rng.uniform(0.5, 10.0, size), np.ones(size))
        began = time.process_time()
        evaluate(drawn, tables.gpus, business)
        spent += time.process_time() - began
    return spent


def single(tables: Tables, *, training: bool, times: int = 200) -> float:
    """CPU seconds for one scenario of shape (), the median of `times`."""
    rng, spent = np.random.default_rng(SEED), []
    one = rows(batch(tables, rng, 1, training=training), 0)
    for _ in range(times):
        began = time.process_time()
        evaluate(one, tables.gpus, Business(2.0, 1.0))
        spent.append(time.process_time() - began)
    return float(np.median(spent))


def measure() -> dict[str, float]:
    """All timings."""
    tables = Tables()
    million(tables, CHUNK * 2)  # warm caches and imports
    seconds = million(tables)
    return {
        "scenarios": 1_000_000,
        "models": int(np.size(tables.models.hidden)),
        "gpus": len(tables.gpus),
        "seconds": round(seconds, 3),
        "scenarios_per_s": round(1_000_000 / seconds),
        "single_training_ms": round(single(tables, training=True) * 1e3, 3),
        "single_serving_ms": round(single(tables, training=False) * 1e3, 3),
        "peak_memory_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9, 3),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(), indent=2) + "\n")
