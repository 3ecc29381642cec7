"""Rooftree's engine: memory, speed and cost of language models on accelerators, on numpy arrays."""

__version__ = "0.1.0"
