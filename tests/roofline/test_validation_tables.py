"""Tables as people send them: what their form does not change, what is refused, and what labels mean."""

from __future__ import annotations

import csv
import io
import json
from itertools import chain
from pathlib import Path
from random import Random

import pytest
from django.core.management import CommandError, call_command

from roofline import architecture
from roofline.validation import KINDS, tables, validate
from roofline.validation.gpu_labels import gpu_labelled
from roofline.validation.model_labels import UnderSpecified, named, sized
from roofline.validation.report import report

MEASUREMENTS = Path(tables.__file__).parents[1] / "data" / "measurements"
FILES = {kind: MEASUREMENTS / tables.SHIPPED[kind][0] for kind in KINDS}


def sample(kind: str, count: int = 40) -> list[dict[str, str]]:
    with FILES[kind].open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return Random(3).sample(rows, count)


def text(
    rows: list[dict[str, str]], columns: list[str], *, delimiter: str = ",", header: list[str] | None = None
) -> str:
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter)
    writer.writerow(header or columns)
    writer.writerows([row.get(name, "") for name in columns] for row in rows)
    return out.getvalue()


def shuffled(rows: list[dict[str, str]]) -> str:
    columns = list(rows[0])
    Random(1).shuffle(columns)
    return text(rows, columns)


def grouped(rows: list[dict[str, str]]) -> str:
    def cell(value: str) -> str:
        return f"{float(value):,.2f}" if value.replace(".", "", 1).isdigit() and float(value) >= 1000 else value

    plain = ("id", "source", "source_date", "notes", "engine_version", "version")
    changed = [{name: value if name in plain else cell(value) for name, value in row.items()} for row in rows]
    return text(changed, list(rows[0]))


FORMS = {
    "shuffled": shuffled,
    "byte order mark": lambda rows: "\ufeff" + text(rows, list(rows[0])),
    "semicolons": lambda rows: text(rows, list(rows[0]), delimiter=";"),
    "tabs": lambda rows: text(rows, list(rows[0]), delimiter="\t"),
    "upper case": lambda rows: text(rows, list(rows[0]), header=[name.upper() for name in rows[0]]),
    "blanks": lambda rows: text(
        [{k: f" {v} " for k, v in row.items()} for row in rows], list(rows[0]), header=[f" {name} " for name in rows[0]]
    ),
    "blank lines": lambda rows: text([*chain.from_iterable((row, {}) for row in rows)], list(rows[0])),
    "more columns": lambda rows: text([{**row, "mood": "good"} for row in rows], [*rows[0], "mood"]),
    "thousands separators": grouped,
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_form_of_a_table_changes_nothing(kind: str, tmp_path: Path) -> None:
    rows = sample(kind)
    path = tmp_path / "table.csv"

    def answer(form: str) -> dict[str, object]:
        path.write_text(form, encoding="utf-8")
        return report(kind, validate(path, kind))

    plain = answer(text(rows, list(rows[0])))
    assert plain["predicted"]
    for name, form in FORMS.items():
        assert answer(form(rows)) == plain, name


def test_numbers_may_be_absent_in_many_words(tmp_path: Path) -> None:
    rows = sample("inference")
    path = tmp_path / "table.csv"
    words = ("nan", "N/A", "-", "null", "?", "")
    path.write_text(text(rows, list(rows[0])), encoding="utf-8")
    plain = report("inference", validate(path, "inference"))
    absent = [
        {name: value or words[(i + j) % len(words)] for j, (name, value) in enumerate(row.items())}
        for i, row in enumerate(rows)
    ]
    path.write_text(text(absent, list(rows[0])), encoding="utf-8")
    assert report("inference", validate(path, "inference")) == plain


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_another_kind_is_refused_by_what_it_lacks(kind: str, tmp_path: Path) -> None:
    rows = sample(kind, 5)
    path = tmp_path / "table.csv"
    path.write_text(text(rows, list(rows[0]), header=[f"column {i}" for i in range(len(rows[0]))]), encoding="utf-8")
    with pytest.raises(CommandError, match="lacks"):
        call_command("validate", str(path), kind=kind)
    other = {"training": "ops", "inference": "training", "serving_memory": "training", "ops": "inference"}[kind]
    with pytest.raises(CommandError, match="lacks"):
        call_command("validate", str(FILES[other]), kind=kind)
    path.write_bytes(b"")
    with pytest.raises(CommandError, match="empty"):
        call_command("validate", str(path), kind=kind)


def test_a_table_of_which_nothing_is_predicted_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "table.csv"
    path.write_text("model_name,gpu,n_gpus,isl,osl,tpot_ms\nsomething,unheard-of,1,10,10,1\n")
    with pytest.raises(CommandError, match="GPU not in the catalogue"):
        call_command("validate", str(path), kind="inference")
    assert json.loads(capsys.readouterr().out)["skipped"] == {"GPU not in the catalogue": 1}


def test_what_is_damaged_is_said(tmp_path: Path) -> None:
    head = "model_name,gpu,n_gpus,isl,osl,tpot_ms\n"
    for damaged, said in (
        (head.encode() + b"\xff,1\n", "UTF-8"),
        ((head + "a,b,1,1,024,1,1\n").encode(), "more cells"),
        ((head.replace("osl", "gpu") + "a,b,1,1,1,1\n").encode(), "twice"),
    ):
        path = tmp_path / "table.csv"
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=said):
            tables.read(path, "inference")


def test_long_configurations_are_read(tmp_path: Path) -> None:
    config = {"model_type": "llama", "hidden_size": 4096, "padding": "x" * 200_000}
    rows = [
        {"model_name": "m", "config_json": json.dumps(config), "gpu": "H100", "n_gpus": "1", "isl": "9", "tpot_ms": "1"}
    ]
    path = tmp_path / "table.csv"
    path.write_text(text(rows, list(rows[0])), encoding="utf-8")
    assert json.loads(tables.read(path, "inference")[0]["config_json"]) == config


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("META-LLAMA/META-LLAMA-3.1-70B-INSTRUCT", "meta-llama/Meta-Llama-3.1-70B"),
        ("RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic", "meta-llama/Meta-Llama-3.1-8B"),
        ("NousResearch/Hermes-3-Llama-3.1-8B", "meta-llama/Meta-Llama-3.1-8B"),
        ("llama3.1:8b", "meta-llama/Meta-Llama-3.1-8B"),
        ("Qwen/Qwen3-32B-AWQ", "Qwen/Qwen3-32B"),
        ("nvidia/Qwen3-235B-A22B-NVFP4", "Qwen/Qwen3-235B-A22B"),
        ("Qwen3-235B", "Qwen/Qwen3-235B-A22B"),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8", "Qwen/Qwen3-30B-A3B"),
        ("qwen2.5-7b-instruct-q4_k_m.gguf", "Qwen/Qwen2.5-7B-Instruct"),
        ("nvidia/DeepSeek-R1-0528-NVFP4-v2", "deepseek-ai/DeepSeek-R1"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "meta-llama/Llama-3.3-70B-Instruct"),
        ("deepseek-ai/DeepSeek-Coder-V2-Lite-Instruct", "deepseek-ai/DeepSeek-V2-Lite"),
        ("unsloth/gemma-3-27b-it-bnb-4bit", "google/gemma-3-27b-it"),
        ("Llama-4-Scout", "meta-llama/Llama-4-Scout-17B-16E-Instruct"),
        ("moonshotai/Kimi-K2-Thinking", "moonshotai/Kimi-K2-Instruct"),
        ("Qwen/Qwen3-0.6B", None),
        ("nvidia/Llama-3_3-Nemotron-Super-49B-v1", None),
        ("microsoft/phi-4-mini-instruct", None),
        ("gpt2-xl", None),
        ("llama-3", None),
        ("", None),
    ],
)
def test_labels_of_models(label: str, name: str | None) -> None:
    found = architecture.labelled(label)
    assert (found.name if found else None) == name


def test_every_catalogue_id_means_a_model_of_its_own_dimensions() -> None:
    for name, model in architecture.presets().items():
        found = architecture.labelled(name)
        assert found is not None, name
        assert found.total_params == model.total_params, name


def test_public_models_and_bare_sizes() -> None:
    moonlight = named("training", "moonshotai/Moonlight-16B-A3B-Instruct")
    assert moonlight is not None
    assert moonlight.total_params == pytest.approx(15.96e9, rel=1e-3)
    assert moonlight.summary()["kv_bytes_per_token"] == 27 * (512 + 64) * 2
    small = named("serving_memory", "Qwen/Qwen3-0.6B-FP8")
    assert small is not None
    assert small.total_params == 596_049_920
    assert sized({"model_name": "Some-MoE-80B-A3B"}).active_params == pytest.approx(3e9, rel=0.02)
    assert sized({"model_name": "x", "params_b": "13"}).total_params == pytest.approx(13e9, rel=0.02)
    with pytest.raises(UnderSpecified, match="size or architecture"):
        sized({"model_name": "AFM-server"})


@pytest.mark.parametrize(
    ("label", "slug"),
    [
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
        ("8xH100", "h100-sxm5-80gb"),
        ("H100 PCIe", "h100-pcie-80gb"),
        ("H100NVL", "h100-nvl-94gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("A100 40GB", "a100-sxm4-40gb"),
        ("Tesla V100-SXM2-32GB", "v100-sxm2-32gb"),
        ("GeForce RTX 4090", "rtx-4090"),
        ("RTX4090", "rtx-4090"),
        ("rtx 3090 ti", "rtx-3090-ti"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000-server"),
        ("AMD Instinct MI300X", "mi300x"),
        ("GB200 NVL72", "gb200-186gb"),
        ("Intel Gaudi 2", "gaudi2"),
        ("Apple M2 Ultra", "m2-ultra"),
        ("RTX 4090 Laptop", None),
        ("RTX 5070 Ti 16GB + RTX 5090D 32GB", None),
        ("Ascend 910B", None),
        ("24GB", None),
    ],
)
def test_labels_of_gpus(label: str, slug: str | None) -> None:
    found = gpu_labelled(label)
    assert (found.slug if found else None) == slug


def test_memory_decides_between_variants_of_one_chip() -> None:
    for memory, slug in ((40.0, "a100-sxm4-40gb"), (80.0, "a100-sxm4-80gb")):
        found = gpu_labelled("A100", memory)
        assert found is not None
        assert found.slug == slug


ODD = ("", "0", "-1", "1e9", "1e-9", "abc", "inf", "nan", "1.5", "99999", "é", "{}", "80GB")


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_an_odd_cell_spoils_no_table(kind: str, tmp_path: Path) -> None:
    rows = sample(kind, len(ODD))
    columns = [*rows[0], *({"config_json"} - rows[0].keys())]
    path = tmp_path / "table.csv"
    for column in columns:
        odd = [{**row, column: cell} for row, cell in zip(rows, ODD, strict=True)]
        path.write_text(text(odd, columns), encoding="utf-8")
        outcome = validate(path, kind)
        json.dumps(report(kind, outcome), allow_nan=False)
        assert outcome.predicted + sum(outcome.skipped.values()) == outcome.rows == len(ODD), column
        assert all(0 < r.measured < 1e30 and 0 <= r.predicted < 1e30 for r in outcome.residuals), column


POINT = {
    "gpu": "NVIDIA H100 80GB HBM3",
    "engine": "some new engine 1.0",
    "n_gpus": "8",
    "tp": "8",
    "isl": "1000",
    "osl": "100",
    "concurrency_or_batch": "8",
    "tpot_ms": "20",
    "scenario": "fixed concurrency",
}


@pytest.mark.parametrize(
    ("given", "weights"),
    [
        ({"model_id": "meta-llama/meta-llama-3.1-70b-instruct"}, "bf16"),
        ({"model_name": "RedHatAI/Meta-Llama-3.1-70B-Instruct-FP8"}, "fp8"),
        ({"model_id": "nvidia/Llama-3.1-70B-Instruct-FP8"}, "fp8"),
        ({"model_name": "Qwen/Qwen2.5-72B-Instruct-AWQ"}, "int4_g128"),
        ({"model_name": "nvidia/Qwen3-235B-A22B-NVFP4"}, "nvfp4"),
        ({"model_id": "deepseek-ai/DeepSeek-R1"}, "fp8_block"),
        ({"model_id": "deepseek-ai/DeepSeek-R1", "precision_weights": "fp4"}, "nvfp4"),
        ({"config_json": json.dumps(architecture.configurations()["Qwen/Qwen3-32B-FP8"])}, "fp8_block"),
        ({"model_name": "Somebody/New-Model-34B-Chat"}, "bf16"),
        ({"params_b": "13"}, "bf16"),
    ],
)
def test_points_as_people_write_them_are_predicted(given: dict[str, str], weights: str, tmp_path: Path) -> None:
    row = {**POINT, **given}
    path = tmp_path / "table.csv"
    path.write_text(text([row], list(row)), encoding="utf-8")
    outcome = validate(path, "inference")
    assert outcome.predicted == 1
    assert {residual.precision for residual in outcome.residuals} == {weights}
