"""Architectures: a Hugging Face config.json in, exact counts of parameters, cache and FLOPs out."""

from roofline.architecture.checkpoint import checkpoint_bytes, quantized_params
from roofline.architecture.errors import InvalidConfig, UnknownModel, UnsupportedArchitecture
from roofline.architecture.hints import from_hint
from roofline.architecture.labels import labelled, named_format, stated_active, stated_size, words
from roofline.architecture.layers import Attention, FeedForward, Layer, LayerGroup, Recurrent
from roofline.architecture.model import Architecture
from roofline.architecture.parse import parse
from roofline.architecture.presets import configurations, nearest_names, presets, resolve
from roofline.architecture.quantization import Quantization
from roofline.architecture.typical import typical

__all__ = [
    "Architecture",
    "Attention",
    "FeedForward",
    "InvalidConfig",
    "Layer",
    "LayerGroup",
    "Quantization",
    "Recurrent",
    "UnknownModel",
    "UnsupportedArchitecture",
    "checkpoint_bytes",
    "configurations",
    "from_hint",
    "labelled",
    "named_format",
    "nearest_names",
    "parse",
    "presets",
    "quantized_params",
    "resolve",
    "stated_active",
    "stated_size",
    "typical",
    "words",
]
