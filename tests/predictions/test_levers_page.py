"""The page of levers says what the engine says."""

import re
from pathlib import Path
from typing import Any

import pytest

from predictions.services import predict_many

pytestmark = pytest.mark.django_db
PAGE = Path(__file__).resolve().parents[2] / "docs" / "algorithms" / "levers.md"
SLACK = 0.04  # of a ratio with three digits, and room for a fit that moves it a little
TRAINED = (
    "flash_attention_2",
    "flash_attention_3",
    "fused_kernels",
    "comm_overlap",
    "topology_aware",
    "hierarchical_allreduce",
)
SERVED = (*TRAINED[:3], "cuda_graphs", "topology_aware", "paged_attention", "continuous_batching", "chunked_prefill")
HOPPER, AMPERE = "h100-sxm5-80gb", "a100-sxm4-80gb"
Json = dict[str, Any]


def trained(model: str, gpu: str, gpus: int, load: tuple[int, int], tp: int = 1, pp: int = 1, **own: Any) -> Json:
    """A set-up of the page; `load` is tokens and sequences of a step."""
    stage = own.pop("zero_stage", 1)
    pinned = {"tp": tp, "pp": pp, "cp": 1, "ep": 1, "dp": gpus // tp // pp, "virtual_pipeline": 1}
    seq_len, sequences = load
    training = {"framework": "megatron", "seq_len": seq_len, "global_batch": sequences, "micro_batch": 1}
    return {
        "workload": "training",
        "model": model,
        "gpu": gpu,
        "gpu_count": gpus,
        "parallelism": {**pinned, "zero_stage": stage, "sequence_parallel": tp > 1},
        "training": {**training, "recompute": "none", **own},
        "optimizations": list(TRAINED),
    }


def served(**load: Any) -> Json:
    return {
        "workload": "inference",
        "model": "meta-llama/Meta-Llama-3.1-8B",
        "gpu": HOPPER,
        "gpu_count": 1,
        "inference": {"engine": "vllm", "input_tokens": 1024, "output_tokens": 256, **load},
        "optimizations": list(SERVED),
    }


LLAMA_8B, LLAMA_70B = "meta-llama/Meta-Llama-3-8B", "meta-llama/Meta-Llama-3-70B"
SETUPS = {
    "T8": trained(LLAMA_8B, HOPPER, 8, (8192, 64), framework="fsdp", zero_stage=3, recompute="full"),
    "T70": trained(LLAMA_70B, HOPPER, 64, (8192, 128), tp=8, pp=4),
    "T256": trained(LLAMA_70B, HOPPER, 256, (4096, 64), tp=8),
    "G": trained("EleutherAI/pythia-1.4b", AMPERE, 8, (2048, 128)),
    "S1": served(concurrency=1),
    "S64": served(concurrency=64),
    "L": served(input_tokens=8000, output_tokens=500, concurrency="max", max_model_len=32768),
}
LEVERS = {
    "FlashAttention 3": "flash_attention_3",
    "fused kernels": "fused_kernels",
    "fused kernels, torch.compile": "fused_kernels",
    "CUDA graphs": "cuda_graphs",
    "communication overlap": "comm_overlap",
    "topology-aware placement": "topology_aware",
    "gradient compression": "gradient_compression",
    "continuous batching": "continuous_batching",
    "chunked prefill": "chunked_prefill",
}


def stated() -> list[tuple[str, str, float]]:
    """Lever, set-up and ratio of speed, wherever a row says "SETUP 1.23x"."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        label, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        if label in LEVERS:
            ratios = re.findall(rf"\b({'|'.join(SETUPS)}) (\d\.\d\d)x", cells[1])
            found += [(LEVERS[label], setup, float(ratio)) for setup, ratio in ratios]
    return found


def speed(answer: Any) -> float:
    part = answer.get("training") or answer["inference"]
    return float(part.get("tokens_per_s_per_gpu") or part["output_tokens_per_s"])


def test_effects_of_levers_are_those_of_the_page() -> None:
    said = stated()
    assert len(said) > 20
    scenarios = []
    for lever, setup, _ in said:
        usual = SETUPS[setup]["optimizations"]
        without = [name for name in usual if name != lever]
        scenarios += [{**SETUPS[setup], "optimizations": names} for names in ([*without, lever], without)]
    speeds = [speed(answer) for answer in predict_many(scenarios, detail=False)]
    for (lever, setup, ratio), on, off in zip(said, speeds[::2], speeds[1::2], strict=True):
        assert on / off == pytest.approx(ratio, rel=SLACK), (lever, setup)
