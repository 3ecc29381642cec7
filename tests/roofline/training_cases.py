"""Training scenarios for tests: one base case, and copies of it with single values changed."""

from dataclasses import fields, replace
from typing import Any

import numpy as np

from roofline import architecture, codes, hardware
from roofline.columns import Batch, Layout, Levers, Training
from roofline.training import TrainingCoefficients, load

LEVERS_ON = (
    "flash_attention_2",
    "flash_attention_3",
    "fused_kernels",
    "comm_overlap",
    "topology_aware",
    "hierarchical_allreduce",
)
RECORDS = ("model", "gpu", "layout", "levers", "training")


def config(**changes: Any) -> dict[str, Any]:
    """A Llama of 70B parameters."""
    base = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 8192,
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
        "intermediate_size": 28672,
        "vocab_size": 128256,
        "max_position_embeddings": 8192,
        "tie_word_embeddings": False,
    }
    return base | changes


def moe_config(**changes: Any) -> dict[str, Any]:
    """A mixture of experts of the Mixtral kind."""
    return config(
        model_type="mixtral",
        architectures=["MixtralForCausalLM"],
        hidden_size=4096,
        num_hidden_layers=32,
        num_attention_heads=32,
        intermediate_size=14336,
        num_local_experts=8,
        num_experts_per_tok=2,
        **changes,
    )


def batch(model: dict[str, Any] | None = None, gpu: str = "h100-sxm5-80gb", **changes: Any) -> Batch:
    """A batch of shape () or of the shape of the changed values; names are those of the columns."""
    gpus = changes.pop("gpus", 64.0)
    parallel = {name: float(changes.get(name, default)) for name, default in (("tp", 8), ("pp", 1), ("cp", 1))}
    columns: dict[str, Any] = {
        **parallel,
        "gpus": gpus,
        "dp": gpus / (parallel["tp"] * parallel["pp"] * parallel["cp"]),
        "ep": 1.0,
        "expert_tp": 1.0 if np.max(changes.get("ep", 1)) > 1 else parallel["tp"],
        "zero_stage": 1.0,
        "virtual_pipeline": 1.0,
        "sequence_parallel": 1.0,
        "attention_dp": 0.0,
        "gpus_per_node": 8.0,
        "internode_bandwidth": 50e9,
        "method": codes.METHODS.index("pretrain"),
        "framework": codes.FRAMEWORKS.index("nemo"),
        "framework_year": 2025.5,
        "precision": codes.TRAINING_PRECISIONS.index("bf16"),
        "gradient_dtype": 1,
        "seq_len": 4096.0,
        "global_batch": 512.0,
        "micro_batch": 1.0,
        "recompute": 0,
        "optimizer": 0,
        "total_tokens": 1e12,
        "lora_rank": 16.0,
        "lora_targets": 1,
        "padding_fraction": 0.0,
        "data_loader_bytes_per_s": np.inf,
        **{field.name: float(field.name in LEVERS_ON) for field in fields(Levers)},
        **changes,
    }
    accelerator = hardware.presets()[gpu].columns()
    names = {name for name in columns if name in accelerator.__slots__} - {"gpus_per_node"}
    return Batch(
        model=architecture.parse(model or config()).columns(),
        gpu=replace(accelerator, **{name: columns[name] for name in names}),
        layout=Layout(**{field.name: columns[field.name] for field in fields(Layout)}),
        levers=Levers(**{field.name: columns[field.name] for field in fields(Levers)}),
        training=Training(**{field.name: columns[field.name] for field in fields(Training)}),
    )


def coefficients(gpu: str = "h100-sxm5-80gb") -> TrainingCoefficients:
    """The shipped coefficients for one GPU."""
    return load((hardware.presets()[gpu],))
