"""From the time of a pass to TTFT, TPOT and throughput: how an engine interleaves prompts and running sequences.

A sequence that produces O tokens sits through O decode steps and, in between, through the prefill passes of the requests that take
the place of finished ones: B running sequences need B / O prompts a step, of which 1 / n are its own with n clients. So the mean
step takes `decode + f (mixed - decode)`, f being the share of steps that carry a prompt. Closed loop: Little's law gives the
request rate. Open loop: the batch is what the rate keeps running.
"""

from typing import Any, NamedTuple, Protocol

import numpy as np

from roofline.selection import every, indicator, maximum, minimum, missing, pick
from roofline.serving.pools import Pools
from roofline.serving.speculative import Speculation
from roofline.serving.step import Costs, PassTime, pass_time

Column = Any

OPEN_ITERATIONS = 8
STEEPEST = 0.9  # of a secant: at 1 no batch keeps up
TINY = 1e-9
RARE = 0.01
LOADED = 0.97  # highest share of its time that a prefill queue is taken to be busy


class Load(NamedTuple):
    """What one decode instance is asked to do."""

    prompt: Column  # new tokens of a prompt, cached prefix taken off
    output: Column  # tokens
    others: Column  # share of all prompts that are not a sequence's own
    clients: Column  # requests in flight; inf: a queue that never empties; nan where a rate is given
    rate: Column  # requests/s; nan where clients are given
    most: Column  # sequences that can run at once
    chunk: Column  # tokens that one pass may carry
    depth: Column  # passes of one prompt that can be under way at once, in the stages of a pipeline
    static: Column  # 1 where a batch starts together and ends with its longest sequence


PhaseCosts = tuple[Costs, Costs]  # of passes that decode alone and of those that take a prompt in


class Habits(NamedTuple):
    """How an engine schedules; columns from the fitted coefficients of the engine, levers applied."""

    sequence_s: Column
    request_s: Column
    prefill_passes: Column
    first_steps: Column
    burst: Column
    apart: Column  # 0 where prompts never come between a sequence's steps: pools of their own, static batches
    mixes: Column
    queue: Column


class Steps(NamedTuple):
    """Seconds in the steady state of one instance."""

    running: Column  # sequences in decode
    bare: PassTime  # a pass of decode alone; host work of the sequences not in it
    mixed: PassTime  # a pass with prompt tokens
    host: Column  # s of host work for the running sequences
    decode: Column  # s of one decode step
    mixed_share: Column  # prompt-carrying passes for each step
    interrupted: Column  # s that others' prompts add to the mean step
    step: Column  # s, mean step
    prompt_s: Column  # s of the passes that one prompt takes
    prompt_work: Column  # s of these without the decode attention that rides along
    prompt_latency: Column  # s until a prompt that waits for nothing is through
    arrivals_latency: Column  # s until the prompts that arrive within a step are through together
    rounds: Column  # passes of a prompt, one after the other
    busy: Column  # share of the tokens that passes could take in; of the time where prefill has GPUs of its own


def steps(k: PhaseCosts, pools: Pools, load: Load, spec: Speculation, habits: Habits, running: Column) -> Steps:
    """The mean step of an instance in which `running` sequences decode."""
    lanes = maximum(running / pools.pp, 1.0)  # sequences of one micro-batch
    per_rank = maximum(lanes / pools.decode_ranks, 1.0)
    decoding = per_rank * spec.width
    # Prompt tokens that a step takes in while a sequence decodes: those of the others.
    prompts = running * load.others * load.prompt * spec.accepted / load.output
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
    mixed_share = prompts / (carried * pools.pp)
    # Where passes mix, a sequence gets its token in each of them: at most every step carries a chunk. Else prompts come in between.
    taken = pick(mixes > 0, minimum(mixed_share, 1.0), mixed_share)
    interrupted = habits.apart * maximum(taken * (mixed.time - mixes * bare.time), 0.0)
    step = decode * (1.0 + spec.draft) + interrupted
    part = load.prompt / (carried * pools.pp)  # of a prompt in a pass
    work, rounds = mixed.time / pools.prefill_share, 1.0 + maximum(load.prompt / load.chunk - 1.0, 0.0) / load.depth
    # A pass that took in one prompt alone: what it carries beyond its floor falls with its tokens.
    own = minimum(load.prompt, load.chunk) / pools.prefill_ranks
    alone = mixed.floor + (mixed.time - mixed.floor) * ((alongside + own) / (alongside + prompt))
    busy = pick(pools.split > 0, mixed_share * work / step, prompts / (load.chunk * pools.pp))
    return Steps(
        running=running,
        bare=bare,
        mixed=mixed,
        host=host,
        decode=decode,
        mixed_share=mixed_share,
        interrupted=interrupted,
        step=step,
        prompt_s=work * part,
        prompt_work=(mixed.time - mixed.joined[3]) / pools.prefill_share * part,
        prompt_latency=alone * rounds,
        arrivals_latency=mixed.time * rounds,
        rounds=rounds,
        busy=minimum(busy, LOADED),
    )


class Factors(NamedTuple):
    """What measurements multiply the predicted times with; 1 where nothing is known."""

    tpot: Column = 1.0
    ttft: Column = 1.0
    ttft_benchmark: Column = 1.0
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
    """Batch and step time: all clients of a closed loop decode; an open one by fixed point of what the rate keeps running.

    A client that waits for its first token does not decode, but the prompt that it waits for is in the mean step.
    """
    closed = missing(load.rate)
    running = pick(closed, minimum(load.clients, load.most), 0.0)
    state = steps(k, pools, load, spec, habits, running)
    if every(closed):
        return state
    # Secants from below: what the rate keeps running bends upwards, so they end at the least batch that can keep up.
    each = load.rate * load.output / spec.accepted
    slope: Column = 0.0
    for _ in range(OPEN_ITERATIONS):
        wanted = pick(closed, running, each * taken(state, load, spec))
        moved = minimum(maximum(running + (wanted - running) / (1.0 - slope), 0.0), load.most)
        after = steps(k, pools, load, spec, habits, moved)
        rise = pick(moved > running, (each * taken(after, load, spec) - wanted) / maximum(moved - running, TINY), 0.0)
        slope = minimum(maximum(rise, 0.0), STEEPEST)
        running, state = moved, after
    return state


def longer(state: Steps) -> Column:
    """How many times longer than the mean the longest answer of a batch is, less 1: 2 B / (B + 1) for lengths that are spread evenly."""
    batch = maximum(state.running, 1.0)
    return (batch - 1.0) / (batch + 1.0)


def taken(state: Steps, load: Load, spec: Speculation) -> Column:
    """Seconds that a step takes of a place in the batch; of a static one also the prompts before it and the wait for its end."""
    prompts = state.running * state.prompt_s * spec.accepted / load.output
    return state.step + load.static * (state.step * longer(state) + prompts)


def steady(
    state: Steps, pools: Pools, load: Load, spec: Speculation, habits: Habits, factors: Factors, least: Least
) -> Steady:
    """Latencies and rates of a settled instance, times multiplied by `factors` and never under the roofs `least`."""
    closed = missing(load.rate)
    clients = pick(closed, load.clients, 1.0)
    slots = minimum(clients, load.most)
    tpot = maximum(state.step / spec.accepted * factors.tpot, least.tpot)
    first = first_token(state, habits, load, pools)
    burst = opening_burst(state, habits, load)
    # A static batch takes as many steps as its longest answer: who has an answer before waits for the next batch.
    decoding = maximum(load.output - 1.0, 0.0) * tpot
    rest = load.static * longer(state) * decoding
    benchmark = maximum((first.total + burst) * factors.ttft_benchmark, least.ttft) + rest
    ttft = maximum(first.total * factors.ttft, least.ttft)
    # A prompt that queues takes no place yet.
    held = ttft * (1.0 - first.ahead / first.total) + rest + decoding
    ttft = ttft + rest
    service = ttft + decoding
    capacity = minimum(minimum(load.most / held, 1.0 / least.request), 1.0 / (state.prompt_work * factors.tpot))
    rate = pick(closed, minimum(slots / service, capacity), minimum(load.rate, capacity))
    asked = pick(clients < np.inf, clients, slots)
    queued = pick(closed, maximum(asked / rate - service, 0.0), 0.0)
    running = pick(closed, slots, rate * service)
    wait = first.steps + first.ahead
    return Steady(state, ttft + queued, benchmark + queued, tpot, wait + queued, rate, running)


class FirstToken(NamedTuple):
    """Seconds until the first token in the steady state, by what they wait for."""

    request: Column  # until the scheduler has the request, and back
    passes: Column  # of the prompt
    steps: Column  # that are running, or that a stream gathers
    ahead: Column  # prompts that came before
    total: Column


def first_token(state: Steps, habits: Habits, load: Load, pools: Pools) -> FirstToken:
    """Mean TTFT in the steady state: running steps, the prompts ahead, the passes of the prompt.

    Prompts that arrive at a rate queue for room in the passes: with a share `busy` of it taken, one waits for busy / (2 (1 - busy))
    passes (M/D/1). In a closed loop the prompts that a sequence does not wait for here it waits for while it decodes.
    A static batch takes all its prompts first.
    """
    arriving = (load.rate >= 0.0) | (pools.split > 0)
    ahead = habits.queue * state.busy / (2.0 * (1.0 - state.busy)) * state.arrivals_latency
    ahead = indicator(arriving) * minimum(ahead, 0.5 * state.running * state.prompt_s)
    passes = habits.prefill_passes * pick(arriving, state.arrivals_latency, state.prompt_latency)
    passes = passes + load.static * state.running * state.prompt_s
    waited = habits.first_steps * pick(arriving, state.step, state.decode)
    return FirstToken(habits.request_s, passes, waited, ahead, habits.request_s + passes + waited + ahead)


def opening_burst(state: Steps, habits: Habits, load: Load) -> Column:
    """Seconds that a closed-loop benchmark adds to its mean TTFT (`Habits.burst`).

    All clients send at once, so the mean one of them waits for half of the others' prompts, spread over all requests of the run.
    """
    slots = pick(missing(load.rate), minimum(load.clients, load.most), 1.0)
    return habits.burst * maximum(slots - 1.0, 0.0) * state.prompt_s


def longest_gap(state: Steps, habits: Habits) -> Column:
    """Seconds between two tokens of a sequence that 1 % of the gaps exceed: where more than 1 % of the steps carry prompts, one that does.

    Passes that mix last as long as their chunk (Agrawal et al., Sarathi-Serve, 2024); where prompts have passes of their own, a running
    sequence waits for all of a prompt.
    """
    stalled = pick(habits.mixes > 0, state.mixed.time + state.host, state.decode + state.arrivals_latency)
    return pick(state.mixed_share * habits.apart > RARE, stalled, state.decode)
