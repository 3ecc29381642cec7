"""Every optimization acts through its cause, in the right direction and in a plausible measure."""

import pytest

from roofline import codes, training
from tests.roofline.training_cases import batch, coefficients, config, moe_config

SMALL = config(
    hidden_size=768,
    num_hidden_layers=12,
    num_attention_heads=12,
    num_key_value_heads=12,
    intermediate_size=3072,
    vocab_size=50304,
)
HOPPER, BLACKWELL = "h100-sxm5-80gb", "gb200-186gb"


def tokens(gpu=HOPPER, **changes):
    return float(training.predict(batch(gpu=gpu, **changes), coefficients(gpu)).tokens_per_s)


def gain(lever, **case):
    """Speed with the lever over speed without it."""
    return tokens(**case, **{lever: 1.0}) / tokens(**case, **{lever: 0.0})


@pytest.mark.parametrize(
    ("lever", "case", "low", "high"),
    [
        ("flash_attention_3", {"seq_len": 32768.0, "global_batch": 64.0, "cp": 2}, 1.1, 2.0),
        ("fused_kernels", {"torch_compile": 0.0}, 1.02, 1.5),
        ("torch_compile", {"fused_kernels": 0.0}, 1.02, 1.5),
        ("comm_overlap", {}, 1.02, 1.6),
        ("topology_aware", {"gpus": 128.0}, 1.2, 60.0),
        ("hierarchical_allreduce", {"tp": 1, "gpus": 128.0, "global_batch": 128.0}, 1.02, 8.0),
        (
            "gradient_compression",
            {"tp": 1, "gpus": 256.0, "global_batch": 256.0, "internode_bandwidth": 3e9},
            1.02,
            4.0,
        ),
        ("cuda_graphs", {"model": SMALL, "tp": 1, "gpus": 8.0, "seq_len": 512.0, "global_batch": 256.0}, 1.05, 4.0),
        ("sequence_packing", {"padding_fraction": 0.25}, 1.333, 1.334),
    ],
)
def test_lever_helps(lever, case, low, high):
    assert low <= gain(lever, **case) <= high


def test_flash_attention_spares_the_score_matrix():
    case = {"seq_len": 8192.0, "flash_attention_3": 0.0}
    assert 1.2 < gain("flash_attention_2", **case) < 6


def test_fp8_is_faster_but_not_twice():
    ratio = tokens(precision=codes.TRAINING_PRECISIONS.index("fp8")) / tokens()
    assert 1.2 < ratio < 1.9


def test_nvfp4_beats_fp8_on_blackwell():
    eight, four = (
        tokens(gpu=BLACKWELL, precision=codes.TRAINING_PRECISIONS.index(name)) for name in ("mxfp8", "nvfp4")
    )
    assert 1.0 < four / eight < 2.0


def test_hardware_without_8_bit_units_gains_nothing():
    plain, eight = (
        tokens(gpu="a100-sxm4-80gb", precision=codes.TRAINING_PRECISIONS.index(name)) for name in ("bf16", "fp8")
    )
    assert eight <= plain * 1.0001


def test_tokens_that_are_no_multiple_of_eight_cost():
    aligned, odd = (tokens(seq_len=length, tp=1, sequence_parallel=0.0) for length in (4096.0, 4095.0))
    assert 0.75 < odd / aligned < 0.97


def test_accumulation_spares_gradient_traffic():
    case = {"tp": 1, "gpus": 64.0, "internode_bandwidth": 10e9}
    once, often = tokens(global_batch=64.0, **case), tokens(global_batch=1024.0, **case)
    assert often > 1.1 * once


def test_data_loader_is_a_ceiling():
    assert tokens(data_loader_bytes_per_s=4e4) == pytest.approx(1e4)


def test_adapters_train_faster_than_all_weights():
    assert 1.2 < tokens(method=codes.METHODS.index("lora")) / tokens() < 1.7


def test_four_bit_base_costs_its_conversion():
    lora, qlora = (tokens(method=codes.METHODS.index(name), tp=1, gpus=8.0) for name in ("lora", "qlora"))
    assert qlora < lora


def test_newer_software_is_faster_most_of_all_for_experts():
    dense = tokens(framework_year=2026.0) / tokens(framework_year=2024.3)
    moe = {"model": moe_config(), "tp": 1, "ep": 8, "gpus": 8.0}
    assert dense > 1.0
    assert tokens(framework_year=2026.0, **moe) > tokens(framework_year=2024.3, **moe)


def test_experts_over_the_network_are_slower():
    case = {"model": moe_config(), "tp": 1, "gpus": 64.0}
    assert tokens(ep=8, **case) > tokens(ep=8, topology_aware=0.0, **case)


def test_scale_costs():
    per_gpu = [tokens(gpus=count, global_batch=8 * count) / count for count in (64.0, 1024.0, 8192.0)]
    assert per_gpu == sorted(per_gpu, reverse=True)
    assert per_gpu[-1] > 0.75 * per_gpu[0]


def test_full_sharding_costs_little_on_fast_links_and_much_on_slow_ones():
    case = {"tp": 1, "gpus": 64.0, "zero_stage": 3.0, "global_batch": 64.0}
    fast, slow = tokens(internode_bandwidth=100e9, **case), tokens(internode_bandwidth=5e9, **case)
    assert slow < 0.6 * fast


@pytest.mark.parametrize("gpu", ["a100-pcie-80gb", "l40s", "rtx-3090", "h100-sxm5-80gb"])
@pytest.mark.parametrize("stage", [0.0, 1.0, 3.0])
def test_placement_by_topology_never_costs_speed(gpu: str, stage: float) -> None:
    """Pairs of bridged cards, PCIe alone and a whole machine on one switch: what a scattered group loses nobody gains."""
    for tp, pp in ((1.0, 2.0), (2.0, 1.0), (4.0, 2.0)):
        case = {"gpu": gpu, "gpus": 16.0, "tp": tp, "pp": pp, "zero_stage": stage, "seq_len": 1024.0}
        assert gain("topology_aware", **case, global_batch=128.0) >= 1.0 - 1e-9
