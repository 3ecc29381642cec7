"""From the time of a pass to TTFT, TPOT and throughput: how an engine interleaves prompts and running sequences.

A sequence that produces O tokens sits through O decode steps and, in between, through the prefill passes of the requests that take
the place of finished ones: B running sequences need B / O prompts a step, of which B - 1 sequences are not its own. So the mean
step takes `decode + f (mixed - decode)`, f being the share of steps that carry a prompt. Closed loop: Little's law gives the
request rate. Open loop: the batch is what the rate keeps running.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np

from roofline.selection import every, maximum, minimum, missing, pick
from roofline.serving.pools import Pools
from roofline.serving.speculative import Speculation
from roofline.serving.step import Costs, PassTime, pass_time

Column = Any

CLOSED_ITERATIONS = 1  # after the first guess
OPEN_ITERATIONS = 12  # near saturation the fixed point is reached slowly
LOADED = 0.97  # highest share of its time that a prefill queue is taken to be busy


class Load(NamedTuple):
    """What one decode instance is asked to do."""

    prompt: Column  # new tokens of a prompt, cached prefix taken off
    output: Column  # tokens
    clients: Column  # requests in flight; inf: a queue that never empties; nan where a rate is given
    rate: Column  # requests/s; nan where clients are given
    most: Column  # sequences that can run at once
    chunk: Column  # tokens that one pass may carry
    static: Column  # 1 where a batch starts together and ends with its longest sequence


PhaseCosts = tuple[Costs, Costs]  # of passes that decode alone and of those that take a prompt in


class Habits(NamedTuple):
    """How an engine schedules; columns from the fitted coefficients of the engine, levers applied."""

    sequence_s: Column
    request_s: Column
    prefill_passes: Column
    first_steps: Column
    burst: Column
    interference: Column
    mixes: Column
    queue: Column


class Steps(NamedTuple):
    """Seconds in the steady state of one instance."""

    running: Column  # sequences in decode
    bare: PassTime  # a pass of decode alone; host work of the sequences not in it
    mixed: PassTime  # a pass with prompt tokens
    host: Column  # s of host work for the running sequences
    decode: Column  # s of one decode step
    mixed_share: Column  # of the steps
    step: Column  # s, mean step
    prompt_s: Column  # s of prefill work that one prompt costs
    prompt_latency: Column  # s until a prompt that waits for nothing is through
    busy: Column  # share of the time in prefill


def steps(k: PhaseCosts, pools: Pools, load: Load, spec: Speculation, habits: Habits, running: Column) -> Steps:
    """The mean step of an instance in which `running` sequences decode."""
    lanes = maximum(running / pools.pp, 1.0)  # sequences of one micro-batch
    per_rank = maximum(lanes / pools.decode_ranks, 1.0)
    decoding = per_rank * spec.width
    # Prompt tokens that a step takes in while a sequence decodes: those of the others.
    prompts = maximum(running - 1.0, 0.0) * load.prompt * spec.accepted / load.output
    carried = minimum(maximum(load.prompt, prompts), load.chunk)
    prompt = carried / pools.prefill_ranks
    mixes = habits.mixes
    drafted, alongside = lanes * spec.width, mixes * decoding
    bare = pass_time(k[0], tokens=decoding, expert_tokens=drafted, rows=decoding, sequences=per_rank, prompt_tokens=0.0)
    mixed = pass_time(
        k[1],
        tokens=alongside + prompt,
        expert_tokens=mixes * drafted + carried,
        rows=alongside + prompt / load.prompt,
        sequences=mixes * per_rank,
        prompt_tokens=prompt,
    )
    host = habits.sequence_s * running
    decode = bare.time + host
    extra = maximum(mixed.time - mixes * bare.time, 0.0)
    mixed_share = prompts / (carried * pools.pp)
    step = decode * (1.0 + spec.draft) + habits.interference * mixed_share * extra
    work = mixed.time / pools.prefill_share
    return Steps(
        running=running,
        bare=bare,
        mixed=mixed,
        host=host,
        decode=decode,
        mixed_share=mixed_share,
        step=step,
        prompt_s=work * load.prompt / (carried * pools.pp),
        prompt_latency=mixed.time * maximum(load.prompt / load.chunk, 1.0),
        busy=minimum(mixed_share * work / step, 1.0),
    )


class Factors(NamedTuple):
    """What measurements multiply the predicted times with; 1 where nothing is known."""

    tpot: Column = 1.0
    ttft: Column = 1.0
    prefill: Column = 1.0


class Least(Protocol):
    """Roofs of one instance, seconds (roofs.Roofs)."""

    @property
    def tpot(self) -> Column: ...
    @property
    def ttft(self) -> Column: ...
    @property
    def request(self) -> Column: ...


class Steady(NamedTuple):
    """Steady state of one instance, in seconds and requests/s."""

    steps: Steps
    ttft: Column
    ttft_benchmark: Column
    tpot: Column
    wait: Column  # s, mean wait for a slot or behind other prompts, part of ttft
    rate: Column  # requests/s
    running: Column


def settle(k: PhaseCosts, pools: Pools, load: Load, spec: Speculation, habits: Habits) -> Steps:
    """Fixed point of batch and step time: Little's law in a closed loop, what the rate keeps running in an open one."""
    closed = missing(load.rate)
    clients = pick(closed, load.clients, 1.0)
    least = minimum(1.0, clients)
    slots = minimum(clients, load.most)
    state = steps(k, pools, load, spec, habits, pick(closed, slots, least))
    for iteration in range(CLOSED_ITERATIONS if every(closed) else OPEN_ITERATIONS):
        decoding = state.step / spec.accepted * load.output
        shared = slots * decoding / (decoding + first_token(state, habits)[0])
        # A closed loop is the same whatever else is in the batch: it keeps its own number of iterations.
        running = pick(closed, shared if iteration < CLOSED_ITERATIONS else state.running, load.rate * decoding)
        state = steps(k, pools, load, spec, habits, minimum(maximum(running, least), load.most))
    return state


def steady(
    state: Steps, pools: Pools, load: Load, spec: Speculation, habits: Habits, factors: Factors, least: Least
) -> Steady:
    """Latencies and rates of a settled instance, times multiplied by `factors` and never under the roofs `least`."""
    closed = missing(load.rate)
    clients = pick(closed, load.clients, 1.0)
    slots = minimum(clients, load.most)
    tpot = maximum(state.step / spec.accepted * factors.tpot, least.tpot)
    ttft, wait = first_token(state, habits)
    burst = habits.burst * maximum(slots - 1.0, 0.0) * state.prompt_s
    # A static batch takes all its prompts first and then as many steps as its longest answer: 2 B / (B + 1) times the mean for lengths
    # that are spread evenly.
    together = load.static * state.running * state.prompt_s
    longest = 1.0 + load.static * (state.running - 1.0) / (state.running + 1.0)
    benchmark = maximum((ttft + together + burst) * factors.ttft, least.ttft)
    ttft = maximum((ttft + together) * factors.ttft, least.ttft)
    service = ttft + maximum(load.output - 1.0, 0.0) * tpot * longest
    capacity = minimum(minimum(load.most / service, 1.0 / least.request), pools.prefill_limit / state.prompt_s)
    rate = pick(closed, minimum(slots / service, capacity), minimum(load.rate, capacity))
    asked = pick(clients < np.inf, clients, slots)
    queued = pick(closed, maximum(asked / rate - service, 0.0), 0.0)
    running = pick(closed, slots, rate * service)
    return Steady(state, ttft + queued, benchmark + queued, tpot, wait + queued, rate, running)


def first_token(state: Steps, habits: Habits) -> tuple[Column, Column]:
    """Mean TTFT in the steady state and the wait in it, seconds: running steps, the prompts ahead (M/D/1), the passes of the prompt.

    A closed-loop benchmark adds its opening burst (`Habits.burst`): all clients send at once, so the mean one of them waits for half
    of the others' prompts, spread over all requests of the run.
    """
    busy = minimum(state.busy, LOADED)
    ahead = habits.queue * busy / (2.0 * (1.0 - busy)) * state.prompt_latency
    ahead = minimum(ahead, 0.5 * state.running * state.prompt_s)
    wait = habits.first_steps * state.decode + ahead
    return habits.request_s + habits.prefill_passes * state.prompt_latency + wait, wait
