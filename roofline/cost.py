"""Cost and energy of a prediction: dollars per hour, per run, per million tokens.

Arrays broadcast; unknown prices are nan and stay nan.
"""

from dataclasses import dataclass

from roofline.columns import Column
from roofline.selection import minimum, missing, pick
from roofline.units import HOUR, HOURS_PER_YEAR, KILO, MEGA


@dataclass(slots=True)
class Cost:
    """What running costs; every column in dollars but the last two."""

    usd_per_hour: Column
    usd_per_run: Column
    usd_per_million_output_tokens: Column
    usd_per_million_total_tokens: Column
    power_watts: Column  # of all GPUs while busy
    energy_kwh: Column  # of the run; of one hour where there is no run


def busy_power(tdp_watts: Column, idle_watts: Column, activity: Column) -> Column:
    """Watts of one GPU: idle draw plus the share of the rest that its busiest unit uses (arithmetic or memory),
    `activity` in 0 to 1."""
    return idle_watts + (tdp_watts - idle_watts) * minimum(activity, 1.0)


def cost(
    *,
    gpus: Column,
    usd_per_gpu_hour: Column,
    total_tokens_per_s: Column,
    output_tokens_per_s: Column,
    run_tokens: Column,
    watts_per_gpu: Column,
    productive: Column,
) -> Cost:
    """Cost of tokens and of a run of `run_tokens` (nan: no run). `productive` is utilization times goodput: it
    divides into both.

    $/M tokens = GPUs · $/GPU/h / (tokens/s · 3600) · 10^6 / productive.
    """
    per_hour = gpus * usd_per_gpu_hour
    per_token = per_hour / (HOUR * productive * MEGA**-1)
    hours = run_tokens / (total_tokens_per_s * HOUR * productive)
    watts = gpus * watts_per_gpu
    return Cost(
        usd_per_hour=per_hour,
        usd_per_run=per_hour * hours,
        usd_per_million_output_tokens=per_token / output_tokens_per_s,
        usd_per_million_total_tokens=per_token / total_tokens_per_s,
        power_watts=watts,
        energy_kwh=watts / KILO * pick(missing(hours), 1.0, hours),
    )


def ownership_per_hour(
    *,
    purchase_usd: Column,
    years: Column,
    interest: Column,
    maintenance: Column,
    watts_busy: Column,
    watts_idle: Column,
    utilization: Column,
    pue: Column,
    usd_per_kwh: Column,
    other_usd_per_hour: Column,
) -> Column:
    """Dollars per GPU and hour of bought hardware.

    capex · (1/years + interest/2 + maintenance) / 8760 + power · PUE · $/kWh + the rest; power is the idle draw plus
    the used share of the difference to the busy one.
    """
    capital = purchase_usd * (1.0 / years + interest / 2.0 + maintenance) / HOURS_PER_YEAR
    power = watts_idle + (watts_busy - watts_idle) * utilization
    return capital + power / KILO * pue * usd_per_kwh + other_usd_per_hour
