"""Training: the speed of a run from its operators, its traffic and its schedule."""

from roofline.training.coefficients import TrainingCoefficients, build, load
from roofline.training.corrections import BASES, Interval
from roofline.training.explain import interval, operators
from roofline.training.speed import MFU_DEFINITION, TrainingSpeed, predict

__all__ = [
    "BASES",
    "MFU_DEFINITION",
    "Interval",
    "TrainingCoefficients",
    "TrainingSpeed",
    "build",
    "interval",
    "load",
    "operators",
    "predict",
]
