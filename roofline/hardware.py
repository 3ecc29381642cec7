"""Accelerators: a row of gpus.csv (or a user's own numbers) as an engine value."""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from roofline import columns
from roofline.units import GIB, GIGA, MEGA, TERA

# Where a driver's own figure is not known: the share of the marketed size that CUDA reports, median of the
# catalogue's known ones.
USABLE_SHARE = 0.99
# Idle draw as a share of the board power where it is not stated (H100 SXM idles near 70 of 700 W).
IDLE_SHARE = 0.1
DEFAULT_PCIE = 32 * GIGA  # 4.0 x16, one direction
DEFAULT_NIC = 12.5 * GIGA  # 100 Gb/s

# FLOP/B of the family where a datasheet states no peak at all (Apple: M2 Ultra, 27.2 TFLOP/s over 800 GB/s).
RIDGE_BY_ARCHITECTURE = {"Apple Silicon GPU": 34.0}

PEAK_COLUMNS = {
    "fp32": "fp32_tflops",
    "tf32": "tf32_dense_tflops",
    "fp16": "fp16_dense_tflops",
    "bf16": "bf16_dense_tflops",
    "fp8": "fp8_dense_tflops",
    "int8": "int8_dense_tops",
    "fp4": "fp4_dense_tflops",
    "int4": "int4_dense_tops",
}
NO_BF16 = {"Pascal", "Volta", "Turing"}  # bf16 runs as fp32 there
REQUIRED = ("memory_gb", "mem_bandwidth_gbs")


class HardwareError(ValueError):
    """A specification that is no accelerator: `fields` maps a column to what is wrong with it."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        self.fields = fields
        super().__init__("; ".join(f"{key}: {' '.join(value)}" for key, value in fields.items()))


@dataclass(frozen=True)
class Gpu:
    """One accelerator, SI units; peaks are dense FLOP/s, links one direction in bytes/s."""

    slug: str
    name: str
    vendor: str
    architecture: str
    form_factor: str
    memory_bytes: float
    memory_estimated: bool
    bandwidth: float
    peaks: tuple[tuple[str, float], ...]
    link_bandwidth: float
    pcie_bandwidth: float
    nic_bandwidth: float
    domain: int
    gpus_per_node: int
    sms: float
    l2_bytes: float
    tdp_watts: float
    sparsity: float = 1.0
    confidence: str = ""
    source: str = ""

    def peak(self, dtype: str) -> float:
        """Dense FLOP/s of `dtype`; 0 where the hardware has none."""
        return dict(self.peaks).get(dtype, 0.0)

    def columns(self) -> columns.Gpu:
        """The scalar columns of this GPU (code 0)."""
        return columns.Gpu(
            code=0,
            memory_bytes=self.memory_bytes,
            bandwidth=self.bandwidth,
            **{f"peak_{dtype}": self.peak(dtype) for dtype in PEAK_COLUMNS},
            link_bandwidth=self.link_bandwidth,
            pcie_bandwidth=self.pcie_bandwidth,
            nic_bandwidth=self.nic_bandwidth,
            domain=self.domain,
            gpus_per_node=self.gpus_per_node,
            sms=self.sms,
            l2_bytes=self.l2_bytes,
            tdp_watts=self.tdp_watts or math.nan,
            idle_watts=self.tdp_watts * IDLE_SHARE or math.nan,
        )

    @classmethod
    def from_spec(cls, spec: Mapping[str, object], *, slug: str = "") -> "Gpu":
        """A GPU from the columns of gpus.csv (text or numbers; blank is unknown).

        Raises HardwareError naming each bad column.
        """
        numbers = _numbers(spec)
        peaks = {dtype: numbers[column] * TERA for dtype, column in PEAK_COLUMNS.items()}
        estimated_ridge = RIDGE_BY_ARCHITECTURE.get(str(spec.get("architecture")), 0.0)
        if not any(peaks.values()) and estimated_ridge:
            peaks["fp16"] = estimated_ridge * numbers["mem_bandwidth_gbs"] * GIGA
        if not any(peaks.values()):
            raise HardwareError({"fp16_dense_tflops": ["at least one compute peak is needed"]})
        # A type that a datasheet leaves out runs at the rate of the next wider one that the hardware has.
        peaks["fp16"] = peaks["fp16"] or peaks["bf16"] or peaks["fp32"]
        peaks["bf16"] = peaks["bf16"] or (peaks["fp32"] if str(spec.get("architecture")) in NO_BF16 else peaks["fp16"])
        peaks["fp32"] = peaks["fp32"] or peaks["fp16"] / 2
        usable = numbers["usable_memory_gib"]
        link, node = numbers["interconnect_bw_gbs_bidir_total"], int(numbers["gpus_per_node_typical"] or 8)
        return cls(
            slug=str(spec.get("slug") or slug),
            name=str(spec.get("name") or slug or "own GPU"),
            vendor=str(spec.get("vendor") or ""),
            architecture=str(spec.get("architecture") or ""),
            form_factor=str(spec.get("form_factor") or ""),
            memory_bytes=(usable or USABLE_SHARE * numbers["memory_gb"]) * GIB,
            memory_estimated=not usable,
            bandwidth=numbers["mem_bandwidth_gbs"] * GIGA,
            peaks=tuple(peaks.items()),
            link_bandwidth=link * GIGA / 2,
            pcie_bandwidth=numbers["pcie_bw_gbs_bidir"] * GIGA / 2 or DEFAULT_PCIE,
            nic_bandwidth=numbers["internode_nic_gbps_per_gpu_typical"] * GIGA / 8 or DEFAULT_NIC,
            # A link whose reach is not stated joins the GPUs of a machine.
            domain=int(numbers["scale_up_domain_size"] or (node if link else 1)),
            gpus_per_node=node,
            sms=numbers["sm_or_cu_count"] or 100.0,
            l2_bytes=numbers["l2_cache_mb"] * MEGA,
            tdp_watts=numbers["tdp_w"],
            sparsity=numbers["sparsity_multiplier"] or 1.0,
            confidence=str(spec.get("confidence") or ""),
            source=str(spec.get("source_1") or ""),
        )


NUMERIC = (
    *REQUIRED,
    *PEAK_COLUMNS.values(),
    "sparsity_multiplier",
    "interconnect_bw_gbs_bidir_total",
    "pcie_bw_gbs_bidir",
    "tdp_w",
    "gpus_per_node_typical",
    "scale_up_domain_size",
    "internode_nic_gbps_per_gpu_typical",
    "l2_cache_mb",
    "sm_or_cu_count",
    "usable_memory_gib",
)
LARGEST = 1e9  # in the column's own unit: nothing real is near it


def _numbers(spec: Mapping[str, object]) -> dict[str, float]:
    numbers, wrong = {}, {}
    for column in NUMERIC:
        value = spec.get(column)
        try:
            number = float(value) if value not in (None, "") else 0.0  # type: ignore[arg-type]
        except (TypeError, ValueError):
            number = math.nan
        if isinstance(value, bool) or not 0 <= number <= LARGEST:
            wrong[column] = [f"must be a number from 0 to {LARGEST:g}"]
        elif column in REQUIRED and not number:
            wrong[column] = ["is needed and must be more than 0"]
        numbers[column] = number
    if wrong:
        raise HardwareError(wrong)
    return numbers


@cache
def spec_columns() -> tuple[str, ...]:
    """The columns that a specification may have: those of data/gpus.csv."""
    with resources.files("roofline").joinpath("data/gpus.csv").open(encoding="utf-8") as lines:
        return tuple(next(csv.reader(lines)))


def gpu_columns(gpus: Sequence[Gpu]) -> columns.Gpu:
    """Columns of shape (len(gpus),); `code` is the position."""
    stacked = columns.Gpu.stack([gpu.columns() for gpu in gpus])
    stacked.code = np.arange(len(gpus))
    return stacked


@cache
def presets() -> dict[str, Gpu]:
    """The shipped accelerators by slug, from data/gpus.csv."""
    with resources.files("roofline").joinpath("data/gpus.csv").open(encoding="utf-8") as lines:
        return {row["slug"]: Gpu.from_spec(row) for row in csv.DictReader(lines) if row["mem_bandwidth_gbs"]}
