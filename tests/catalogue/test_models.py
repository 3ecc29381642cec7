"""The catalogue of language models."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from rest_framework.test import APIClient

from faces.names import CatalogueNameError
from llms.models import LanguageModel
from llms.selectors import model_resolve
from roofline.errors import ScenarioError

pytestmark = pytest.mark.django_db
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 688,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "vocab_size": 1000,
    "tie_word_embeddings": False,
}


def test_it_works() -> None:
    model = model_resolve("llama-3.1-70b")
    assert model.name == "meta-llama/Meta-Llama-3.1-70B"
    assert model.total_params == 70_553_706_496


def test_all_shipped_models_are_there() -> None:
    assert LanguageModel.objects.count() == 179
    assert LanguageModel.objects.supported().count() >= 170


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("META-LLAMA/meta-llama-3.1-70b", "meta-llama/Meta-Llama-3.1-70B"),
        ("Meta-Llama-3.1-70B", "meta-llama/Meta-Llama-3.1-70B"),
        ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Meta-Llama-3.1-8B"),
        ("qwen2.5-7b", "Qwen/Qwen2.5-7B-Instruct"),
        ("Mixtral 8x7B", "mistralai/Mixtral-8x7B-v0.1"),
        ("GPT-OSS-120B", "openai/gpt-oss-120b"),
        ("deepseek-r1", "deepseek-ai/DeepSeek-R1"),
    ],
)
def test_other_names(name: str, full: str) -> None:
    assert model_resolve(name).name == full


def test_unknown_name_is_refused_with_near_ones() -> None:
    with pytest.raises(CatalogueNameError) as caught:
        model_resolve("lama-3.1-70b")
    assert "meta-llama/Meta-Llama-3.1-70B" in caught.value.nearest
    assert list(caught.value.fields) == ["model"]


def test_encoder_is_refused_by_name() -> None:
    with pytest.raises(ScenarioError, match="encoder") as caught:
        model_resolve("google/t5-v1_1-xxl")
    assert caught.value.code == "unsupported_architecture"


def test_pasted_config_is_sized(signed_in: Client, user: Any) -> None:
    answer = signed_in.post("/models/new/", {"name": "own/tiny", "text": json.dumps(CONFIG)})
    assert answer.headers["Location"] == "/models/own/tiny/"
    model = LanguageModel.objects.get(name="own/tiny")
    assert model.owner == user
    assert model.total_params == model_resolve("own/tiny").total_params > 0
    assert signed_in.get("/models/own/tiny/").status_code == 200


def test_uploaded_config_is_sized(signed_in: Client) -> None:
    file = SimpleUploadedFile("config.json", json.dumps(CONFIG).encode())
    assert signed_in.post("/models/new/", {"name": "own/tiny", "file": file}).status_code == 302


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<!doctype html><html>",
        "{",
        "[]",
        '"x"',
        "{}",
        '{"model_type": "t5"}',
        "[" * 100_000,
        '{"a": "' + "x" * 1_000_001 + '"}',
    ],
)
def test_what_is_no_config_is_refused(signed_in: Client, text: str) -> None:
    answer = signed_in.post("/models/new/", {"name": "own/bad", "text": text})
    assert answer.status_code == 200
    assert answer.context["form"].errors["text"]
    assert not LanguageModel.objects.filter(name="own/bad").exists()


def test_over_rest(api_signed: APIClient) -> None:
    answer = api_signed.post("/api/v1/models/", {"name": "own/tiny", "config": CONFIG})
    assert answer.status_code == 201
    assert answer.json()["total_params"] > 0
    assert api_signed.get("/api/v1/models/own/tiny/").json()["config"] == CONFIG
    changed = api_signed.patch("/api/v1/models/own/tiny/", {"config": {**CONFIG, "num_hidden_layers": 8}})
    assert changed.json()["total_params"] > answer.json()["total_params"]


@pytest.mark.parametrize("config", ["<html>", [], {}, {"model_type": "bert"}, None])
def test_rest_refuses_at_the_field(api_signed: APIClient, config: Any) -> None:
    answer = api_signed.post("/api/v1/models/", {"name": "own/bad", "config": config})
    assert answer.status_code == 400
    assert "config" in answer.json()["error"]["fields"]


@pytest.mark.parametrize("name", ["", "a/b/c", "a b", "x" * 121, "../etc"])
def test_rest_refuses_bad_names(api_signed: APIClient, name: str) -> None:
    answer = api_signed.post("/api/v1/models/", {"name": name, "config": CONFIG})
    assert answer.status_code == 400
    assert "name" in answer.json()["error"]["fields"]


def test_size_filter_and_twins(client: Client) -> None:
    rows = client.get("/models.json?params_min=400&sort=total_params").json()["results"]
    assert rows
    assert all(row["total_params"] >= 400e9 for row in rows)
    assert client.get("/models.csv?q=gpt2").content.startswith(b"name,family,total_params")
    assert client.get("/models/meta-llama/Meta-Llama-3.1-70B.json").json()["config"]["hidden_size"] == 8192


def test_bare_size_says_that_it_is_typical(client: Client) -> None:
    page = client.get("/models/size/?params_b=70").content.decode()
    assert "typical" in page
    assert client.get("/models/size/?params_b=10&active_params_b=20").context["form"].errors["active_params_b"]


def test_export_can_be_imported_again_unchanged(signed_in: Client) -> None:
    answer = signed_in.post("/models/import/", {"text": signed_in.get("/models.csv?q=llama").content.decode()})
    assert {line.action for line in answer.context["lines"]} == {"same"}
