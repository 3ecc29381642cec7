"""What a scenario may say, and what it is refused for."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.errors import ScenarioError
from roofline.fields import FIELDS
from roofline.scenario import parse

SERVING = {"workload": "inference", "model": "m", "gpu": "g"}
TRAINING = {"workload": "training", "model": "m", "gpu": "g"}


def faults(raw: object) -> dict[str, list[str]]:
    with pytest.raises(ScenarioError) as caught:
        parse(raw)
    return caught.value.fields


def test_it_works() -> None:
    scenario = parse({**SERVING, "gpu_count": 8, "inference": {"concurrency": 32}})
    assert scenario.get("inference.concurrency") == 32
    assert scenario.origins["inference.concurrency"] == "given"
    assert scenario.origins["inference.input_tokens"] == "default"


def test_echo_is_complete_and_can_be_asked_again() -> None:
    scenario = parse({**TRAINING, "training": {"seq_len": 2048}})
    echoed = scenario.to_json()
    assert echoed["training"]["seq_len"] == 2048
    assert echoed["training"]["optimizer"] == "adamw"
    assert "inference" not in echoed
    assert parse(echoed).values == scenario.values


def test_null_is_the_same_as_left_out() -> None:
    assert parse({**SERVING, "model_size": None, "inference": {"slo": None, "concurrency": None}}) == parse(SERVING)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"model": None}, "model"),
        ({"gpu": None}, "gpu"),
        ({"workload": None}, "workload"),
        ({"workload": "dancing"}, "workload"),
        ({"model_config": {}}, "model_config"),
        ({"gpu_spec": {}}, "gpu_spec"),
        ({"colour": 1}, "colour"),
        ({"parallelism": 3}, "parallelism"),
        ({"parallelism": {"tp": 0}}, "parallelism.tp"),
        ({"parallelism": {"tp": 1.5}}, "parallelism.tp"),
        ({"parallelism": {"tp": True}}, "parallelism.tp"),
        ({"parallelism": {"tp": "8"}}, "parallelism.tp"),
        ({"parallelism": {"tp": 3}, "gpu_count": 8}, "parallelism.tp"),
        ({"parallelism": {"tp": 2, "pp": 2, "cp": 1, "dp": 1}, "gpu_count": 8}, "parallelism"),
        ({"parallelism": {"ep": 3}, "gpu_count": 8}, "parallelism.ep"),
        ({"gpu_count": -1}, "gpu_count"),
        ({"gpu_count": 10**400}, "gpu_count"),
        ({"inference": {"concurrency": math.nan}}, "inference.concurrency"),
        ({"inference": {"concurrency": math.inf}}, "inference.concurrency"),
        ({"inference": {"concurrency": "most"}}, "inference.concurrency"),
        ({"inference": {"concurrency": 4, "request_rate_per_s": 1}}, "inference.request_rate_per_s"),
        ({"inference": {"max_model_len": 100}}, "inference.max_model_len"),
        ({"inference": {"speculative": {"draft_tokens": 4}}}, "inference.speculative.acceptance"),
        ({"inference": {"disaggregated": {"prefill": {"gpus": 4}}}}, "inference.disaggregated.decode.gpus"),
        ({"training": {"seq_len": 1}}, "training.seq_len"),
        ({"optimizations": ["warp_drive"]}, "optimizations"),
        ({"optimizations": "cuda_graphs"}, "optimizations"),
        ({"price": {"usd_per_gpu_hour": 1, "offer": "x"}}, "price.offer"),
        ({"utilization": 0}, "utilization"),
        ({"name": "x" * 1000}, "name"),
    ],
)
def test_refusal_names_the_field(change: dict, path: str) -> None:
    assert path in faults({**SERVING, **change})


def test_micro_batch_over_batch() -> None:
    assert "training.micro_batch" in faults({**TRAINING, "training": {"micro_batch": 8, "global_batch": 4}})


def test_batch_must_divide_over_ranks() -> None:
    raw = {**TRAINING, "gpu_count": 8, "parallelism": {"dp": 8}, "training": {"global_batch": 12}}
    assert "training.global_batch" in faults(raw)


def test_unknown_field_names_the_nearest() -> None:
    assert faults({**SERVING, "inference": {"imput_tokens": 1}})["inference.imput_tokens"] == [
        "Unknown field. Did you mean input_tokens?"
    ]


def test_all_faults_are_told_at_once() -> None:
    assert faults({"workload": "inference", "gpu_count": 0, "colour": 1}).keys() == {
        "model",
        "gpu",
        "gpu_count",
        "colour",
    }


@pytest.mark.parametrize("raw", [None, [], "text", 3, True])
def test_what_is_no_object(raw: object) -> None:
    assert faults(raw) == {"": ["A scenario is a JSON object."]}


def test_every_field_has_help_and_bounds() -> None:
    for field in FIELDS:
        assert field.help.endswith(".")
        if field.kind in ("integer", "number", "count"):
            assert field.maximum is not None
            assert field.minimum is not None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([f.key for f in FIELDS]) | st.text(max_size=8), inner, max_size=5)
    ),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(JSON)
def test_any_json_is_read_or_refused(raw: object) -> None:
    try:
        parse(raw)
    except ScenarioError as error:
        assert error.fields
