"""Counts of the shipped models against the table of exact counts."""

import csv
import json
import time
from pathlib import Path
from typing import Any

import pytest

import roofline
from roofline.architecture import UnsupportedArchitecture, parse

DATA = Path(roofline.__file__).parent / "data" / "models"
CLASS_COUNTS = Path(__file__).parent / "data" / "class_counts.jsonl"
COLUMNS = {
    "text_params": "total_params",
    "active_params_per_token": "active_params",
    "input_embedding_params": "embedding_params",
    "lm_head_params": "lm_head_params",
    "kv_bytes_per_token_bf16": "kv_bytes_per_token",
    "kv_swa_bytes_per_token_inside_window": "kv_window_bytes_per_token",
    "kv_swa_window": "window",
    "matmul_flops_per_token_fwd": "flops_per_token_forward",
    "vision_params": "vision_params",
}
# Their vision tower was counted with a configuration that the files do not hold.
WITHOUT_VISION = ("meta-llama/Llama-4-Maverick-17B-128E-Instruct", "meta-llama/Llama-4-Scout-17B-16E-Instruct")
SLOWEST_S = 0.02  # a mean of half a millisecond, with room for a busy machine
UNVERIFIED = ("input_embedding_params", "lm_head_params")


def table() -> list[dict[str, str]]:
    with (DATA / "truth.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def config(row: dict[str, str]) -> dict[str, object]:
    return json.loads((DATA / row["file"]).read_text(encoding="utf-8"))


DECODERS = [row for row in table() if not row["note"].startswith("encoder")]
ENCODERS = [row for row in table() if row["note"].startswith("encoder")]


def test_it_works() -> None:
    row = next(row for row in DECODERS if row["id"] == "meta-llama/Llama-2-7b-hf")
    assert parse(config(row)).total_params == 32 * (4 * 4096**2 + 3 * 4096 * 11008 + 2 * 4096) + 2 * 32000 * 4096 + 4096


@pytest.mark.parametrize("row", DECODERS, ids=lambda row: row["id"])
def test_counts_equal_the_table(row: dict[str, str]) -> None:
    block = parse(config(row)).summary()
    for column, key in COLUMNS.items():
        unverified = row["verified"] == "no" and column in UNVERIFIED
        unseen = column == "vision_params" and row["id"] in WITHOUT_VISION
        if row[column] and not unverified and not unseen:
            assert (block[key] or 0) == int(row[column]), f"{row['id']}: {key}"


@pytest.mark.parametrize("row", ENCODERS, ids=lambda row: row["id"])
def test_encoders_are_refused_by_name(row: dict[str, str]) -> None:
    with pytest.raises(UnsupportedArchitecture, match=row["model_type"]) as refusal:
        parse(config(row))
    assert refusal.value.code == "unsupported_architecture"


@pytest.mark.parametrize("row", DECODERS, ids=lambda row: row["id"])
def test_parts_and_columns_add_up(row: dict[str, str]) -> None:
    model = parse(config(row))
    columns = model.columns()
    parts = (
        "attention",
        "mlp",
        "expert",
        "shared_expert",
        "router",
        "recurrent",
        "norm",
        "other",
        "lookup",
        "embedding",
    )
    assert sum(model.parts().values()) == model.total_params
    assert sum(getattr(columns, f"{part}_params") for part in parts) + columns.lm_head_params == model.total_params
    assert sorted(index for group in model.groups for index in group.indices) == list(range(model.layers))
    assert hash(model) == hash(parse(config(row)))


def counted() -> list[dict[str, object]]:
    return [json.loads(line) for line in CLASS_COUNTS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", counted(), ids=lambda case: case["config"]["text_config"]["model_type"])
def test_class_defaults_stand_in_for_what_is_left_out(case: dict[str, Any]) -> None:
    """Totals counted on the transformers classes, shortened to a few layers, most keys left out."""
    assert parse(case["config"]).total_params == case["total_params"]


def test_parsing_is_fast() -> None:
    configs = [config(row) for row in DECODERS[:20]]
    parse(configs[0])
    start = time.perf_counter()
    for each in configs:
        parse(each)
    assert (time.perf_counter() - start) / len(configs) < SLOWEST_S
