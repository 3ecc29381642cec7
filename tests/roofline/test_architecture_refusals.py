"""What is refused, and that nothing else ever comes out of the reader but a refusal."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.architecture import Architecture, InvalidConfig, UnsupportedArchitecture, configurations, parse
from roofline.architecture.families import FAMILIES

BASE: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "intermediate_size": 96,
    "vocab_size": 100,
}


def refusal(config: Any) -> UnsupportedArchitecture:
    with pytest.raises(UnsupportedArchitecture) as caught:
        parse(config)
    return caught.value


def test_it_works() -> None:
    fault = refusal({"model_type": "unknown"})
    assert fault.code == "unsupported_architecture"
    for name in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"):
        assert name in fault.message


@pytest.mark.parametrize(
    "name", ["hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"]
)
def test_a_missing_dimension_is_named(name: str) -> None:
    fault = refusal({key: value for key, value in BASE.items() if key != name})
    assert fault.fields == (name,)


@pytest.mark.parametrize("value", [-1, 0, 1.5, float("nan"), float("inf"), "64", True, 10**12, [64], {}])
def test_what_is_no_dimension(value: Any) -> None:
    assert isinstance(refusal({**BASE, "hidden_size": value}), InvalidConfig)


def test_whole_floats_are_numbers() -> None:
    assert parse({**BASE, "hidden_size": 64.0}) == parse(BASE)


@pytest.mark.parametrize(
    "change", [{"num_attention_heads": 7}, {"num_key_value_heads": 3}, {"layer_types": ["full_attention"]}]
)
def test_contradictions(change: dict[str, Any]) -> None:
    assert refusal({**BASE, **change}).code == "invalid_config"


@pytest.mark.parametrize("config", [[], "llama", None, 3])
def test_what_is_no_object(config: Any) -> None:
    assert refusal(config).code == "unsupported_architecture"


@pytest.mark.parametrize("kind", ["roberta", "t5", "mbart", "vit", "wav2vec2"])
def test_other_kinds_of_model(kind: str) -> None:
    assert kind in refusal({"model_type": kind, "hidden_size": 64}).message


def test_an_encoder_decoder_by_its_flag() -> None:
    assert "encoder-decoder" in refusal({**BASE, "model_type": "someones_own", "is_encoder_decoder": True}).message


def test_an_unknown_llama_is_read_with_a_warning() -> None:
    known, unknown = parse({**BASE, "tie_word_embeddings": False}), parse({**BASE, "model_type": "someones_own"})
    assert unknown.total_params == known.total_params
    assert "someones_own" in unknown.warnings[0]


@pytest.mark.parametrize(
    "change", [{"n_streams": 4}, {"post_norm_eps": 1e-6}, {"hidden_act": "relu2"}, {"router_sizes": [3, 4]}]
)
def test_an_unknown_architecture_with_keys_of_its_own_is_refused(change: dict[str, Any]) -> None:
    assert next(iter(change)) in refusal({**BASE, "model_type": "someones_own", **change}).message


SCALARS = st.none() | st.booleans() | st.integers(-5, 2**40) | st.floats() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.sampled_from(
    sorted(
        {key for config in configurations().values() for key in config}
        | {"text_config", "layer_types", "block_configs"}
    )
)


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(FAMILIES)), st.dictionaries(KEYS, VALUES, max_size=8))
def test_any_object_is_read_or_refused(kind: str, config: dict[str, Any]) -> None:
    for subject in (config, {**BASE, **config, "model_type": kind}, {"text_config": {**config, "model_type": kind}}):
        with suppress(UnsupportedArchitecture):
            assert isinstance(parse(subject), Architecture)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(configurations())), st.dictionaries(KEYS, VALUES, max_size=3))
def test_a_damaged_configuration_is_read_or_refused(name: str, changes: dict[str, Any]) -> None:
    config = configurations()[name]
    nested = {**config["text_config"], **changes} if "text_config" in config else {}
    for subject in ({**config, **changes}, {**config, "text_config": nested}):
        with suppress(UnsupportedArchitecture):
            model = parse(subject)
            assert model.total_params >= model.active_params >= 0
            assert model.columns().layers == model.layers


def test_more_active_experts_than_there_are() -> None:
    config = {
        "model_type": "qwen3_moe",
        "hidden_size": 2048,
        "num_hidden_layers": 48,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "intermediate_size": 6144,
        "moe_intermediate_size": 768,
        "num_experts": 128,
        "num_experts_per_tok": 200,
        "vocab_size": 151_936,
    }
    with pytest.raises(InvalidConfig, match="at most the number of experts"):
        parse(config)
    whole = parse({**config, "num_experts_per_tok": 128})
    assert whole.active_params == whole.total_params
