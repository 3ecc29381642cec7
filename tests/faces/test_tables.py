"""CSV in and out."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from hypothesis import given
from hypothesis import strategies as st

from faces.tables import read_table


def test_it_works() -> None:
    assert read_table("a,b\n1,2\n") == [(2, {"a": "1", "b": "2"})]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_and_byte_order_mark(delimiter: str) -> None:
    assert read_table(f"\ufeffa{delimiter}b\r\n1{delimiter}2\r\n") == [(2, {"a": "1", "b": "2"})]


def test_blank_lines_do_not_count_but_are_counted() -> None:
    assert read_table("a,b\n\n1,2\n,\n3,4\n") == [(3, {"a": "1", "b": "2"}), (5, {"a": "3", "b": "4"})]


def test_quoted_cells_may_hold_lines() -> None:
    assert read_table('a,b\n"x\ny",2\n') == [(3, {"a": "x\ny", "b": "2"})]


@pytest.mark.parametrize("text", ["", "a,b", "a,b\n", "<html>\n<p>", "a\0b\n1", 'a,b\n"x,y'])
def test_what_is_no_table(text: str) -> None:
    with pytest.raises(ValidationError):
        read_table(text)


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert read_table(text)
    except ValidationError as error:
        assert error.messages
