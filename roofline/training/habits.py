"""What the recipes of training frameworks turn on by themselves: validation assumes it for runs that do not say, scenarios by default."""

import math

ASYNCHRONOUS_ATTENTION = 2024.0  # software from here on has attention kernels for the generation's asynchronous units
NEW_ATTENTION = ("nemo", "megatron", "maxtext", "torchtitan", "other")
FUSING = ("megatron", "nemo", "deepspeed", "nanotron", "maxtext", "llm_foundry")
COMPILING = ("maxtext",)
ALWAYS = ("comm_overlap", "topology_aware", "hierarchical_allreduce")


def newest_attention(framework: str, year: float) -> bool:
    """Whether a framework of that date (nan: today's) brings attention kernels of the newest generation."""
    return framework in NEW_ATTENTION and (math.isnan(year) or year >= ASYNCHRONOUS_ATTENTION)


def usual_levers(framework: str, year: float) -> tuple[str, ...]:
    """Names of codes of levers that recipes of `framework` of that date (nan: today's) have on.

    >>> usual_levers("hf_trainer", math.nan)[:2]
    ('flash_attention_2', 'comm_overlap')
    """
    wanted = {
        "flash_attention_2": True,
        "flash_attention_3": newest_attention(framework, year),
        "fused_kernels": framework in FUSING,
        "torch_compile": framework in COMPILING,
    }
    return (*(name for name, on in wanted.items() if on), *ALWAYS)
