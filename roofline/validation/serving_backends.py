"""How a measured serving point was run, beside its engine: llama.cpp's back end, or the benchmark around another engine."""

import re
from collections.abc import Mapping

from roofline.engines import usual_backend
from roofline.hardware import Gpu

BACKEND = re.compile(r"(vulkan_amdvlk|vulkan|rocwmma|hip|rocm|metal|cuda|sycl)")
ROCM = ("rocm", "hip", "rocwmma")
UNTUNED = re.compile(r"hipblaslt=(?!1)")  # ROCm's older matrix library in its place
# Formats that PyTorch unpacks to memory before each product, or whose activations it quantises step by step.
EMULATED = re.compile(r"^(?:autoquant-)?(?:uintx|int8dq)")


def backend_of(label: str, notes: str, gpu: Gpu) -> str:
    """The back end of llama.cpp (codes.BACKENDS), from an engine's label and the flags in the notes; else the usual one of the GPU.

    >>> from roofline.hardware import presets
    >>> strix = presets()["ryzen-ai-max-395"]
    >>> backend_of("llama.cpp-hip", "flags -fa 1 hipblaslt=", strix), backend_of("llama.cpp Vulkan (vulkan_radv)", "", strix)
    ('rocblas', 'vulkan')
    """
    return _as_code(_stated(label) or usual_backend(gpu.vendor), notes)


def stated_backend(label: str, notes: str) -> str:
    """The back end of llama.cpp (codes.BACKENDS) that an engine's label says; "" where it says none.

    >>> stated_backend("llama.cpp-rocwmma", "flags -fa 1 hipblaslt=1"), stated_backend("llama.cpp", "")
    ('rocm', '')
    """
    return _as_code(_stated(label), notes)


def _stated(label: str) -> str:
    found = BACKEND.findall(label.lower())
    return str(found[-1]) if found else ""


def _as_code(name: str, notes: str) -> str:
    if name in ROCM:
        return "rocblas" if UNTUNED.search(notes) else "rocm"
    return name


def variant(row: Mapping[str, str], engine: str, gpu: Gpu) -> str:
    """The back end of llama.cpp; of other engines the benchmark or way of running that shows in the figures, "" where there is none."""
    notes = row.get("notes", "")
    if engine == "llama_cpp":
        return backend_of(row.get("engine", ""), notes, gpu)
    if "gap-analysis" in notes:
        return "sweep"
    if "MLPerf" in notes:
        return "mlperf"
    if EMULATED.search(row.get("quant_method", "")):
        return "emulated"
    if any(word in row.get("scenario", "") for word in ("request rate", "server")):
        return "open"
    return "static" if "static batch" in notes else ""
