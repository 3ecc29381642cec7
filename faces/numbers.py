"""Numbers as catalogue pages write them: as stored, thousands separated."""


def exact(value: float) -> str:
    """As many digits as the value has: 989.4, 2,250."""
    return f"{value:,.10g}"


def billions(value: float) -> str:
    """A count in billions, three digits: 70.6 B."""
    return f"{value / 1e9:,.3g} B"


def usd(value: float) -> str:
    """Dollars with cents: $2.50."""
    return f"${value:,.2f}"
