"""Training: the speed of a run from its operators, its traffic and its schedule."""

from roofline.training.coefficients import TrainingCoefficients, build, fitted
from roofline.training.speed import MFU_DEFINITION, TrainingSpeed, predict

__all__ = ["MFU_DEFINITION", "TrainingCoefficients", "TrainingSpeed", "build", "fitted", "predict"]
