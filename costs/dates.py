"""Dates as sources state them: a day, a month or a year."""

import re
from datetime import date

STATED = re.compile(r"^(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?$")


def first_day(stated: str) -> date:
    """The first day of the day, month or year that is stated. Raises ValueError for anything else."""
    match = STATED.match(stated.strip())
    if not match:
        raise ValueError("A date is a day, a month or a year: 2026-07-20, 2026-07, 2026.")
    year, month, day = (int(part or 1) for part in match.groups())
    return date(year, month, day)


def past_day(stated: str, today: date) -> date:
    """The first day of what is stated. Raises ValueError for what is no date, and for one that is still to come."""
    first = first_day(stated)
    if first > today:
        raise ValueError("This date is still to come.")
    return first
