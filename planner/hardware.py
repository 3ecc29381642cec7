"""The roofs of the hardware that a prediction used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpus.selectors import gpu_resolve
from planner.charts import Roof
from roofline.hardware import Gpu

# Which peak an arithmetic format runs on.
PEAKS = {"mxfp8": "fp8", "nvfp4": "fp4", "mxfp4": "fp4"}


def gpu_of(scenario: Mapping[str, Any]) -> Gpu:
    """The accelerator of a scenario: from the catalogue, or as it was given."""
    spec = scenario.get("gpu_spec")
    return Gpu.from_spec(spec) if spec else gpu_resolve(scenario["gpu"])


def arithmetic_of(scenario: Mapping[str, Any]) -> str:
    """The number format of the matrix products."""
    if scenario["workload"] == "training":
        return str(scenario["training"]["precision"])
    return str(scenario["inference"].get("activations") or "bf16")


def roofs_of(result: Mapping[str, Any]) -> list[Roof]:
    """Dense peak of the products, and of BF16 beside it; memory; the fast link; the network."""
    scenario = result["scenario"]
    gpu, used = gpu_of(scenario), arithmetic_of(scenario)
    formats = dict.fromkeys((PEAKS.get(used, used), "bf16"))
    roofs = [Roof(f"{name.upper()} dense", gpu.peak(name), "compute") for name in formats if gpu.peak(name)]
    roofs.append(Roof("memory", gpu.bandwidth, "memory"))
    if (scenario.get("gpu_count") or 1) > 1:
        fast = gpu.link_bandwidth or gpu.pcie_bandwidth
        roofs.append(Roof("GPU link" if gpu.link_bandwidth else "PCIe", fast, "interconnect"))
    return roofs
