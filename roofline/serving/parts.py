"""The parts of predicted times that corrections are slopes of (corrections.SHARES): each grows with work and falls with faster hardware."""

from typing import Any, NamedTuple

from roofline.serving.schedule import FirstToken, Habits, Steps

Column = Any


class Parts(NamedTuple):
    """A time and some of its parts, in the order of corrections.SHARES; seconds."""

    total: Column
    parts: tuple[Column, ...]


def step_parts(state: Steps) -> Parts:
    """The mean step: routed experts, decode attention, what does not depend on sizes (launches, links, host), others' prompts."""
    joined = state.bare.joined
    return Parts(state.step, (joined[1], joined[3], state.bare.fixed + state.host, state.interrupted))


def first_parts(state: Steps, first: FirstToken, habits: Habits, burst: Column) -> Parts:
    """The time to the first token: the request's way, running steps, launches and links of its passes, the prompts before it."""
    overhead = habits.prefill_passes * (state.rounds * state.mixed.fixed)
    return Parts(first.total + burst, (first.request, first.steps, overhead, first.ahead + burst))


def pass_parts(state: Steps) -> Parts:
    """A pass that takes a prompt in: routed experts, attention, launches and links."""
    mixed = state.mixed
    return Parts(mixed.time, (mixed.joined[1], mixed.prompt, mixed.fixed))
