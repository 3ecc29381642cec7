"""Serving speed of scenarios: the public functions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from roofline.codes import ENGINES
from roofline.columns import Batch, Serving
from roofline.selection import indicator, maximum, minimum, missing, pick, some
from roofline.serving import corrections
from roofline.serving.coefficients import REFERENCE_YEAR, OfEngine, ServingCoefficients
from roofline.serving.formats import Formats, formats
from roofline.serving.handover import handover
from roofline.serving.operators import rows
from roofline.serving.parts import first_parts, pass_parts, step_parts
from roofline.serving.pools import Pools, pools
from roofline.serving.roofs import Roofs, roofs
from roofline.serving.schedule import (
    Factors,
    Habits,
    Load,
    PhaseCosts,
    Steady,
    Steps,
    first_token,
    longest_gap,
    opening_burst,
    settle,
    steady,
)
from roofline.serving.speculative import Speculation, speculation
from roofline.serving.step import Costs, costs

Column = Any

DEFAULT_CHUNK = 8192.0
MEAN_REST = 0.5  # of the step that runs when a request arrives
# Sequences that engines run at once by default, one data-parallel rank (codes.ENGINES).
STATIC = ENGINES.index("static_batching")
LLAMA_CPP = ENGINES.index("llama_cpp")
MOST_COPIES = 4.0  # batches that llama.cpp keeps under way in a pipeline
MOST_SEQUENCES = np.array([1024.0, 2048.0, 2048.0, 64.0, 512.0])
LATEST_YEAR = 2027.0


class Room(Protocol):
    """How many sequences the KV cache of one instance holds (`roofline.memory.ServingMemory`)."""

    mean_concurrency: Column  # at their mean context
    max_concurrency: Column  # at max_model_len


@dataclass(slots=True)
class ServingSpeed:
    """What a serving system does, arrays of the shape of the batch. Rates are of the whole system, times in seconds."""

    output_tokens_per_s: Column
    output_tokens_per_s_per_gpu: Column
    total_tokens_per_s: Column
    requests_per_s: Column
    ttft_s: Column  # mean, steady state
    ttft_benchmark_s: Column  # mean of a closed-loop benchmark, opening burst included
    ttft_p99_s: Column
    tpot_s: Column
    itl_p99_s: Column  # time between two tokens of a sequence, 99th percentile
    e2e_latency_s: Column
    prefill_tokens_per_s: Column  # of one instance that does nothing else
    concurrency: Column  # sequences that run, whole system
    batch1_tokens_per_s: Column  # output tokens/s of a sequence that runs alone
    mbu: Column  # bytes that a step must read over what the bandwidth could
    mfu: Column  # FLOPs of the model over the dense peak of the compute type
    bound: Mapping[str, Column]  # share of the time by compute, memory, interconnect, latency
    busy: Column  # share of the time in which GPUs draw load power


@dataclass(slots=True)
class Scene:
    """A batch with all that is looked up for it once."""

    batch: Batch
    formats: Formats
    pools: Pools
    load: Load
    speculation: Speculation
    habits: Habits
    costs: PhaseCosts
    coefficients: ServingCoefficients


def scene(batch: Batch, memory: Room, c: ServingCoefficients) -> Scene:
    """Look-ups and unit costs of `batch`; `memory` says how many sequences an instance can hold."""
    where = pools(batch)
    f = formats(batch)
    serving = batch.serving
    assert serving is not None
    own = c.of_engine(serving.engine)
    static = _static(batch)
    habits = _habits(batch, where, c, own, static)
    load = _load(batch, where, memory, static)
    spec = speculation(serving)
    context = serving.input_tokens + 0.5 * serving.output_tokens
    cached = serving.input_tokens * serving.prefix_cache_hit
    span = cached + 0.5 * load.prompt
    decode = prefill = _aged(costs(batch, f, c, own, where.decode, context, span), serving, own)
    if where.prefill is not where.decode:
        prefill = _aged(costs(batch, f, c, own, where.prefill, context, span), serving, own)
    return Scene(batch, f, where, load, spec, habits, (decode, prefill), c)


def _aged(k: Costs, serving: Serving, own: OfEngine) -> Costs:
    """Kernel and host costs fall with the years of software; unknown dates count as the reference year."""
    year = pick(missing(serving.engine_year), REFERENCE_YEAR, minimum(serving.engine_year, LATEST_YEAR))
    age = np.exp(own.trend * (REFERENCE_YEAR - year))
    return k._replace(
        launch=k.launch * age,
        linear_token=k.linear_token * age,
        expert_row=k.expert_row * age,
        expert_read=k.expert_read * age,
        decode_memory=k.decode_memory * age,
    )


def _habits(batch: Batch, where: Pools, c: ServingCoefficients, own: OfEngine, static: Column) -> Habits:
    assert batch.serving is not None
    apart = (1.0 - where.split) * (1.0 - static)
    alone = batch.serving.request_rate >= 0.0  # arrivals that do not wait for an answer come one by one
    handed = where.split * handover(batch, c) if some(where.split > 0) else 0.0
    return Habits(
        sequence_s=own.sequence_s,
        request_s=pick(alone, own.arrival_s, own.request_s) + handed,
        prefill_passes=pick(alone, 1.0, own.prefill_passes),
        first_steps=pick(alone, MEAN_REST, own.first_steps),
        burst=own.burst,
        apart=apart,
        mixes=own.mixes * apart * (batch.levers.chunked_prefill > 0),
        queue=own.queue,
    )


def _static(batch: Batch) -> Column:
    """1 where a batch starts together: the static engine, or continuous batching switched off."""
    assert batch.serving is not None
    return indicator((batch.levers.continuous_batching <= 0) | (batch.serving.engine == STATIC))


def _load(batch: Batch, where: Pools, memory: Room, static: Column) -> Load:
    serving, levers = batch.serving, batch.levers
    assert serving is not None
    new = maximum(serving.input_tokens * (1.0 - serving.prefix_cache_hit), 1.0)
    output = maximum(serving.output_tokens, 1.0)
    # Pages waste half a page; without paging each sequence reserves the longest length that the engine admits.
    held = pick(levers.paged_attention > 0, memory.mean_concurrency, memory.max_concurrency)
    admitted = pick(serving.max_num_seqs > 0, serving.max_num_seqs, MOST_SEQUENCES[serving.engine]) * where.decode_ranks
    most = maximum(minimum(held, admitted), 1.0)
    chunk = pick(
        (serving.max_num_batched_tokens > 0) & (levers.chunked_prefill > 0),
        serving.max_num_batched_tokens,
        DEFAULT_CHUNK,
    )
    chunk = pick(levers.chunked_prefill > 0, chunk, maximum(new, chunk)) * where.prefill_ranks
    clients, rate = serving.concurrency / where.instances, serving.request_rate / where.instances
    others = 1.0 - 1.0 / maximum(
        pick(missing(clients), np.inf, clients), 1.0
    )  # those that arrive at a rate are all another's
    depth = pick(serving.engine == LLAMA_CPP, minimum(where.pp, MOST_COPIES), where.pp)
    return Load(new, output, others, clients, rate, most, chunk, depth, static)


def predict(batch: Batch, memory: Room, c: ServingCoefficients, variant: Column = 0) -> ServingSpeed:
    """Speed of each scenario of `batch`. `memory` is what `roofline.memory.serving` answers for it.

    All columns broadcast; the answer has their common shape. A closed loop (`concurrency`; inf is a queue that never empties) or an open
    one (`request_rate`, requests/s). `variant` (corrections.VARIANTS) says how a compared point was measured.
    Formulas: docs/algorithms/serving.md.
    """
    s = scene(batch, memory, c)
    state = settle(s.costs, s.pools, s.load, s.speculation, s.habits)
    factors = measured_factors(s, state, variant)
    least = roofs(batch, s.formats, s.pools, s.load, s.speculation, state.running)
    settled = steady(state, s.pools, s.load, s.speculation, s.habits, factors, least)
    return _speed(s, settled, factors, least)


def measured_factors(s: Scene, state: Steps, variant: Column) -> Factors:
    """exp of the measured corrections; 1 without any."""
    table = s.coefficients.corrections
    if table is None:
        return Factors()
    serving, gpu = s.batch.serving, s.batch.gpu
    assert serving is not None
    kind = corrections.kind_code(s.batch.model)
    saturated, arriving = s.load.clients == np.inf, s.load.rate >= 0.0
    variant = pick(arriving & np.equal(variant, 0), corrections.OPEN, variant) if some(arriving) else variant
    backend = s.coefficients.backend_of(s.batch)
    variant = pick(backend > 0, corrections.FIRST_BACKEND + backend - 1, variant) if some(backend > 0) else variant
    place = corrections.Place(
        serving.engine, gpu.code, table.model_index(s.batch.model, kind), serving.weights, variant, kind
    )
    # One quantity after the other: their slopes together would not stay in the cache.
    step = table.slopes(pick(saturated, corrections.SATURATED, corrections.DECODE), place)
    tpot = corrections.factor(step, *step_parts(state), "step")
    slopes = table.slopes(pick(arriving, corrections.TTFT_OPEN, corrections.TTFT), place)
    token, burst = first_token(state, s.habits, s.load, s.pools), opening_burst(state, s.habits, s.load)
    # A queue that never empties has one correction, that of its steps.
    ttft, benchmark = (
        pick(saturated, tpot, corrections.factor(slopes, *first_parts(state, token, s.habits, more), "first"))
        for more in (0.0, burst)
    )
    prefill = corrections.factor(table.slopes(corrections.PREFILL, place), *pass_parts(state), "pass")
    return Factors(tpot, ttft, benchmark, prefill)


def _speed(s: Scene, state: Steady, factors: Factors, least: Roofs) -> ServingSpeed:
    serving, gpu = s.batch.serving, s.batch.gpu
    assert serving is not None
    gpus = s.batch.layout.gpus
    requests = state.rate * s.pools.instances
    output = requests * s.load.output
    end = state.ttft + (s.load.output - 1.0) * state.tpot
    return ServingSpeed(
        output_tokens_per_s=output,
        output_tokens_per_s_per_gpu=output / gpus,
        total_tokens_per_s=requests * (s.load.output + serving.input_tokens),
        requests_per_s=requests,
        ttft_s=state.ttft,
        ttft_benchmark_s=state.ttft_benchmark,
        ttft_p99_s=state.ttft + state.wait * (np.log(100.0) - 1.0),
        tpot_s=state.tpot,
        itl_p99_s=maximum(longest_gap(state.steps, s.habits) * factors.tpot, state.tpot),
        e2e_latency_s=end,
        prefill_tokens_per_s=s.load.prompt / (state.steps.prompt_latency * factors.prefill),
        concurrency=state.running * s.pools.instances,
        batch1_tokens_per_s=1.0 / state.tpot,
        mbu=least.lanes * least.read / (state.tpot * s.speculation.accepted * gpu.bandwidth),
        mfu=requests * least.request_flops / (gpus * s.formats.feed_peak),
        bound=_bound(state),
        busy=minimum(state.running, 1.0),
    )


def _bound(state: Steady) -> Mapping[str, Column]:
    """Shares of the mean step by what its parts wait for."""
    bare, mixed, host = state.steps.bare, state.steps.mixed, state.steps.host
    share = minimum(state.steps.mixed_share, 1.0)

    def mean(decoding: Column, mixing: Column) -> Column:
        return decoding + share * (mixing - decoding)

    total = 1.0 / (mean(bare.time, mixed.time) + host)
    compute = mean(bare.compute(), mixed.compute()) * total
    network = mean(bare.network, mixed.network) * total
    latency = (mean(bare.latency, mixed.latency) + host) * total
    return {
        "compute": compute,
        "memory": 1.0 - compute - network - latency,
        "interconnect": network,
        "latency": latency,
    }


def operators(batch: Batch, memory: Room, c: ServingCoefficients) -> list[dict[str, Any]]:
    """Operators of a batch of one scenario: name, phase, count, and of one occurrence on one GPU flops, bytes, intensity, time_s, bound.

    The rows of a phase add up to its pass; decode is one step of the steady state, prefill the pass of one prompt.
    """
    s = scene(batch, memory, c)
    return rows(s, settle(s.costs, s.pools, s.load, s.speculation, s.habits))
