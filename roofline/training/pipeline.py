"""Pipeline schedules: from the time of one micro-batch through the whole depth to the time of all of them.

1F1B and its interleaved form (Narayanan et al., SC 2021): with p stages, m micro-batches and v chunks on each stage,
time = m x slowest stage + (p - 1) / v x mean stage.
"""

import numpy as np

from roofline.ceilings import Column
from roofline.selection import maximum, minimum, pick


def bubble_fraction(stages: Column, micro_batches: Column, chunks: Column = 1.0) -> Column:
    """Idle time over ideal time of an even pipeline: (p - 1) / (v m).

    >>> float(bubble_fraction(8, 32)), float(bubble_fraction(8, 32, 4))
    (0.21875, 0.0546875)
    """
    return (stages - 1.0) / (chunks * micro_batches)


def slowest_stage(layer_time: Column, ends_time: Column, layers: Column, stages: Column, chunks: Column) -> Column:
    """Time of one micro-batch on the slowest stage.

    `layer_time` is the time of all layers, `ends_time` that of embedding, head and loss. Layers that divide evenly
    leave the ends on top of the last stage; otherwise stages are filled so that those with the ends hold fewer layers.
    """
    slots = stages * chunks
    each = layers / slots
    even = each == np.floor(each)
    one = layer_time / layers
    whole = np.ceil(each) * chunks * one
    balanced = maximum(minimum(whole, np.ceil(layers / stages) * one), (layer_time + ends_time) / stages)
    return pick(even | (stages <= 1), layer_time / stages + ends_time, balanced)


def pipeline_time(slowest: Column, mean: Column, stages: Column, micro_batches: Column, chunks: Column) -> Column:
    """Time of all micro-batches: the slowest stage is busy throughout, the ramp costs (p - 1) / v mean stages."""
    return micro_batches * slowest + (stages - 1.0) / chunks * mean
