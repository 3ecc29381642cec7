"""The catalogue of accelerators."""

from __future__ import annotations

import csv
from io import StringIO
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from faces.names import CatalogueNameError
from gpus.models import COLUMNS, Gpu, Link, NodeShape
from gpus.seeding import SPECIFICATIONS
from gpus.seeding import seed as gpus_seed
from gpus.selectors import gpu_book, gpu_resolve
from roofline.hardware import HardwareError, presets

pytestmark = pytest.mark.django_db
HEADER = "slug,name,vendor,memory_gb,mem_bandwidth_gbs,bf16_dense_tflops"
OWN = {
    "slug": "own-1",
    "name": "Own 1",
    "vendor": "Own",
    "memory_gb": 80,
    "mem_bandwidth_gbs": 2000,
    "bf16_dense_tflops": 300,
}


def test_it_works() -> None:
    gpu = gpu_resolve("h100-sxm5-80gb")
    assert gpu.peak("bf16") == pytest.approx(989.4e12)
    assert gpu.bandwidth == 3350e9


def test_all_of_the_table_is_there_and_equal() -> None:
    with SPECIFICATIONS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert Gpu.objects.count() == len(rows) == 93
    assert set(rows[0]) == set(COLUMNS)
    book = gpu_book()
    assert book.values == presets()


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("H100-SXM", "h100-sxm5-80gb"),
        ("h100_sxm", "h100-sxm5-80gb"),
        ("  H100 SXM5  ", "h100-sxm5-80gb"),
        ("A100-80GB", "a100-sxm4-80gb"),
        ("MI300X", "mi300x"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("RTX 4090", "rtx-4090"),
        ("rtx4090", "rtx-4090"),
        ("H200", "h200-sxm-141gb"),
        ("GB200", "gb200-186gb"),
    ],
)
def test_other_names(name: str, slug: str) -> None:
    assert gpu_resolve(name).slug == slug


@pytest.mark.parametrize("name", ["h101", "H100-SXM6", "", "x" * 100_000, "\0", "'; drop table"])
def test_unknown_name_is_refused_with_near_ones(name: str) -> None:
    with pytest.raises(CatalogueNameError) as caught:
        gpu_resolve(name)
    assert list(caught.value.fields) == ["gpu"]
    assert caught.value.code == "unknown_gpu"
    if name.lower().startswith("h10"):
        assert "h100-sxm5-80gb" in str(caught.value)


def test_incomplete_specification_is_refused_when_used() -> None:
    incomplete = next(iter(gpu_book().incomplete))
    with pytest.raises(HardwareError):
        gpu_resolve(incomplete)


def test_change_is_seen_at_once() -> None:
    assert gpu_resolve("mi300x").bandwidth == 5300e9
    gpu = Gpu.objects.get(slug="mi300x")
    gpu.mem_bandwidth_gbs = 5000
    gpu.save()
    assert gpu_resolve("mi300x").bandwidth == 5000e9


def test_list_filters_sorts_and_searches(client: Client) -> None:
    rows = client.get("/gpus.json?vendor=AMD&sort=-memory_gb").json()["results"]
    assert {row["vendor"] for row in rows} == {"AMD"}
    memories = [row["memory_gb"] for row in rows]
    assert memories == sorted(memories, reverse=True)
    assert {row["slug"] for row in client.get("/gpus.json?q=gh200").json()["results"]} >= {"gh200-96gb", "gh200-144gb"}


def test_unknown_values_sort_last(client: Client) -> None:
    for sort in ("fp4_dense_tflops", "-fp4_dense_tflops"):
        values = [row["fp4_dense_tflops"] for row in client.get(f"/gpus.json?sort={sort}").json()["results"]]
        assert values[0] is not None
        assert values[-1] is None


@pytest.mark.parametrize("query", ["sort=bogus", "memory_min=x", "confidence=none"])
def test_wrong_filter_is_refused(client: Client, query: str) -> None:
    answer = client.get(f"/gpus.json?{query}")
    assert answer.status_code == 400
    assert answer.json()["error"]["fields"]


def test_list_costs_a_fixed_number_of_queries(client: Client, django_assert_max_num_queries: Any) -> None:
    client.get("/gpus/")
    with django_assert_max_num_queries(8):
        client.get("/gpus/")
    with django_assert_max_num_queries(5):
        client.get("/gpus.json")


def test_own_gpu_over_rest(api_signed: APIClient, user: Any) -> None:
    assert api_signed.post("/api/v1/gpus/", OWN).status_code == 201
    gpu = Gpu.objects.get(slug="own-1")
    assert gpu.owner == user
    assert gpu_resolve("own-1").peak("bf16") == 300e12
    answer = api_signed.patch("/api/v1/gpus/own-1/", {"tdp_w": 500})
    assert answer.status_code == 200
    assert [record.history_user for record in gpu.history.all()] == [user, user]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"memory_gb": None}, "memory_gb"),
        ({"memory_gb": -1}, "memory_gb"),
        ({"memory_gb": "nan"}, "memory_gb"),
        ({"boost_clock_mhz": "nan"}, "boost_clock_mhz"),
        ({"boost_clock_mhz": "inf"}, "boost_clock_mhz"),
        ({"bf16_dense_tflops": None}, "fp16_dense_tflops"),
        ({"slug": "h100-sxm5-80gb"}, "slug"),
        ({"release_date": "soon"}, "release_date"),
        ({"name": ""}, "name"),
    ],
)
def test_impossible_gpu_is_refused_at_its_field(api_signed: APIClient, change: dict, field: str) -> None:
    answer = api_signed.post("/api/v1/gpus/", {**OWN, **change})
    assert answer.status_code == 400
    assert field in answer.json()["error"]["fields"]
    assert not Gpu.objects.filter(slug="own-1").exists()


def test_form_adds_and_changes(signed_in: Client) -> None:
    answer = signed_in.post("/gpus/new/", {**OWN, "confidence": "low"})
    assert answer.headers["Location"] == "/gpus/own-1/"
    answer = signed_in.post("/gpus/own-1/edit/", {**OWN, "confidence": "low", "tdp_w": 450})
    assert answer.status_code == 302
    page = signed_in.get("/gpus/own-1/").content.decode()
    assert "tdp_w: – → 450" in page


def test_form_says_what_is_missing(signed_in: Client) -> None:
    answer = signed_in.post("/gpus/new/", {**OWN, "bf16_dense_tflops": "", "confidence": "low"})
    assert answer.status_code == 200
    assert "at least one compute peak" in answer.content.decode()


def test_changing_pages_need_a_sign_in(client: Client) -> None:
    for path in ("/gpus/new/", "/gpus/import/", "/gpus/mi300x/edit/"):
        assert client.get(path).headers["Location"].startswith("/sign-in/")


def test_export_can_be_imported_again_unchanged(signed_in: Client) -> None:
    text = signed_in.get("/gpus.csv").content.decode()
    answer = signed_in.post("/gpus/import/", {"text": text})
    assert [line.changes for line in answer.context["lines"] if line.action != "same"] == []


def test_import_shows_first_and_writes_then(signed_in: Client, user: Any) -> None:
    text = HEADER.replace(",", ";") + "\nown-2;Own 2;Own;96;3000;400\nmi300x;AMD;AMD;192;5400;\n"
    answer = signed_in.post("/gpus/import/", {"text": text})
    assert [line.action for line in answer.context["lines"]] == ["new", "change"]
    assert not Gpu.objects.filter(slug="own-2").exists()
    assert signed_in.post("/gpus/import/", {"text": text, "confirm": "1"}).status_code == 302
    assert Gpu.objects.get(slug="own-2").owner == user
    assert Gpu.objects.get(slug="mi300x").mem_bandwidth_gbs == 5400


def test_import_refuses_the_whole_file_for_one_wrong_line(signed_in: Client) -> None:
    text = HEADER + "\nown-2,Own 2,Own,96,3000,400\nown-3,Own 3,Own,lots,3000,400\n"
    answer = signed_in.post("/gpus/import/", {"text": text, "confirm": "1"})
    assert answer.status_code == 422
    assert not Gpu.objects.filter(slug__startswith="own-").exists()
    preview = signed_in.post("/gpus/import/", {"text": text})
    assert [(line.number, list(line.errors)) for line in preview.context["lines"] if line.errors] == [
        (3, ["memory_gb"])
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "slug",
        "<html><body>",
        "name,vendor\na,b",
        "slug,colour\nx,red",
        "slug,name\n" + "x,y\n" * 5001,
        'slug,name\n"x,y',
    ],
)
def test_import_refuses_what_is_no_table_of_gpus(signed_in: Client, text: str) -> None:
    answer = signed_in.post("/gpus/import/", {"text": text})
    assert answer.status_code == 422
    assert answer.context["form"].errors


def test_import_refuses_a_file_that_is_no_text(signed_in: Client) -> None:
    answer = signed_in.post("/gpus/import/", {"file": StringIOFile(b"\xff\xfe\x00\x01")})
    assert answer.status_code == 422


class StringIOFile(StringIO):
    """An uploaded file of some bytes."""

    name = "gpus.csv"

    def __init__(self, raw: bytes) -> None:
        super().__init__()
        self.raw = raw

    def read(self, *_: int) -> bytes:  # type: ignore[override]
        return self.raw


def test_no_spreadsheet_formula_in_exports(signed_in: Client) -> None:
    Gpu.objects.filter(slug="mi300x").update(notes="=HYPERLINK(1)")
    assert ",'=HYPERLINK(1)," in signed_in.get("/gpus.csv").content.decode()


def test_people_s_edits_outlive_new_shipped_facts(api_signed: APIClient) -> None:
    api_signed.patch("/api/v1/gpus/mi300x/", {"tdp_w": 800})
    Gpu.objects.filter(slug="mi250").update(tdp_w=1)
    gpus_seed()
    assert Gpu.objects.get(slug="mi300x").tdp_w == 800
    assert Gpu.objects.get(slug="mi250").tdp_w != 1


def test_nodes_and_links_follow_from_the_table() -> None:
    node = NodeShape.objects.get(gpu__slug="h100-sxm5-80gb")
    assert node.link
    assert (node.gpus, node.link.gbs_per_direction) == (8, 450.0)
    assert Link.objects.count() > 5
