"""What efficiencies of training are keyed by."""

from roofline.hardware import Gpu


def family(gpu: Gpu) -> str:
    """The architecture; TPU generations differ too much to share one."""
    return gpu.slug if gpu.architecture.startswith("TPU") else gpu.architecture
