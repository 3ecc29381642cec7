"""The price of a scenario: typed, from a stored offer, from ownership, or the median current on-demand offer of
that GPU."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from costs.selectors import OfferBook
from roofline.cost import ownership_per_hour
from roofline.errors import ScenarioError
from roofline.hardware import Gpu
from roofline.question import Price
from roofline.scenario import Scenario

# key -> (default, lowest, highest, sentence). Defaults: docs/algorithms/cost.md names their sources.
TCO_FIELDS: dict[str, tuple[float | None, float, float, str]] = {
    "purchase_usd_per_gpu": (None, 0, 1e7, "Price of one GPU with its share of the server and the network, $."),
    "years": (5.0, 0.1, 30, "Years over which it is written off."),
    "interest": (0.08, 0, 1, "Cost of capital, a year."),
    "maintenance": (0.05, 0, 1, "Maintenance, share of the price a year."),
    "watts_per_gpu": (
        None,
        0,
        1e5,
        "Power of one GPU with its share of the server, busy, W. Left out: 1.8 x the board power.",
    ),
    "pue": (1.25, 1, 5, "Power usage effectiveness of the building."),
    "usd_per_kwh": (0.083, 0, 100, "Price of electricity."),
    "other_usd_per_gpu_hour": (0.0, 0, 1e5, "Space, staff, network and everything else."),
}
SERVER_POWER = 1.8  # all-in power of a server over the power of its GPUs' boards
IDLE_SHARE = 0.3  # of a server's busy power


def price_of(scenario: Scenario, gpu: Gpu, offers: OfferBook, *, today: date) -> Price | None:
    """Price of one GPU and hour, or None where none is known. Notes the chosen offer in the scenario; raises
    ScenarioError."""
    typed = scenario.get("price.usd_per_gpu_hour")
    if typed is not None:
        return Price(typed, {"kind": "given", "usd_per_gpu_hour": typed})
    ownership = scenario.get("price.tco")
    if ownership is not None:
        return _owned(ownership, gpu, scenario.get("utilization"))
    offer = scenario.get("price.offer")
    if offer is not None:
        return offers.price(offer)
    median = offers.median_on_demand(gpu.slug, today)
    if median is not None:
        scenario.choose("price.offer", median.source["offer"])
    return median


def _owned(ownership: Mapping[str, Any], gpu: Gpu, utilization: float) -> Price:
    values = tco_values(ownership, gpu)
    watts = values["watts_per_gpu"]
    hourly = ownership_per_hour(
        purchase_usd=values["purchase_usd_per_gpu"],
        years=values["years"],
        interest=values["interest"],
        maintenance=values["maintenance"],
        watts_busy=watts,
        watts_idle=watts * IDLE_SHARE,
        utilization=utilization,
        pue=values["pue"],
        usd_per_kwh=values["usd_per_kwh"],
        other_usd_per_hour=values["other_usd_per_gpu_hour"],
    )
    return Price(float(hourly), {"kind": "ownership", "usd_per_gpu_hour": float(hourly), "inputs": values})


def tco_values(ownership: Mapping[str, Any], gpu: Gpu) -> dict[str, float]:
    """Complete ownership inputs. Raises ScenarioError naming each bad key."""
    faults: dict[str, list[str]] = {}
    for key in ownership.keys() - TCO_FIELDS.keys():
        faults[f"price.tco.{key}"[:200]] = [f"Unknown field. Allowed here: {', '.join(TCO_FIELDS)}."]
    values = {}
    for key, (default, low, high, _) in TCO_FIELDS.items():
        value = ownership.get(key)
        if value is None:
            value = SERVER_POWER * gpu.tdp_watts if key == "watts_per_gpu" else default
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            faults[f"price.tco.{key}"] = [f"Must be a number from {low:g} to {high:g}."]
        else:
            values[key] = float(value)
    if faults:
        raise ScenarioError(faults)
    return values
