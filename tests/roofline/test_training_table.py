"""Rows of published runs become scenarios: what is stated, what follows, what is refused."""

import csv
import math

import pytest

from roofline.validation import training as validation
from roofline.validation.training_batch import batch_of, levers_of, network_of
from roofline.validation.training_table import (
    UnderSpecified,
    framework_of,
    measured_speed,
    precision_of,
    read_run,
    software_year,
)

ROW = {
    "id": "a",
    "source": "lab/tables@1234 section",
    "source_date": "2025-06-01",
    "model_name": "Llama-3.1-70B",
    "model_id": "meta-llama/Meta-Llama-3.1-70B",
    "arch_hint": "",
    "framework": "NeMo 25.04",
    "gpu": "H100-SXM-80GB",
    "gpu_slug": "h100-sxm5-80gb",
    "n_gpus": "64",
    "precision": "",
    "seq_len": "8192",
    "micro_batch_per_gpu": "1",
    "global_batch_seqs": "128",
    "tp": "4",
    "pp": "4",
    "cp": "2",
    "vpp": "5",
    "tokens_per_s_per_gpu": "1100",
    "notes": "",
}


def run(**changes):
    return read_run({**ROW, **changes})


def test_it_works():
    found = run()
    assert (found.tp, found.pp, found.cp, found.dp, found.virtual_pipeline) == (4, 4, 2, 2, 5)
    assert (found.framework, found.precision, found.source) == ("nemo", "bf16", "lab/tables")
    assert found.speed == 1100
    assert found.kind == "dense"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, 1100),
        ({"tokens_per_s_per_gpu": "", "tokens_per_s_total": "64000"}, 1000),
        ({"tokens_per_s_per_gpu": "", "step_time_s": "16.384"}, 1000),
        ({"tokens_per_s_per_gpu": "", "notes": "x; DERIVED tokens_per_s_per_gpu=987.5 (per chip)"}, 987.5),
    ],
)
def test_measured_speed_in_the_order_of_the_sources(changes, expected):
    assert measured_speed({**ROW, **changes}) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tokens_per_s_per_gpu": ""}, "no speed or memory"),
        ({"model_id": "", "model_name": "unheard of"}, "architecture of the model"),
        ({"gpu": "", "gpu_slug": ""}, "GPU not stated"),
        ({"n_gpus": ""}, "number of GPUs"),
        ({"seq_len": ""}, "sequence length"),
        ({"micro_batch_per_gpu": ""}, "micro-batch not stated with pipeline"),
        ({"notes": "footnoted in source"}, "footnoted"),
    ],
)
def test_rows_that_say_too_little_are_refused(changes, reason):
    with pytest.raises(UnderSpecified, match=reason):
        run(**changes)


def test_a_configuration_decides_over_the_names():
    config = '{"model_type":"llama","architectures":["LlamaForCausalLM"],"hidden_size":512,"num_hidden_layers":4,'
    config += '"num_attention_heads":8,"intermediate_size":2048,"vocab_size":1000,"max_position_embeddings":128}'
    assert run(config_json=config).architecture.hidden == 512


def test_a_hint_gives_dimensions():
    hint = "hidden=2560;layers=32;heads=20;ffn=10240;vocab=50368"
    assert run(model_id="", arch_hint=hint, params_b="2.65").architecture.hidden == 2560


def test_a_hint_cuts_layers_off_a_known_model():
    assert run(arch_hint="layers=4").architecture.layers == 4


def test_accumulation_and_assumptions_stand_in_the_notes():
    found = run(global_batch_seqs="", seq_len="", notes="micro_num=4; ASSUMED seq_len=2048 (default)")
    assert (found.global_batch, found.seq_len) == (8, 2048)


def test_fewer_sequences_than_replicas_split_sequences():
    found = run(tp="", pp="", cp="", vpp="", global_batch_seqs="8", micro_batch_per_gpu="", framework="x")
    assert (found.cp, found.dp) == (8, 8)


def test_words_of_labels():
    assert framework_of("HF Trainer + DeepSpeed ZeRO-3") == "deepspeed"
    assert framework_of("llm-foundry/Composer (PyTorch FSDP1)") == "llm_foundry"
    assert precision_of("nf4+bf16") == "bf16"
    assert software_year({"framework": "NeMo 25.04", "source_date": "2025-06-01"}) == pytest.approx(2025.29, abs=0.01)
    assert math.isnan(software_year({"framework": "NeMo", "source_date": ""}))


def test_rounds_without_a_stated_precision_run_in_8_bit_where_the_hardware_can():
    blank = {"precision": "", "source": "mlcommons/training_results_v4.0"}
    assert run(**blank).precision == "fp8"
    assert run(**blank, gpu_slug="a100-sxm4-80gb").precision == "bf16"
    assert run(precision="", source="someone/else").precision == "bf16"


def test_networks_of_free_text():
    assert network_of(run(interconnect="NVLink in node; Omni-Path 4x100Gb")) == pytest.approx(50e9 / 8)
    assert network_of(run(interconnect="1600 Gbps node-node RoCE")) == pytest.approx(200e9 / 8)
    assert network_of(run()) == pytest.approx(400e9 / 8)


def test_nodes_of_another_size():
    found = run(interconnect="4 GPUs per node, NVLink in node; InfiniBand between")
    assert (found.gpu.gpus_per_node, found.gpu.domain) == (4, 4)
    assert float(batch_of([found])[0].layout.gpus_per_node[0]) == 4
    assert run().gpu.gpus_per_node == 8


@pytest.mark.parametrize(("notes", "fits"), [("", False), ("optimizer states in bf16", True), ("loss in pieces", True)])
def test_runs_that_held_less_are_not_refused(notes, fits):
    rows = [
        {
            **ROW,
            "n_gpus": "8",
            "tp": "1",
            "pp": "1",
            "cp": "1",
            "vpp": "",
            "recompute": "full",
            "fsdp_zero": "3",
            "notes": notes,
        }
    ]
    (residual,) = validation.validate(rows).residuals
    assert (residual.predicted > 0) is fits


@pytest.mark.parametrize(("notes", "newer"), [("", 0), ("one node; FlashAttention-3", 1), ("FA3", 1), ("FA2", 0)])
def test_attention_kernels_of_the_notes(notes, newer):
    assert levers_of(run(framework="FSDP", notes=notes)).flash_attention_3 == newer


def test_recomputation_is_chosen_where_memory_asks_for_it():
    roomy, tight = (
        run(),
        run(gpu_slug="a100-sxm4-40gb", framework="litgpt", tp="1", pp="1", cp="1", vpp="", fsdp_zero="3"),
    )
    batch, _ = batch_of([roomy, tight])
    assert batch.training is not None
    assert batch.training.recompute.tolist() == [0, 2]


def test_a_table_is_validated(tmp_path):
    path = tmp_path / "runs.csv"
    rows = [
        ROW,
        {**ROW, "id": "b", "n_gpus": ""},
        {**ROW, "id": "c", "precision": "fp8", "tokens_per_s_per_gpu": "1480"},
    ]
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, ROW)
        writer.writeheader()
        writer.writerows(rows)
    outcome = validation.validate(path)
    assert (outcome.rows, outcome.predicted) == (3, 2)
    assert dict(outcome.skipped) == {"number of GPUs not stated": 1}
    for residual in outcome.residuals:
        assert residual.low < residual.predicted < residual.high
        assert residual.predicted == pytest.approx(residual.measured, rel=0.25)


def test_each_row_is_predicted_by_a_fit_that_did_not_see_it():
    from roofline.fitting.training import fold_of
    from roofline.training.coefficients import fitted

    fold = str(fold_of(run()))
    assert fitted(fold)["gemm/Hopper/bf16"] != fitted("")["gemm/Hopper/bf16"]
