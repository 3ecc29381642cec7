"""Fits of the engine's coefficients to the measurements that ship with it."""
