"""Parallel layouts: the ways to spread a model that engines accept, from which the planner chooses what is left open.

Layouts are enumerated in plain Python, tens to hundreds for a scenario, and kept: scenarios that differ in other
things share them. Their memory and speed are then computed in one vectorised call for all candidates of all
scenarios.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from roofline import codes
from roofline.columns import Model
from roofline.fields import MOST_GPUS
from roofline.rules import heads_divide, most_chunks, tp_divides
from roofline.scenario import Scenario

MICRO_BATCHES = (1, 2, 4, 8)
MOST_MICRO_BATCH_TOKENS = 65_536
# Sequences of one optimizer step where nothing is said: pretraining, and everything else.
PRETRAINING_BATCH, OTHER_BATCH = 1024, 64
# Context parallelism is worth trying while each rank keeps that many tokens of a sequence.
SHORTEST_SHARE, MOST_CONTEXT_RANKS = 8192, 16
LONGEST_PIPELINE = 32
MOST_CHUNKS = 8  # of an interleaved pipeline on one rank
MOST_ROUNDS = 16  # with more micro-batches for each stage the bubble is small without interleaving
SHARDING_FRAMEWORKS = ("fsdp", "llm_foundry", "torchtitan", "maxtext")
EXPERT_SIZES = (1, 8, 16, 32, 64)
# Bytes of a parameter that no layout can spread thinner: 16-bit weights, gradients and optimizer; 4-bit weights.
TRAINED_BYTES, STORED_BYTES = 12.0, 0.45
TRIED_COUNTS = 5  # sizes tried from the smallest conceivable on, where the number of GPUs is open


class Candidate(NamedTuple):
    """One way to run a scenario."""

    gpus: int
    tp: int
    pp: int
    cp: int
    ep: int
    dp: int
    expert_tp: int
    zero_stage: int
    virtual_pipeline: int
    sequence_parallel: bool
    attention_dp: bool
    micro_batch: int = 0
    global_batch: int = 0
    recompute: str = "none"


@dataclass(frozen=True)
class Node:
    """What limits tensor parallelism: GPUs of a machine and of the fast link."""

    gpus_per_node: int
    domain: int


Head = tuple[int | bool, ...]  # a Candidate without its recompute


@dataclass(frozen=True)
class Options:
    """The candidates of a scenario: each of `heads` with each of `recomputes` (codes), in this order."""

    heads: tuple[Head, ...]
    recomputes: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.heads) * len(self.recomputes)

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """Shape (candidates, fields of a candidate)."""
        width = len(Candidate._fields)
        table = np.empty((self.size, width))
        heads = np.array(self.heads, dtype=float).reshape(-1, width - 1)
        table[:, :-1] = np.repeat(heads, len(self.recomputes), axis=0)
        table[:, -1] = self.recomputes * len(self.heads)
        return table

    def candidate(self, place: int) -> Candidate:
        """The candidate of one row of the table."""
        head, recompute = divmod(place, len(self.recomputes))
        return Candidate._make((*self.heads[head], codes.RECOMPUTES[self.recomputes[recompute]]))


class Asked(NamedTuple):
    """All that layouts depend on: what is given (None: open), and the model and machine."""

    workload: str
    gpu_count: int | None
    tp: int | None
    pp: int | None
    cp: int | None
    ep: int | None
    dp: int | None
    expert_tp: int | None
    zero_stage: int | None
    virtual_pipeline: int | None
    sequence_parallel: bool | None
    attention_dp: bool | None
    framework: str | None
    method: str | None
    seq_len: int | None
    global_batch: int | None
    micro_batch: int | None
    recompute: str | None
    prefill_gpus: int | None
    decode_gpus: int | None
    decode_tp: int | None
    heads: int
    kv_heads: int
    layers: int
    experts: int
    fewest: int  # GPUs under which nothing can fit
    gpus_per_node: int
    domain: int


PATHS = (
    "workload",
    "gpu_count",
    *(f"parallelism.{name}" for name in Asked._fields[2:12]),
    *(f"training.{name}" for name in Asked._fields[12:18]),
    "inference.disaggregated.prefill.gpus",
    "inference.disaggregated.decode.gpus",
    "inference.disaggregated.decode.tp",
)


def fewest_gpus(scenario: Scenario, model: Model, memory_bytes: float) -> int:
    """The number of GPUs under which nothing can fit."""
    size = TRAINED_BYTES if scenario.get("training.method") in ("pretrain", "full_finetune") else STORED_BYTES
    return max(1, int(float(model.total_params) * size / memory_bytes))


def options(scenario: Scenario, model: Model, node: Node, memory_bytes: float) -> Options:
    """Every layout worth computing, consistent with what is given; none if what is given admits none."""
    heads, kv_heads = heads_divide(model)
    fewest = 1 if scenario.get("gpu_count") else fewest_gpus(scenario, model, memory_bytes)
    machine = (fewest, node.gpus_per_node, node.domain)
    shape = (heads, kv_heads, int(model.layers), int(model.experts))
    asked = Asked._make((*(scenario.values.get(path) for path in PATHS), *shape, *machine))
    return _options(asked)


@lru_cache(maxsize=4096)
def _options(asked: Asked) -> Options:
    spread = _training if asked.workload == "training" else _serving
    heads = tuple(head for count in _counts(asked) for head in spread(asked, count))
    return Options(heads, _recomputes(asked))


def _counts(asked: Asked) -> list[int]:
    """Numbers of GPUs to try."""
    if asked.gpu_count:
        return [asked.gpu_count]
    sizes = (asked.tp, asked.pp, asked.cp, asked.dp)
    product = 1
    for size in sizes:
        product *= size or 1
    if None not in sizes:
        return [product]
    counts = [product * factor for factor in _powers(max(1, MOST_GPUS // product)) if product * factor >= asked.fewest]
    return counts[:TRIED_COUNTS]


def _powers(limit: int) -> list[int]:
    return [2**power for power in range(max(limit, 1).bit_length())]


def _divisors(number: int, limit: int) -> list[int]:
    return [size for size in range(1, min(number, limit) + 1) if number % size == 0]


def _tensor_sizes(asked: Asked, count: int) -> list[int]:
    if asked.tp:
        return [asked.tp] if count % asked.tp == 0 else []
    limit = min(count, max(asked.gpus_per_node, min(asked.domain, 16)))
    return [size for size in _divisors(count, limit) if tp_divides(size, asked.heads, asked.kv_heads)]


def _pipeline_sizes(asked: Asked, rest: int, limit: int) -> list[int]:
    """Stages, where `rest` GPUs are left for stages and replicas."""
    if asked.pp:
        return [asked.pp] if rest % asked.pp == 0 else []
    if asked.dp:
        stages, odd = divmod(rest, asked.dp)
        return [stages] if not odd and stages <= asked.layers else []
    return [size for size in _powers(min(limit, asked.layers, rest)) if rest % size == 0]


def _serving(asked: Asked, count: int) -> Iterator[Head]:
    if asked.prefill_gpus and asked.decode_gpus:
        yield _disaggregated(asked, count)[:-1]
        return
    cp = asked.cp or 1
    # A pipeline is worth its stages over a slow link: between machines, or between GPUs that share no fast one.
    linked = min(asked.gpus_per_node, max(asked.domain, 1))
    for tp in _tensor_sizes(asked, count):
        if count % (tp * cp):
            continue
        rest = count // (tp * cp)
        for pp in _pipeline_sizes(asked, rest, max(1, count // linked)):
            dp = rest // pp
            if dp == (asked.dp or dp):
                yield from _served(asked, Candidate(count, tp, pp, cp, 1, dp, tp, 0, 1, False, False))


def _disaggregated(asked: Asked, count: int) -> Candidate:
    """The decode pool's layout stands for the whole; the pools' own sizes are in the scenario."""
    tp = asked.decode_tp or 1
    return Candidate(count, tp, 1, 1, 1, (asked.decode_gpus or tp) // tp, tp, 0, 1, False, bool(asked.attention_dp))


def _served(asked: Asked, base: Candidate) -> Iterator[Head]:
    for attention_dp, ep in _expert_sizes(asked, base):
        sharers = base.tp * base.cp * (base.dp if attention_dp else 1)
        own = asked.expert_tp or max(1, sharers // ep)
        yield base._replace(ep=ep, expert_tp=own, attention_dp=attention_dp)[:-1]


def _expert_sizes(asked: Asked, base: Candidate) -> Iterator[tuple[bool, int]]:
    """Pairs of attention_dp and ep. Replicas have experts of their own unless attention is data parallel."""
    for attention_dp in (False, True) if asked.attention_dp is None else (asked.attention_dp,):
        if attention_dp and asked.attention_dp is None and not (asked.experts and base.dp > 1):
            continue
        sharers = base.tp * base.cp * (base.dp if attention_dp else 1)
        if asked.ep:
            yield attention_dp, asked.ep
        elif not asked.experts:
            yield attention_dp, 1
        else:
            sizes = (sharers,) if attention_dp else dict.fromkeys((1, sharers))
            yield from ((attention_dp, size) for size in sizes if asked.experts % size == 0)


def _training(asked: Asked, count: int) -> Iterator[Head]:
    sharding = asked.framework in SHARDING_FRAMEWORKS
    for tp in [1] if sharding and not asked.tp else _tensor_sizes(asked, count):
        for cp in _context_sizes(asked, count // tp):
            limit = 1 if sharding else LONGEST_PIPELINE
            for pp in _pipeline_sizes(asked, count // (tp * cp), limit):
                dp = count // (tp * cp * pp)
                if dp * tp * cp * pp == count and dp == (asked.dp or dp):
                    yield from _steps(asked, Candidate(count, tp, pp, cp, 1, dp, 1, 0, 1, tp > 1, False))


def _context_sizes(asked: Asked, rest: int) -> list[int]:
    if asked.cp:
        return [asked.cp] if rest % asked.cp == 0 else []
    longest = min((asked.seq_len or 0) // SHORTEST_SHARE, MOST_CONTEXT_RANKS, rest)
    return [size for size in _powers(longest) if rest % size == 0]


def _steps(asked: Asked, base: Candidate) -> Iterator[Head]:
    """The training choices of one layout: experts, sharding, micro-batch and recompute."""
    split = base.tp > 1 if asked.sequence_parallel is None else asked.sequence_parallel
    for ep in _training_experts(asked, base):
        own = asked.expert_tp or (1 if ep > 1 else base.tp)
        for stage in _zero_stages(asked, base):
            for micro in _micro_batches(asked, base.dp):
                batch = asked.global_batch or _usual_batch(asked, base.dp * micro)
                for chunks in _virtual_stages(asked, base, batch // (base.dp * micro)):
                    yield (*base[:4], ep, base.dp, own, stage, chunks, split, False, micro, batch)


def _recomputes(asked: Asked) -> tuple[int, ...]:
    if asked.workload != "training":
        return (0,)
    return (codes.RECOMPUTES.index(asked.recompute),) if asked.recompute else tuple(range(len(codes.RECOMPUTES)))


def _virtual_stages(asked: Asked, base: Candidate, micro_batches: int) -> list[int]:
    """Model chunks on a rank: the plain schedule, and the finest interleaved one, which needs whole rounds of
    micro-batches."""
    if asked.virtual_pipeline:
        return [asked.virtual_pipeline]
    finest = min(most_chunks(base.pp, asked.layers), MOST_CHUNKS)
    rounds, odd = divmod(micro_batches, base.pp)
    return [1, finest] if base.pp > 1 and finest > 1 and not odd and rounds <= MOST_ROUNDS else [1]


def _training_experts(asked: Asked, base: Candidate) -> list[int]:
    if asked.ep or not asked.experts:
        return [asked.ep or 1]
    sharers = base.tp * base.cp * base.dp
    sizes = sorted({*EXPERT_SIZES, min(sharers, EXPERT_SIZES[-1])})
    return [size for size in sizes if sharers % size == 0 and asked.experts % size == 0]


def _zero_stages(asked: Asked, base: Candidate) -> list[int]:
    if asked.zero_stage is not None:
        return [asked.zero_stage]
    if base.dp == 1:
        return [0]
    if asked.framework in SHARDING_FRAMEWORKS:
        return [3]
    return [1, 3] if asked.framework == "deepspeed" or asked.method != "pretrain" else [1]


def _micro_batches(asked: Asked, dp: int) -> list[int]:
    batch, length = asked.global_batch, asked.seq_len or 1
    sizes = (asked.micro_batch,) if asked.micro_batch else MICRO_BATCHES
    fitting = [size for size in sizes if not batch or batch % (size * dp) == 0]
    return [size for size in fitting if size in (1, asked.micro_batch) or size * length <= MOST_MICRO_BATCH_TOKENS]


def _usual_batch(asked: Asked, rank_batch: int) -> int:
    usual = PRETRAINING_BATCH if asked.method == "pretrain" else OTHER_BATCH
    return rank_batch * max(1, -(-usual // rank_batch))
