"""What the number formats of a serving load mean for speed: which arithmetic runs, and which layers stay at 16 bit."""

from typing import Any, NamedTuple

import numpy as np

from roofline import precision
from roofline.codes import ACTIVATION_FORMATS
from roofline.columns import Batch
from roofline.selection import maximum, minimum, pick

Column = Any

# Arithmetic types that have a peak and an efficiency of their own.
COMPUTE_TYPES = ("fp32", "16bit", "fp8", "int8", "fp4")
FP32, HALF, FP8, INT8, FP4 = range(len(COMPUTE_TYPES))
BYTES_16 = 2.0

_TYPE_OF_ACTIVATION = {"fp32": FP32, "fp8": FP8, "mxfp8": FP8, "int8": INT8, "nvfp4": FP4, "mxfp4": FP4}
ACTIVATION_TYPE = np.array([_TYPE_OF_ACTIVATION.get(name, HALF) for name in ACTIVATION_FORMATS])


class Formats(NamedTuple):
    """Bytes of a weight, arithmetic type and peak (FLOP/s): of the attention projections and of the feed-forward."""

    attention_bytes: Column
    feed_bytes: Column
    head_bytes: Column
    kv_bytes: Column
    attention_type: Column
    feed_type: Column
    attention_peak: Column
    feed_peak: Column
    half_peak: Column


def formats(batch: Batch) -> Formats:
    """Formats of the columns of `batch` (needs `batch.serving`). A checkpoint's stated size spreads evenly over its matrices."""
    load, model, gpu = batch.serving, batch.model, batch.gpu
    assert load is not None
    stored = precision.BODY_BYTES[load.weights]
    stated = load.weight_bytes_override / maximum(model.total_params, 1.0)
    feed: Column = pick(stated > 0, minimum(maximum(stated, 0.7 * stored), 1.3 * stored), stored)
    latent = (model.mla_layers > 0) & (precision.HALF_LATENT_ATTENTION[load.weights] > 0)
    half_attention = latent | (precision.EXPERTS_ONLY[load.weights] > 0)
    # A file whose experts alone are narrow says by its size what the rest is stored in.
    rest = model.total_params - model.expert_params
    left = (load.weight_bytes_override - model.expert_params * stored) / maximum(rest, 1.0)
    rest_bytes = pick(left > 0, minimum(maximum(left, 0.5), BYTES_16), BYTES_16)
    attention = pick(half_attention, rest_bytes, feed)
    feed = pick(half_attention, stored, feed)
    half_peak: Column = pick(load.activations == ACTIVATION_FORMATS.index("fp16"), gpu.peak_fp16, gpu.peak_bf16)
    feed_type = ACTIVATION_TYPE[load.activations]
    feed_peak = precision.compute_peak(gpu, load.activations)
    feed_type = pick(feed_peak > 1.2 * half_peak, feed_type, minimum(feed_type, HALF))
    return Formats(
        attention_bytes=attention,
        feed_bytes=feed,
        head_bytes=precision.HEAD_BYTES[load.weights],
        kv_bytes=precision.KV_BYTES[load.kv_cache],
        attention_type=pick(half_attention, HALF, feed_type),
        feed_type=feed_type,
        attention_peak=pick(half_attention, half_peak, feed_peak),
        feed_peak=feed_peak,
        half_peak=half_peak,
    )
