"""Constants of memory that are measured, not derived: loaded from coefficients/memory.csv, each with its source and
its fit error.
"""

import csv
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

Column = Any


class ServingConstants(NamedTuple):
    """What engines hold beside weights and KV cache. Bytes, or bytes for each unit that the name says; numbers or
    columns.
    """

    hidden_vectors_0: (
        Column  # 16-bit vectors of the hidden size alive at the peak of a layer, one token: vLLM before 0.9
    )
    hidden_vectors_1: Column  # from 0.9
    logit_bytes_1: Column  # sampler warm-up, one logit of one sequence: vLLM before 0.17
    logit_bytes_2: Column  # from 0.17
    expert_workspace: Column  # share of the routed activations that fused MoE kernels hold, from 0.9
    non_torch_0: Column  # context and libraries: vLLM before 0.9
    non_torch_single_1: Column  # one GPU, vLLM 0.9 to 0.17
    non_torch_single_2: Column  # from 0.18
    non_torch_parallel_1: Column  # several GPUs
    non_torch_parallel_2: Column
    graph_base: Column
    graph_per_layer: Column
    graph_moe: Column
    pool_overhead_single: Column  # SGLang: what is gone before the first weight
    pool_overhead_parallel: Column
    llama_cpp_runtime: Column


class TrainingConstants(NamedTuple):
    """Overheads of training frameworks."""

    context: Column  # CUDA context and libraries: seen by nvidia-smi only
    communicator: Column  # NCCL buffers of one communicator: seen by nvidia-smi only
    fragmentation: Column  # share of the allocated bytes that the caching allocator reserves beyond them
    logit_fused: Column  # bytes for each logit at the peak: vocabulary-parallel loss
    logit_in_place: Column  # the same, flash-attn's loss, whose gradient overwrites the logits
    logit_compiled: Column  # the same, compiled loss
    logit_outside: Column  # the same, model compiled and its loss not: PyTorch stacks before April 2025
    logit_eager: Column  # the same, loss in eager PyTorch
    workspace: Column  # allocated, whatever the model
    unfused: Column  # activations of a layer over those of fused kernels, for nanotron's modules in eager mode
    deepspeed_fragmentation: Column  # the same under DeepSpeed's own buffers
    deepspeed_buckets: Column  # reduce and gather buckets of DeepSpeed's ZeRO


@cache
def _values() -> dict[str, float]:
    with resources.files("roofline").joinpath("coefficients/memory.csv").open(encoding="utf-8") as lines:
        return {row["name"]: float(row["value"]) for row in csv.DictReader(lines)}


@cache
def serving_constants() -> ServingConstants:
    """The shipped constants of serving."""
    return ServingConstants(*(_values()[f"serving.{name}"] for name in ServingConstants._fields))


@cache
def training_constants() -> TrainingConstants:
    """The shipped constants of training."""
    return TrainingConstants(*(_values()[f"training.{name}"] for name in TrainingConstants._fields))


@cache
def spreads() -> dict[str, float]:
    """80th percentile of |ln(predicted / measured)| of left-out start-up logs, by quantity."""
    prefix = "spread."
    return {name.removeprefix(prefix): value for name, value in _values().items() if name.startswith(prefix)}
