"""Speculative decoding: drafted tokens are verified together, so a step is wider and yields more than one token."""

from typing import Any, NamedTuple

from roofline.columns import Serving
from roofline.selection import minimum, some

Column = Any


class Speculation(NamedTuple):
    """What a draft changes in a decode step. Columns; 1, 1, 0 without a draft."""

    width: Column  # tokens of one sequence in a step
    accepted: Column  # tokens that a step yields
    draft: Column  # time of drafting, in decode steps


def speculation(load: Serving) -> Speculation:
    """Yield of gamma drafted tokens of which each is accepted with probability a: (1 - a^(gamma + 1)) / (1 - a) (Leviathan et al., 2023).

    >>> import types
    >>> load = types.SimpleNamespace(draft_tokens=4.0, acceptance=0.7, draft_cost=0.05)
    >>> round(float(speculation(load).accepted), 3)
    2.773
    """
    if not some(load.draft_tokens):
        return Speculation(1.0, 1.0, 0.0)
    kept = minimum(load.acceptance, 0.999)
    accepted = (1.0 - kept ** (load.draft_tokens + 1.0)) / (1.0 - kept)
    return Speculation(load.draft_tokens + 1.0, accepted, load.draft_tokens * load.draft_cost)
