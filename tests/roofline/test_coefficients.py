"""Coefficients: inheritance, bases, grids; their fit and its validation."""

import csv
import dataclasses
from importlib import resources

import numpy as np
import pytest

from roofline import coefficients
from roofline.coefficients import BASES, basis_grid, find, grid, lookup, spread, take
from roofline.fitting import operator_chain, operator_tables, ops
from roofline.fitting.operator_fit import fit
from roofline.fitting.operator_parameters import GEMM, fixed
from roofline.hardware import presets
from roofline.validation.ops import fastest, validate
from roofline.validation.report import report

GPUS = presets()
ENGINES = ("vllm", "sglang", "tensorrt_llm", "llama_cpp", "static_batching")
WORDS = (
    "bf16",
    "fp16",
    "fp8",
    "fp8_block",
    "int8",
    "int8_wo",
    "int4_wo",
    "mxfp4",
    "mxfp8",
    "nvfp4",
    "mxfp4_mxfp8",
    "fp32",
    "tf32",
)


@pytest.mark.parametrize("op", coefficients.KINDS)
def test_every_file_is_well_formed(op):
    table = coefficients.table(op)
    assert len(set(table.keys)) == len(table.keys)
    assert np.isfinite(table.values).all()
    assert (table.spread > 0).all()
    assert all(record["source"] for record in table.records)


@pytest.mark.parametrize("op", ["gemm", "moe"])
def test_every_gpu_engine_and_precision_finds_coefficients(op):
    rows = grid(op, list(GPUS.values()), ENGINES, WORDS)
    assert rows.shape == (len(GPUS), len(ENGINES), len(WORDS))


def test_shares_are_shares():
    for op in ("gemm", "moe", "attention_prefill", "attention_decode"):
        for name in ("eta_compute", "eta_memory"):
            values = coefficients.table(op).values[coefficients.KINDS[op]._fields.index(name)]
            assert (values > 0).all()
            assert (values <= 1).all()


@pytest.mark.parametrize(
    ("slug", "engine", "precision", "basis"),
    [
        ("h100-sxm5-80gb", "vllm", "bf16", "measured"),
        ("h100-sxm5-80gb", "llama_cpp", "bf16", "inherited-engine"),
        ("h100-sxm5-80gb", "vllm", "fp16", "inherited-engine"),
        ("h20-sxm-96gb", "vllm", "bf16", "inherited-family"),
        ("rtx-4090", "vllm", "bf16", "inherited-family"),
        ("v100-sxm2-32gb", "vllm", "bf16", "inherited-generation"),
        ("a10", "vllm", "bf16", "inherited-generation"),
        ("mi300x", "vllm", "bf16", "default"),
        ("m2-ultra", "llama_cpp", "bf16", "default"),
    ],
)
def test_inheritance(slug, engine, precision, basis):
    assert lookup("gemm", GPUS[slug], engine, precision)[1] == basis


def test_an_unmeasured_gpu_has_a_wider_interval():
    known = lookup("gemm", GPUS["h100-sxm5-80gb"], "vllm", "bf16")[2]
    assert lookup("gemm", GPUS["v100-sxm2-32gb"], "vllm", "bf16")[2] > known
    assert lookup("gemm", GPUS["mi300x"], "vllm", "bf16")[2] > known


def test_a_gpu_of_ones_own_inherits_by_architecture():
    own = dataclasses.replace(GPUS["h100-sxm5-80gb"], slug="", name="my Hopper")
    assert lookup("gemm", own, "vllm", "bf16")[1] == "inherited-family"


def test_memory_class_of_a_gpu_of_ones_own_follows_its_bandwidth():
    own = dataclasses.replace(GPUS["h100-sxm5-80gb"], slug="", bandwidth=0.9e12)
    assert coefficients.memory_class(own) == "ddr"


def test_grid_rows_give_the_same_as_lookup():
    gpus = [GPUS[slug] for slug in ("h100-sxm5-80gb", "a10", "mi300x")]
    rows, bases = (f("gemm", gpus, ENGINES, ("bf16", "fp8")) for f in (grid, basis_grid))
    gpu, engine, word = np.array([0, 1, 2, 0]), np.array([0, 1, 2, 3]), np.array([0, 1, 0, 1])
    columns = take("gemm", rows[gpu, engine, word])
    for i in range(4):
        coef, basis, wide = lookup("gemm", gpus[gpu[i]], ENGINES[engine[i]], ("bf16", "fp8")[word[i]])
        assert [column[i] for column in columns] == list(coef)
        assert BASES[bases[gpu[i], engine[i], word[i]]] == basis
        assert spread("gemm", rows[gpu[i], engine[i], word[i]]) == wide


def test_a_kernel_of_its_own_comes_before_the_engine():
    gpu = GPUS["h100-sxm5-80gb"]
    eager = find("custom_all_reduce", gpu, "vllm", "", kernel="eager")
    usual = find("custom_all_reduce", gpu, "vllm", "")
    assert take("custom_all_reduce", eager.row).launch > 2 * take("custom_all_reduce", usual.row).launch


def test_a_variant_that_no_table_has_is_priced_by_its_program():
    gpu = GPUS["h100-sxm5-80gb"]
    known = find("attention_decode", gpu, "vllm", "bf16/bf16", kernel="vllm_flash_attn_fa3::grouped|d128")
    other = find("attention_decode", gpu, "vllm", "bf16/bf16", kernel="vllm_flash_attn_fa3::grouped|d80")
    keys = coefficients.table("attention_decode").keys
    assert keys[known.row].kernel == "vllm_flash_attn_fa3::grouped|d128"
    assert keys[other.row].kernel == "vllm_flash_attn_fa3"


def test_a_kernel_on_a_gpu_without_timings_is_that_of_its_family():
    match = find(
        "attention_decode", GPUS["h20-sxm-96gb"], "vllm", "bf16/bf16", kernel="vllm_flash_attn_fa3::grouped|d128"
    )
    key = coefficients.table("attention_decode").keys[match.row]
    assert (key.level, key.where, key.kernel) == ("family", "Hopper/hbm", "vllm_flash_attn_fa3::grouped|d128")
    assert BASES[match.basis] == "inherited-family"


def test_tensorrt_llm_decodes_single_and_wide_heads_apart():
    table = operator_tables.shipped("attention_decode")
    group = table.inputs["heads"] / table.inputs["kv_heads"]
    own = (table.engine == "tensorrt_llm") & (np.char.find(table.kernel, "flashinfer") < 0)
    apart = np.char.find(table.kernel, "each_head") >= 0
    assert (apart == (own & ((group == 1) | (group > 32)))).all()


def test_unknown_classes_are_refused():
    with pytest.raises(KeyError):
        lookup("no_such_class", GPUS["a10"], "vllm", "bf16")


@pytest.fixture(scope="module")
def few():
    table = operator_tables.shipped("gemm")
    chosen = (table.slug == "h100-sxm5-80gb") & (table.engine == "vllm") & (table.precision == "bf16")
    return table.take(chosen).take(np.arange(0, 120))


def test_fit_is_reproducible_and_follows_the_data(few):
    one, two = (fit(few, dict(GEMM) | {"quant_passes": fixed(0.0)}, coefficients.KINDS["gemm"]) for _ in range(2))
    assert one == two
    error = np.abs(operator_tables.predicted(few, one) / few.measured - 1)
    assert np.median(error) < 0.12


def test_fit_finds_coefficients_that_made_the_data(few):
    truth = coefficients.KINDS["gemm"](0.7, 0.8, 0.1, 0.1, 5e-6, 2e-7, 0.3, 1e-8, 0.0, 0.9, 2e7, 1.3)
    made = dataclasses.replace(few, measured=operator_tables.predicted(few, truth))
    found = fit(made, dict(GEMM) | {"quant_passes": fixed(0.0)}, coefficients.KINDS["gemm"])
    assert found.eta_compute == pytest.approx(0.7, rel=0.02)
    assert found.launch == pytest.approx(5e-6, rel=0.05)


def test_a_pulled_fit_stays_near_its_start(few):
    start = coefficients.KINDS["gemm"](0.5, 0.5, 0.5, 0.1, 9e-6, 2e-7, 0.3, 1e-8, 0.0, 0.9, 2e7, 1.3)
    parameters = dict(GEMM) | {"quant_passes": fixed(0.0)}
    loose, tight = (fit(few, parameters, type(start), start=start, pull=pull) for pull in (0.03, 1000.0))
    assert tight.eta_compute == pytest.approx(start.eta_compute, rel=1e-3)
    assert abs(loose.eta_compute - start.eta_compute) > 0.05


def test_a_group_of_few_timings_takes_its_parents_coefficients(few):
    chain = operator_chain.Chain(few, dict(GEMM) | {"quant_passes": fixed(0.0)}, coefficients.KINDS["gemm"], 0.15)
    fits = chain.fits(np.arange(len(few.fold)) < operator_chain.LEAST - 1)
    assert not any(fits)
    assert chain.nearest(fits, len(fits) - 1, 0).eta_compute == GEMM["eta_compute"].start


def test_compilation_floors_are_artefacts():
    table = operator_tables.shipped("gemm")
    table = table.take(table.precision == "fp8_block")
    odd = ops.artefacts(table)
    assert set(table.engine[odd]) == {"vllm"}
    assert 0 < odd.sum() < len(odd) / 2


SAMPLE = "gpu,framework,version,gemm_dtype,m,n,k,kernel_source,latency_ms\n"


def write(path, lines):
    path.write_text(SAMPLE + "\n".join(lines) + "\n")
    return path


def test_validation_counts_the_fastest_of_a_shape(tmp_path):
    path = write(
        tmp_path / "own.csv",
        [
            "h100_sxm,vllm,1,bfloat16,4096,4096,4096,x,0.21",
            "h100_sxm,sglang,1,bfloat16,4096,4096,4096,x,0.19",
            "h100_sxm,vllm,1,fp8,4096,4096,4096,x,0.15",
            "unheard_of,vllm,1,bfloat16,4096,4096,4096,x,0.2",
            "h100_sxm,vllm,1,int3,4096,4096,4096,x,0.2",
            "h100_sxm,vllm,1,bfloat16,1,4096,4096,x,",
        ],
    )
    outcome = validate(path)
    assert outcome.rows == 6
    assert outcome.skipped == {"GPU not in the catalogue": 1, "precision not known": 1, "no latency": 1}
    assert [(r.id, r.engine) for r in outcome.residuals] == [("2", "sglang"), ("3", "vllm")]
    found = report("ops", outcome)["quantities"]["latency"]
    assert found["n"] == 2
    assert set(found["by"]) >= {"operator", "gpu", "precision"}


def test_validation_tells_tables_by_their_columns():
    for kind in operator_tables.SHIPPED:
        assert operator_tables.shipped(kind).kind == kind
    with pytest.raises(ValueError, match="no operator table"):
        operator_tables.table_kind(["model", "tpot_ms"])


def test_a_table_of_no_rows_is_no_error(tmp_path):
    assert validate(write(tmp_path / "empty.csv", [])).rows == 0


def test_rows_are_predicted_by_coefficients_of_their_fold(few):
    table = coefficients.table("gemm")
    keys = [table.keys[row] for row in table.index.values() if table.keys[row].where == "h100-sxm5-80gb"]
    assert {key.fold for key in keys} == {"all", "0", "1", "2", "3", "4"}
    assert len(fastest(few)) == len(few.measured)


@pytest.mark.parametrize(
    ("kind", "median", "p90"),
    [
        ("gemm", 9, 28),
        ("attention_prefill", 7, 23),
        ("attention_decode", 7, 25),
        ("moe", 14, 42),
        ("collective", 8, 25),
        ("custom_allreduce", 8, 27),
    ],
)
def test_held_out_errors_of_the_shipped_tables(kind, median, p90):
    path = resources.files("roofline").joinpath(f"data/measurements/ops/{kind}.csv")
    with path.open(encoding="utf-8") as lines:
        rows = [row for number, row in enumerate(csv.DictReader(lines)) if number % 4 == 0]
    found = report("ops", validate(rows))
    errors = found["quantities"]["latency"]
    assert errors["median_ape_pct"] < median
    assert errors["p90_ape_pct"] < p90
    assert 72 < found["interval_coverage_pct"]["80"] < 90
