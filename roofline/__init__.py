"""Rooftree's engine: memory, speed and cost of language models on accelerators, on numpy arrays."""
