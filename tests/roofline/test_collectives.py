"""Collectives: algorithms, crossovers, hierarchy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline import coefficients
from roofline import collectives as c
from roofline.hardware import presets

H100 = presets()["h100-sxm5-80gb"]
NVLINK = {"bandwidth": H100.link_bandwidth}
NIC = 50e9
REDUCE = coefficients.lookup("all_reduce", H100, "vllm", "")[0]
CUSTOM = coefficients.lookup("custom_all_reduce", H100, "tensorrt_llm", "")[0]
NETWORK = coefficients.lookup("network", H100, "", "")[0]

ranks = st.sampled_from([2.0, 4.0, 8.0, 16.0, 72.0])
sizes = st.floats(1.0, 1e10)


def test_one_rank_communicates_for_free():
    for collective in (c.all_reduce, c.all_gather, c.reduce_scatter, c.all_to_all):
        assert float(collective(1e6, 1.0, **NVLINK, coef=REDUCE).time) == 0.0


def test_small_messages_go_in_one_shot_large_ones_round_the_ring():
    small, large = (c.all_reduce_algorithms(size, 8.0, **NVLINK, coef=CUSTOM) for size in (8e3, 512e6))
    assert small.direct < small.ring
    assert large.ring < large.direct


def test_engines_leave_large_messages_to_the_library():
    below, above = (c.all_reduce_algorithms(size, 8.0, **NVLINK, coef=CUSTOM) for size in (8 * 2**20, 8 * 2**20 + 1))
    assert np.isfinite(below.direct)
    assert np.isinf(above.direct)
    assert c.all_reduce(8 * 2**20, 8.0, **NVLINK, coef=CUSTOM).time <= above.ring


def test_two_steps_send_less_once_the_message_is_large():
    slope = [
        float(c.all_reduce_algorithms(2 * size, 8.0, **NVLINK, coef=CUSTOM).direct)
        - float(c.all_reduce_algorithms(size, 8.0, **NVLINK, coef=CUSTOM).direct)
        for size in (4e3, 4e6)
    ]
    assert slope[1] / 4e6 == pytest.approx(
        slope[0] / 4e3 / 4, rel=0.01
    )  # 2 (n - 1) / n of the message instead of n - 1


def test_a_tree_beats_the_ring_for_small_messages_of_many_ranks():
    small, large = (c.all_reduce_algorithms(size, 512.0, bandwidth=NIC, coef=NETWORK) for size in (1e4, 4e9))
    assert small.tree < small.ring
    assert large.ring <= large.tree


def test_the_switch_is_used_from_eight_ranks_on():
    assert np.isinf(c.all_reduce_algorithms(1e9, 4.0, **NVLINK, coef=REDUCE).switch)
    assert np.isfinite(c.all_reduce_algorithms(1e9, 8.0, **NVLINK, coef=REDUCE).switch)


def test_bus_bandwidth_of_a_large_all_reduce_in_one_h100_node():
    time = float(c.all_reduce(512e6, 8.0, **NVLINK, coef=REDUCE).time)
    assert 2 * 7 / 8 * 512e6 / time == pytest.approx(430e9, rel=0.12)  # 418 to 431 GB/s measured


@settings(deadline=None)
@given(sizes, ranks)
def test_never_faster_than_the_wire(size, n):
    for collective in (c.all_gather, c.reduce_scatter, c.all_to_all):
        found = collective(size, n, **NVLINK, coef=REDUCE)
        assert found.time >= found.bytes / NVLINK["bandwidth"]


@settings(deadline=None)
@given(sizes, ranks, st.floats(1.0, 100.0))
def test_more_bytes_never_arrive_sooner(size, n, factor):
    assert c.all_reduce(size * factor, n, **NVLINK, coef=REDUCE).time >= c.all_reduce(
        size, n, **NVLINK, coef=REDUCE
    ).time * (1 - 1e-12)


def two_levels(size, inner, outer):
    return c.hierarchical_all_reduce(
        size, inner, outer, fast=H100.link_bandwidth, slow=NIC, fast_coef=REDUCE, slow_coef=NETWORK
    )


def test_reducing_inside_the_node_first_saves_network_time():
    flat = c.all_reduce(1e9, 64.0, bandwidth=NIC, coef=NETWORK)
    assert two_levels(1e9, 8.0, 8.0).time < 0.5 * flat.time


def test_hierarchy_of_one_level_is_the_flat_collective():
    assert float(two_levels(1e8, 1.0, 8.0).time) == pytest.approx(
        float(c.all_reduce(1e8, 8.0, bandwidth=NIC, coef=NETWORK).time)
    )
    assert float(two_levels(1e8, 8.0, 1.0).time) == pytest.approx(
        float(
            c.reduce_scatter(1e8, 8.0, **NVLINK, coef=REDUCE).time + c.all_gather(1e8, 8.0, **NVLINK, coef=REDUCE).time
        )
    )


def test_arrays_and_scalars_agree():
    many = np.array([1e3, 1e6, 1e9])
    together = c.all_reduce(many, 8.0, **NVLINK, coef=REDUCE).time
    assert [float(c.all_reduce(size, 8.0, **NVLINK, coef=REDUCE).time) for size in many] == pytest.approx(
        together.tolist(), rel=1e-14
    )


def test_link_of_a_group_is_the_slowest_that_it_crosses():
    gpu = H100.columns()
    assert float(c.group_bandwidth(8.0, gpu, NIC)) == H100.link_bandwidth
    assert float(c.group_bandwidth(16.0, gpu, NIC)) == NIC
    l40s = presets()["l40s"].columns()
    assert float(c.group_bandwidth(4.0, l40s, NIC)) == l40s.pcie_bandwidth
    assert (
        float(c.group_bandwidth(72.0, presets()["gb200-186gb"].columns(), NIC))
        == presets()["gb200-186gb"].link_bandwidth
    )
