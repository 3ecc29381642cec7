"""Stored size of a checkpoint whose configuration says which modules are quantised and which stay at 16 bit."""

import math
from functools import lru_cache

from roofline.architecture import Architecture, checkpoint_bytes


@lru_cache(maxsize=512)
def stored_bytes(architecture: Architecture, weights: str) -> float:
    """Bytes of the checkpoint, vision tower included; nan where it is not stored in the format `weights`."""
    quantization = architecture.quantization
    if quantization is None or quantization.weights != weights:
        return math.nan
    return checkpoint_bytes(architecture) or math.nan
