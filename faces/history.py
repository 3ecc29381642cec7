"""What changed in a row, when, and by whom."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any

MOST_SHOWN = 50


@dataclass(frozen=True)
class Change:
    """One edit."""

    at: datetime
    user: str
    reason: str
    fields: list[tuple[str, Any, Any]]


def changes(row: Any) -> Iterator[Change]:
    """The latest edits of a row with a history, the newest first."""
    records = list(row.history.select_related("history_user")[: MOST_SHOWN + 1])
    for record, before in zip_longest(records[:MOST_SHOWN], records[1:]):
        fields = [] if before is None else [(c.field, c.old, c.new) for c in record.diff_against(before).changes]
        yield Change(record.history_date, str(record.history_user or ""), record.history_change_reason or "", fields)
