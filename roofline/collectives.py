"""Collective communication: latency plus bytes on the wire, per algorithm; the library takes the fastest, and so does this module.

Sizes are bytes per GPU as stated in each function, `ranks` the GPUs that take part, `bandwidth` bytes/s of one GPU's link in one direction.
Cost model: Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH" (2005), with a ramp term for
the pipelining of middle sizes.
"""

from typing import NamedTuple

import numpy as np

from roofline import columns
from roofline.ceilings import Column

TREE_SHARE = 0.92  # bandwidth of a double binary tree, as a share of a ring's (NCCL's own tuning model)
DIRECT_LIMIT = (
    8.0 * 2**20
)  # bytes up to which engines use their own all-reduce; beyond it they leave the message to the library
SWITCH_RANKS = 8.0  # ranks from which in-switch reduction (NVLS) was measured to be in use


class CollectiveCoefficients(NamedTuple):
    """Measured behaviour of one collective of one library on one kind of link."""

    eta: Column  # share of the link that large messages reach with many ranks
    launch: Column  # s
    rank_step: Column  # s for each rank in the ring
    ramp: Column  # s: middle sizes cost sqrt(ramp x wire time) more
    pair: Column  # extra wire time with two ranks, as a share; falls with 1 / (ranks - 1)
    contention: Column  # extra wire time on a shared bus, as a share, for each unit of (ranks / 2)^2 - 1
    direct_eta: (
        Column  # engines' own kernels, in which ranks read each other's memory: share of the link; 0: not available
    )
    direct_launch: Column  # s
    direct_step: Column  # s for each further rank that a rank waits for
    direct_second: Column  # s of the second step, where the message is reduced in shares and gathered
    switch_eta: Column  # reduction in the switch, share of the link; 0: not available
    switch_launch: Column  # s


class CollectiveTime(NamedTuple):
    """Time of a collective and what it is made of. Every field broadcasts."""

    time: Column  # s
    bytes: Column  # bytes that one GPU sends
    wire: Column  # s at full link speed
    latency: Column  # s that a message of no bytes takes


def _contended(ranks: Column, coef: CollectiveCoefficients) -> Column:
    return 1.0 + coef.contention * (0.25 * ranks * ranks - 1.0)


def _ramped(wire: Column, latency: Column, ranks: Column, coef: CollectiveCoefficients) -> Column:
    others = np.maximum(ranks - 1.0, 1.0)
    shared = _contended(ranks, coef) + coef.pair / others
    return latency + wire / coef.eta * shared + np.sqrt(coef.ramp * wire)


def _exchange(sent: Column, ranks: Column, bandwidth: Column, coef: CollectiveCoefficients) -> CollectiveTime:
    """A collective in which each rank sends `sent` bytes over its link; free for one rank."""
    alone = ranks <= 1
    wire = np.where(alone, 0.0, sent) / bandwidth
    latency = np.where(alone, 0.0, coef.launch + coef.rank_step * ranks)
    return CollectiveTime(_ramped(wire, latency, ranks, coef), sent, wire, latency)


def all_gather(nbytes: Column, ranks: Column, *, bandwidth: Column, coef: CollectiveCoefficients) -> CollectiveTime:
    """Ring all-gather of `nbytes` bytes in all (the gathered size): each rank sends (n - 1) / n of it."""
    return _exchange(nbytes * (ranks - 1.0) / ranks, ranks, bandwidth, coef)


def reduce_scatter(nbytes: Column, ranks: Column, *, bandwidth: Column, coef: CollectiveCoefficients) -> CollectiveTime:
    """Ring reduce-scatter of `nbytes` bytes on every rank."""
    return _exchange(nbytes * (ranks - 1.0) / ranks, ranks, bandwidth, coef)


def all_to_all(nbytes: Column, ranks: Column, *, bandwidth: Column, coef: CollectiveCoefficients) -> CollectiveTime:
    """All-to-all in which each rank holds `nbytes` bytes for all ranks, its own share included."""
    return _exchange(nbytes * (ranks - 1.0) / ranks, ranks, bandwidth, coef)


def point_to_point(nbytes: Column, *, bandwidth: Column, coef: CollectiveCoefficients) -> CollectiveTime:
    """One rank sends `nbytes` bytes to another."""
    return _exchange(nbytes, 2.0, bandwidth, coef)


def all_reduce(nbytes: Column, ranks: Column, *, bandwidth: Column, coef: CollectiveCoefficients) -> CollectiveTime:
    """All-reduce of `nbytes` bytes on every rank by the fastest algorithm: ring, tree, one-shot, or in the switch."""
    algorithms = all_reduce_algorithms(nbytes, ranks, bandwidth=bandwidth, coef=coef)
    alone = ranks <= 1
    time = np.minimum(np.minimum(algorithms.ring, algorithms.tree), np.minimum(algorithms.direct, algorithms.switch))
    sent = 2.0 * nbytes * (ranks - 1.0) / ranks
    direct = coef.direct_launch + coef.direct_step * (ranks - 1.0)
    latency = np.minimum(coef.launch + coef.rank_step * ranks, np.where(coef.direct_eta > 0, direct, np.inf))
    return CollectiveTime(np.where(alone, 0.0, time), sent, sent / bandwidth, np.where(alone, 0.0, latency))


class AllReduceTimes(NamedTuple):
    """Seconds of each all-reduce algorithm; infinite where it is not available."""

    ring: Column
    tree: Column
    direct: Column
    switch: Column


def all_reduce_algorithms(
    nbytes: Column, ranks: Column, *, bandwidth: Column, coef: CollectiveCoefficients
) -> AllReduceTimes:
    """What each algorithm would take: ring sends 2 (n - 1) / n of the message in n steps, a tree all of it twice in log2 n steps,
    the switch (n + 1) / n of it (it reduces on the way). Direct, up to DIRECT_LIMIT bytes, is the faster of one step (n - 1 times
    the message) and two (each rank reduces a share, then all gather: the ring's bytes)."""
    full = nbytes / bandwidth
    steps = coef.rank_step * ranks
    ring = _ramped(2.0 * full * (ranks - 1.0) / ranks, coef.launch + steps, ranks, coef)
    tree = _ramped(2.0 / TREE_SHARE * full, coef.launch + 2.0 * coef.rank_step * np.log2(ranks), ranks, coef)
    with np.errstate(divide="ignore", invalid="ignore"):
        read = full * (ranks - 1.0) / coef.direct_eta * _contended(ranks, coef)
        shots = np.minimum(read, coef.direct_second + read * 2.0 / ranks)
        usable = (coef.direct_eta > 0) & (nbytes <= DIRECT_LIMIT)
        direct = np.where(usable, coef.direct_launch + coef.direct_step * (ranks - 1.0) + shots, np.inf)
        available = (coef.switch_eta > 0) & (ranks >= SWITCH_RANKS)
        switch = np.where(available, coef.switch_launch + full * (ranks + 1.0) / (ranks * coef.switch_eta), np.inf)
    return AllReduceTimes(ring, tree, direct, switch)


def hierarchical_all_reduce(
    nbytes: Column,
    inner: Column,
    outer: Column,
    *,
    fast: Column,
    slow: Column,
    fast_coef: CollectiveCoefficients,
    slow_coef: CollectiveCoefficients,
) -> CollectiveTime:
    """All-reduce over `outer` nodes of `inner` ranks each: reduce-scatter inside, all-reduce of 1 / inner of it between, all-gather inside.

    `fast` and `slow` are bytes/s of one GPU in one direction inside and between nodes. With one level it is that level's collective.
    """
    scatter = reduce_scatter(nbytes, inner, bandwidth=fast, coef=fast_coef)
    between = all_reduce(nbytes / inner, outer, bandwidth=slow, coef=slow_coef)
    gather = all_gather(nbytes, inner, bandwidth=fast, coef=fast_coef)
    return CollectiveTime(*(a + b + c for a, b, c in zip(scatter, between, gather, strict=True)))


def group_bandwidth(ranks: Column, gpu: columns.Gpu, internode: Column) -> Column:
    """Bytes/s of the slowest link that a group of `ranks` neighbouring GPUs crosses, one GPU, one direction.

    Inside a domain of the fast link (a node, or an NVL72 rack) that link; inside a node without one PCIe; else the network (`internode`).
    """
    inside = (gpu.link_bandwidth > 0) & (ranks <= gpu.domain)
    return np.where(inside, gpu.link_bandwidth, np.where(ranks <= gpu.gpus_per_node, gpu.pcie_bandwidth, internode))
