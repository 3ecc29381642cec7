"""Which kernel served a timing: libraries compile one for each head size and mask, and choose by shape, behind one name.

A kernel is written `program` or `program::variant`. Variants of a program start from what they have in common, so a variant that no
table has is still priced by its program.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from roofline.coefficients import ANY, VARIANT

Strings = NDArray[np.str_]
Flags = NDArray[np.bool_]

WIDE_GROUP = 32  # query heads of one KV head beyond which TensorRT-LLM leaves its grouped-head decode kernel


def kernels(kind: str, engine: Strings, source: Strings, inputs: Mapping[str, Any]) -> Strings:
    """The kernel of each timing of a table, from the library's name and the shape: strings of shape (N,)."""
    match kind:
        case "attention_prefill":
            return _attention(source, _windowed(inputs), _layout(inputs, wide=False), inputs["head_dim"])
        case "attention_decode":
            return _attention(
                _by_heads(engine, source, inputs), _windowed(inputs), _layout(inputs, wide=True), inputs["head_dim"]
            )
        case "custom_allreduce":
            return np.where(np.char.find(source, "eager") >= 0, "eager", "graph")
        case _:
            return source


def _attention(source: Strings, window: Flags, layout: Strings, head_dim: NDArray[np.float64]) -> Strings:
    masked = np.where(window, np.char.add(source, "|window"), source)
    sizes = np.array([f"|d{size:g}" for size in head_dim.tolist()])
    whole = np.char.add(np.char.add(np.char.add(masked, VARIANT), layout), sizes)
    return np.where(source == ANY, ANY, whole)


def _windowed(inputs: Mapping[str, Any]) -> Flags:
    return np.asarray(np.isfinite(inputs["window"]))


def _layout(inputs: Mapping[str, Any], *, wide: bool) -> Strings:
    group = inputs["heads"] / inputs["kv_heads"]
    names = np.where(group > 1, "grouped", "single")
    return np.where(group > WIDE_GROUP, "wide", names) if wide else names


def _by_heads(engine: Strings, source: Strings, inputs: Mapping[str, Any]) -> Strings:
    """TensorRT-LLM decodes groups of 2 to 32 query heads together and takes every other head for itself."""
    group = inputs["heads"] / inputs["kv_heads"]
    own = (engine == "tensorrt_llm") & (source != ANY) & (np.char.find(source, "flashinfer") < 0)
    each = own & ((group == 1) | (group > WIDE_GROUP))
    return np.where(each, np.char.add(source, "|each_head"), source)
