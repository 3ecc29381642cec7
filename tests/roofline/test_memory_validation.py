"""Validation of memory: what is read, what is left out and why, and how far off left-out rows are."""

from __future__ import annotations

import numpy as np
import pytest

from roofline.fitting import memory as fitting
from roofline.memory.constants import serving_constants, training_constants
from roofline.validation import serving_memory, training_memory
from roofline.validation.memory_table import INPUTS, catalogue_gpu, shipped_rows, start_of
from roofline.validation.model_labels import UnderSpecified
from roofline.validation.training_table import runs
from roofline.validation.training_table import shipped_rows as training_rows

ROW = {
    "model": "RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16",
    "config_id": "meta-llama/Meta-Llama-3.1-8B",
    "engine": "vLLM",
    "engine_version": "0.19.0",
    "dtype_or_quant": "gptq_marlin",
    "kv_cache_dtype": "auto",
    "gpu": "H100-80GB",
    "gpu_total_GiB": "79.19",
    "tp": "1",
    "pp": "1",
    "gpu_memory_utilization": "0.95",
    "max_model_len": "8192",
    "weights_GiB_per_gpu": "5.38",
    "kv_cache_GiB_per_gpu": "67.71",
    "kv_tokens": "554704",
}


def errors(quantity: str, *, current: bool = False, known: bool = False) -> np.ndarray:
    """Errors of left-out rows; `current`: of vLLM 0.19 and newer alone; `known`: of rows that guess nothing."""
    rows = shipped_rows()
    outcome = serving_memory.validate(rows)
    return np.array(
        [
            abs(r.predicted / r.measured - 1)
            for r in outcome.residuals
            if r.quantity == quantity
            and not (known and start_of(rows[int(r.id) - 1]).guessed)
            and (not current or rows[int(r.id) - 1]["engine_version"].startswith(("0.19.", "0.20.", "0.21.")))
        ]
    )


def test_weights_of_all_rows_whose_model_and_engine_are_known() -> None:
    off = errors("weights_bytes", known=True)
    assert len(off) > 40
    assert np.median(off) < 0.005
    assert np.percentile(off, 90) < 0.015


@pytest.mark.parametrize(("current", "median", "tail"), [(True, 0.015, 0.05), (False, 0.05, 0.2)])
def test_tokens_of_current_and_of_all_releases(current: bool, median: float, tail: float) -> None:
    off = errors("kv_cache_tokens", current=current)
    assert np.median(off) < median
    assert np.percentile(off, 90) < tail


def test_guessed_rows_have_a_wider_interval() -> None:
    named = ROW | {"model": "moonshotai/Kimi-VL-A3B-Instruct", "config_id": "", "dtype_or_quant": "bfloat16"}
    guessed, known = (serving_memory.validate([row]).residuals[0] for row in (named, ROW))
    assert guessed.high / guessed.low > 1.5 > known.high / known.low


def test_only_inputs_are_read() -> None:
    measured_only = {name: value for name, value in ROW.items() if name not in INPUTS}
    changed = ROW | dict.fromkeys(measured_only, "1")
    first, second = (serving_memory.validate([row]).residuals for row in (ROW, changed))
    assert [r.predicted for r in first] == [r.predicted for r in second]
    assert [r.measured for r in first] != [r.measured for r in second]


def test_a_row_is_predicted_closely_and_with_an_interval() -> None:
    outcome = serving_memory.validate([ROW])
    assert (outcome.rows, outcome.predicted, dict(outcome.skipped)) == (1, 1, {})
    for residual in outcome.residuals:
        assert residual.predicted == pytest.approx(residual.measured, rel=0.01)
        assert residual.low < residual.predicted < residual.high


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"model": "someone/unheard-of", "config_id": ""}, "architecture"),
        ({"gpu": "", "gpu_total_GiB": ""}, "GPU not stated"),
        ({"gpu": "RTX 5070 Ti 16GB + RTX 5090D 32GB"}, "several kinds"),
        ({"dtype_or_quant": "GGUF", "model": "x"}, "weight format"),
        ({"tp": ""}, "number of GPUs"),
        ({"kv_cache_dtype": "turbo3"}, "KV-cache format"),
        ({"config_json": "<html>"}, "configuration"),
    ],
)
def test_what_a_row_does_not_say(change: dict[str, str], reason: str) -> None:
    with pytest.raises(UnderSpecified, match=reason):
        start_of(ROW | change)
    assert sum(serving_memory.validate([ROW | change]).skipped.values()) == 1


def test_a_failed_start_is_an_out_of_memory_record() -> None:
    failed = ROW | {"weights_GiB_per_gpu": "", "kv_cache_GiB_per_gpu": "-1.05", "kv_tokens": "0"}
    assert serving_memory.validate([failed]).skipped == {"an out-of-memory record": 1}


def test_an_engine_that_is_not_modelled_is_taken_for_the_usual_one_and_fits_nothing() -> None:
    start = start_of(ROW | {"engine": "FreeToken"})
    assert (start.engine, start.guessed) == ("vllm", True)
    assert not start_of(ROW).guessed


def test_a_bare_size_gives_weights_and_no_cache() -> None:
    bare = ROW | {"model": "someone/unheard-of-8B", "config_id": "", "dtype_or_quant": "bfloat16"}
    found = {r.quantity: r for r in serving_memory.validate([bare | {"weights_GiB_per_gpu": "14.99"}]).residuals}
    assert set(found) == {"weights_bytes"}
    assert found["weights_bytes"].predicted == pytest.approx(found["weights_bytes"].measured, rel=0.05)
    assert found["weights_bytes"].high / found["weights_bytes"].low > 1.5
    assert serving_memory.validate([bare | {"weights_GiB_per_gpu": ""}]).skipped == {
        "size or architecture of the model not stated": 1
    }


def test_a_row_whose_parts_add_up_to_another_share_says_nothing_of_the_cache() -> None:
    parts = {"weights_GiB_per_gpu": "14.99", "activation_peak_GiB": "2", "non_torch_GiB": "0.5", "gpu_total_GiB": "80"}
    row = ROW | parts | {"gpu_memory_utilization": "0.9", "kv_cache_GiB_per_gpu": "54.51"}
    quantities = [
        {r.quantity for r in serving_memory.validate([one]).residuals}
        for one in (row, row | {"gpu_memory_utilization": "0.95"})
    ]
    assert quantities == [set(serving_memory.QUANTITIES), {"weights_bytes"}]


def test_labels_name_accelerators() -> None:
    for label, slug in (
        ("RTX 3090-24GB", "rtx-3090"),
        ("H100 NVL-94GB", "h100-nvl-94gb"),
        ("MI300X-192GB", "mi300x"),
        ("L40S-48GB x4 (g6e)", "l40s"),
        ("RTX 4080 SUPER", "rtx-4080-super"),
    ):
        found = catalogue_gpu({"gpu": label})
        assert found is not None
        assert found.slug == slug
    assert catalogue_gpu({"gpu": "24GB"}) is None


def test_shipped_constants_are_those_of_the_fit() -> None:
    fitted, _ = fitting.fit(shipped_rows())
    for shipped, again in zip(serving_constants(), fitted, strict=True):
        assert shipped == pytest.approx(again, rel=1e-3)
    assert all(value >= 0 for value in training_constants())


def test_peaks_of_fully_specified_training_runs() -> None:
    selected = training_memory.usable(runs(training_rows())[0])
    off = np.array([abs(r.predicted / r.measured - 1) for r in training_memory.residuals(selected)])
    assert len(off) > 50
    assert np.median(off) < 0.08
    assert np.percentile(off, 90) < 0.20


@pytest.mark.parametrize(
    ("row", "definition"),
    [
        ({"notes": "memory column in GB via nvidia-smi"}, training_memory.NVIDIA_SMI),
        ({"notes": "peak ALLOCATED, printed GB"}, training_memory.ALLOCATED),
        ({"notes": "peak_mem_reserved GiB"}, training_memory.RESERVED),
        ({"notes": "", "source": "pytorch/torchtitan docs"}, training_memory.RESERVED),
        ({"notes": "", "source": "SimuMax"}, training_memory.ALLOCATED),
        ({"notes": ""}, training_memory.NVIDIA_SMI),
    ],
)
def test_the_definition_of_a_peak(row: dict[str, str], definition: int) -> None:
    assert training_memory.definition_of(row) == definition


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, ""),
        ({"seq_len": ""}, "sequence length not stated"),
        ({"notes": "ASSUMED seq_len=2048"}, "sequence length not stated"),
        ({"recompute": ""}, "activation recomputation not stated"),
        ({"micro_batch_per_gpu": "", "global_batch_seqs": ""}, "batch not stated"),
        ({"notes": "loss in pieces; peak reserved"}, "optimizer or loss of another kind"),
    ],
)
def test_what_memory_depends_on(change: dict[str, str], reason: str) -> None:
    row = {"seq_len": "2048", "recompute": "full", "micro_batch_per_gpu": "1", "global_batch_seqs": "8"}
    assert training_memory.why_underspecified(row | change) == reason
