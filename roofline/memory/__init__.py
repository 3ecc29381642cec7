"""Memory of training and of serving, one GPU, the fullest one."""

from roofline.memory.serving import ServingMemory, serving
from roofline.memory.training import DEFINITIONS, TrainingMemory, peak_memory, training

__all__ = ["DEFINITIONS", "ServingMemory", "TrainingMemory", "peak_memory", "serving", "training"]
