"""Stamps of tables: one short query says whether what a process has read before still stands in the database.

A stamp is asked of the database each time, so that it is right in every process; a copy that was read under the same
stamp need not be read again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from django.db import connection, models


class Watched(NamedTuple):
    """A table and its column that a change moves forward: when a row was last saved, or the newest key."""

    table: type[models.Model]
    column: str

    def sql(self) -> str:
        """Number of rows and newest value, as two columns of a query."""
        field = self.table._meta.get_field(self.column)
        assert isinstance(field, models.Field)
        names = (self.table._meta.db_table, str(field.column))
        table, column = (connection.ops.quote_name(name) for name in names)
        return f"(SELECT COUNT(*) FROM {table}), (SELECT MAX({column}) FROM {table})"  # noqa: S608 (names of the schema)


def stamps(*catalogues: Sequence[Watched]) -> list[str]:
    """The stamp of each catalogue, which is some watched tables; all of them in one query."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(watched.sql() for tables in catalogues for watched in tables)}")
        found = iter(cursor.fetchone())
    return ["-".join(_word(next(found)) for _ in range(2 * len(tables))) for tables in catalogues]


def _word(value: object) -> str:
    return "".join(filter(str.isalnum, str(0 if value is None else value)))
