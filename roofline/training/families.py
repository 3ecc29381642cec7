"""What efficiencies of training are keyed by."""

from roofline.hardware import Gpu

CURRENT_YEAR = 2025.5  # software date where none is stated


def family(gpu: Gpu) -> str:
    """The architecture; TPU generations differ too much to share one."""
    return gpu.slug if gpu.architecture.startswith("TPU") else gpu.architecture
