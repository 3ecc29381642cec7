"""Names that people type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faces.names import CatalogueNameError, NameBook, plain

BOOK = NameBook.of(
    "model",
    "model",
    ["meta/Llama-3", "copy/Llama-3", "qwen/Qwen-7B", "solo"],
    {"the llama": "meta/Llama-3", "q7": "qwen/Qwen-7B"},
)


def test_it_works() -> None:
    assert BOOK.resolve("META/llama_3") == "meta/Llama-3"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("qwen-7b", "qwen/Qwen-7B"),
        ("The  Llama", "meta/Llama-3"),
        ("Q7", "qwen/Qwen-7B"),
        ("SOLO", "solo"),
        ("qwen7b", "qwen/Qwen-7B"),
    ],
)
def test_last_part_alias_and_run_together(name: str, found: str) -> None:
    assert BOOK.resolve(name) == found


def test_ambiguous_name_says_which() -> None:
    with pytest.raises(CatalogueNameError, match="may be any of copy/Llama-3, meta/Llama-3") as caught:
        BOOK.resolve("llama-3")
    assert caught.value.code == "ambiguous_model"


def test_alias_decides_over_a_last_part() -> None:
    book = NameBook.of("model", "model", ["a/x", "b/x"], {"x": "b/x"})
    assert book.resolve("x") == "b/x"


@given(st.text(max_size=60))
def test_any_text_is_found_or_refused(name: str) -> None:
    try:
        assert BOOK.resolve(name) in BOOK.ids.values()
    except CatalogueNameError as error:
        assert set(error.nearest) <= set(BOOK.ids.values())


@given(st.text(max_size=60))
def test_plain_is_stable(name: str) -> None:
    assert plain(plain(name)) == plain(name)
