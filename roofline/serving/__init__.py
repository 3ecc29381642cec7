"""Serving speed: TTFT, TPOT, throughput and what binds them, from the operators of a forward pass and the habits of an engine."""

from roofline.serving.coefficients import ServingCoefficients, load
from roofline.serving.prediction import ServingSpeed, operators, predict

__all__ = ["ServingCoefficients", "ServingSpeed", "load", "operators", "predict"]
