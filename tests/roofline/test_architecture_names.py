"""Finding shipped models by name, typical models for a size, models out of a hint."""

import csv
from pathlib import Path

import pytest

import roofline
from roofline.architecture import (
    InvalidConfig,
    UnknownModel,
    UnsupportedArchitecture,
    from_hint,
    presets,
    resolve,
    typical,
)

TRAINING = Path(roofline.__file__).parent / "data" / "measurements" / "training.csv"


def test_it_works() -> None:
    assert resolve("meta-llama/meta-llama-3.1-70b").name == "meta-llama/Meta-Llama-3.1-70B"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llama-3.1-70b", "meta-llama/Meta-Llama-3.1-70B"),
        ("DeepSeek-R1", "deepseek-ai/DeepSeek-R1"),
        ("qwen3-32b", "Qwen/Qwen3-32B"),
        (" GPT-OSS-120B ", "openai/gpt-oss-120b"),
        ("mixtral-8x7b", "mistralai/Mixtral-8x7B-v0.1"),
    ],
)
def test_names_and_aliases(name: str, expected: str) -> None:
    assert resolve(name).name == expected


def test_an_unknown_name_carries_the_nearest() -> None:
    with pytest.raises(UnknownModel) as caught:
        resolve("lama-3.1-70b")
    assert "meta-llama/Meta-Llama-3.1-70B" in caught.value.nearest


def test_presets_leave_encoders_out() -> None:
    assert "openai/whisper-tiny" not in presets()
    assert len(presets()) > 165
    with pytest.raises(KeyError):
        presets()["openai/whisper-tiny"]


@pytest.mark.parametrize(
    ("total", "active"),
    [
        (0.35, None),
        (1, None),
        (7, None),
        (13, None),
        (70, None),
        (405, None),
        (2000, None),
        (30, 3),
        (46.7, 12.9),
        (175, 20),
        (671, 37),
        (1000, 32),
    ],
)
def test_typical_models_hit_the_size(total: float, active: float | None) -> None:
    model = typical(total, active)
    assert model.total_params / 1e9 == pytest.approx(total, rel=0.01)
    assert model.active_params / 1e9 == pytest.approx(active or total, rel=0.01)
    assert "typical dimensions" in model.warnings[0]
    assert model.is_moe == (active is not None)


def test_typical_heads_divide_among_ranks() -> None:
    columns = typical(70).columns()
    assert columns.heads % 8 == columns.kv_heads % 8 == 0


@pytest.mark.parametrize(("total", "active"), [(0, None), (-7, None), (float("nan"), None), (7, 8), (1e9, None)])
def test_sizes_that_no_model_has(total: float, active: float | None) -> None:
    with pytest.raises(InvalidConfig):
        typical(total, active)


def hints() -> list[tuple[str, float]]:
    with TRAINING.open(encoding="utf-8", newline="") as file:
        rows = {(row["arch_hint"], row["params_b"]) for row in csv.DictReader(file) if "hidden=" in row["arch_hint"]}
    return sorted((hint, float(size)) for hint, size in rows if size)


@pytest.mark.parametrize(("hint", "size"), hints())
def test_hints_of_the_training_table(hint: str, size: float) -> None:
    """Published sizes are rounded to a billion, or leave the embeddings out."""
    assert from_hint(hint, size).total_params / 1e9 == pytest.approx(size, rel=0.06)


def test_a_hint_without_a_size() -> None:
    gpt = from_hint("hidden=4096;layers=32;heads=32;ffn=16384;vocab=50368").columns()
    llama = from_hint("hidden=4096;layers=32;heads=32;kv_heads=8;ffn=14336;vocab=128256").columns()
    assert (gpt.mlp_matrices, llama.mlp_matrices) == (2, 3)
    assert llama.total_params == 8_030_261_248


@pytest.mark.parametrize("hint", ["layers=16", "experts=128", "hidden=14400;vocab=250880", "hidden=big;layers=2"])
def test_hints_that_say_too_little(hint: str) -> None:
    with pytest.raises(UnsupportedArchitecture):
        from_hint(hint)
