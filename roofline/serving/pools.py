"""Instances of a model: how many there are, how each is spread, and what changes where prefill and decode have GPUs of their own."""

from typing import Any, NamedTuple

from roofline.columns import Batch
from roofline.selection import indicator, maximum, minimum, missing, pick, some
from roofline.serving.step import Shape

Column = Any


class Pools(NamedTuple):
    """Instances and their shapes. `prefill` is `decode` itself unless a scenario of the batch is disaggregated."""

    decode: Shape
    prefill: Shape
    instances: Column  # that decode
    split: Column  # 1 where prefill has GPUs of its own
    pp: Column
    decode_ranks: Column  # attention data-parallel ranks of a decode instance
    prefill_ranks: Column
    prefill_share: Column  # prefill instances for each decode instance


def pools(batch: Batch) -> Pools:
    """Pools of each scenario. Without disaggregation an instance has tp x pp GPUs, times dp where attention is data parallel."""
    layout, load = batch.layout, batch.serving
    assert load is not None
    spread = layout.attention_dp > 0
    ranks = pick(spread, layout.dp, 1.0)
    tp, pp = layout.tp * layout.cp * 1.0, layout.pp * 1.0
    split = load.prefill_gpus > 0
    if not some(split):
        shape = Shape(tp, ranks, tp * ranks, minimum(layout.ep, tp * ranks), pp)
        return Pools(shape, shape, layout.gpus / (tp * pp * ranks), 0.0, pp, ranks, ranks, 1.0)
    per_decode = pick(split, load.decode_tp, tp * ranks)
    per_prefill = pick(split, load.prefill_tp, tp * ranks)
    instances = pick(split, load.decode_gpus / maximum(load.decode_tp, 1.0), layout.gpus / (tp * pp * ranks))
    sources = pick(split, load.prefill_gpus / maximum(load.prefill_tp, 1.0), instances)
    own = (load.decode_attention_dp, load.prefill_attention_dp)
    decode, prefill = (
        _spread(per, pick(missing(stated), spread, stated > 0), split, layout, tp, ranks)
        for per, stated in zip((per_decode, per_prefill), own, strict=True)
    )
    share = sources / instances
    return Pools(
        decode,
        prefill,
        instances,
        indicator(split),
        pick(split, 1.0, pp),
        decode.attention_ranks,
        prefill.attention_ranks,
        share,
    )


def _spread(per: Column, spread: Column, split: Column, layout: Any, tp: Column, ranks: Column) -> Shape:
    """Shape of an instance of `per` GPUs: attention data parallel over all of them, or tensor parallel."""
    own_tp = pick(split, pick(spread, 1.0, per), tp)
    own_ranks = pick(split, pick(spread, per, 1.0), ranks)
    ep = pick(split, pick(layout.ep > 1, per, 1.0), minimum(layout.ep, per))
    return Shape(own_tp, own_ranks, per, ep, pick(split, 1.0, layout.pp * 1.0))
