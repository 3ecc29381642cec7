"""What a kilowatt-hour costs and what a data centre draws beyond its accelerators, where a scenario does not say."""

from dataclasses import dataclass


@dataclass(frozen=True)
class EnergyConstant:
    """A number with its source."""

    value: float
    unit: str
    source: str


PUE = EnergyConstant(1.3, "ratio", "usual for air-cooled colocation; an assumption that a user may overtype")
USD_PER_KWH = EnergyConstant(
    0.10, "USD/kWh", "between industrial rates of the United States and of Europe; an assumption"
)
