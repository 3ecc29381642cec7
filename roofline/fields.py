"""Every field of a scenario, declared once: type, unit, bounds, default, help.

Names carry their unit here; the engine is SI. Forms, serializers, OpenAPI, links, docs and sensitivity ranges derive
from `FIELDS`.
"""

from dataclasses import dataclass
from typing import Any

from roofline import codes


@dataclass(frozen=True)
class Field:
    """One value of a scenario.

    `kind`: text, integer, number, boolean, choice, choices (a list), object, or count (an integer or "max").
    `minimum` and `maximum` are inclusive unless `above_minimum`. A default of None: left out, or chosen by the planner.
    """

    path: str
    kind: str
    label: str
    help: str
    group: str
    workload: str | None = None  # the only workload it applies to
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    above_minimum: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    swing: bool = False  # a number that a sensitivity analysis may move

    @property
    def key(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True)
class Section:
    """Declares the fields of one group: a common prefix of the path, and the workload that they belong to."""

    prefix: str
    group: str
    workload: str | None = None

    def _field(self, kind: str, name: str, label: str, help: str, **more: Any) -> Field:
        more.setdefault("workload", self.workload)
        return Field(self.prefix + name, kind, label, help, self.group, **more)

    def text(self, name: str, label: str, help: str, **more: Any) -> Field:
        return self._field("text", name, label, help, **more)

    def object(self, name: str, label: str, help: str, **more: Any) -> Field:
        return self._field("object", name, label, help, **more)

    def flag(self, name: str, label: str, help: str, **more: Any) -> Field:
        return self._field("boolean", name, label, help, **more)

    def choice(self, name: str, label: str, help: str, choices: tuple[str, ...], **more: Any) -> Field:
        return self._field("choice", name, label, help, choices=choices, **more)

    def choices(self, name: str, label: str, help: str, choices: tuple[str, ...], **more: Any) -> Field:
        return self._field("choices", name, label, help, choices=choices, **more)

    def integer(self, name: str, label: str, help: str, low: int, high: int, **more: Any) -> Field:
        return self._field("integer", name, label, help, minimum=low, maximum=high, **more)

    def count(self, name: str, label: str, help: str, low: int, high: int, **more: Any) -> Field:
        return self._field("count", name, label, help, minimum=low, maximum=high, **more)

    def number(self, name: str, label: str, help: str, low: float, high: float, **more: Any) -> Field:
        return self._field("number", name, label, help, minimum=low, maximum=high, **more)

    def share(self, name: str, label: str, help: str, **more: Any) -> Field:
        return self.number(name, label, help, 0, 1, **more)


MOST_GPUS = 200_000
MOST_TOKENS = 10_000_000
OPTIMIZATIONS = (
    "flash_attention_2",
    "flash_attention_3",
    "fused_kernels",
    "torch_compile",
    "cuda_graphs",
    "comm_overlap",
    "topology_aware",
    "hierarchical_allreduce",
    "gradient_compression",
    "paged_attention",
    "continuous_batching",
    "chunked_prefill",
    "sequence_packing",
)

WHAT = Section("", "what")
NODE = Section("", "parallelism")
PARALLEL = Section("parallelism.", "parallelism")
TRAIN = Section("training.", "training", "training")
SERVE = Section("inference.", "inference", "inference")
TUNE = Section("", "optimizations")
PRICE = Section("", "price")

FIELDS: tuple[Field, ...] = (
    WHAT.text("name", "Name", "Free text, echoed in the answer.", default=""),
    WHAT.choice("workload", "Workload", "Training or serving (inference).", codes.WORKLOADS),
    WHAT.text("model", "Model", "Catalogue name: id, last part of an id, or alias."),
    WHAT.object("model_config", "Model configuration", "A Hugging Face config.json as it is."),
    WHAT.number(
        "model_size.params_b",
        "Parameters",
        "Total size; typical dimensions are chosen and named.",
        0.01,
        1e5,
        unit="10^9",
    ),
    WHAT.number(
        "model_size.active_params_b",
        "Active parameters",
        "Parameters that one token uses (MoE).",
        0.01,
        1e5,
        unit="10^9",
    ),
    WHAT.text("gpu", "GPU", "Catalogue name: id or alias."),
    WHAT.object("gpu_spec", "GPU specification", "Columns of the GPU catalogue for hardware that is not in it."),
    WHAT.integer("gpu_count", "GPUs", "How many in all. Left out: the fewest that fit.", 1, MOST_GPUS),
    NODE.integer("gpus_per_node", "GPUs per node", "GPUs that share a machine.", 1, 1_024),
    NODE.number(
        "internode_gbps_per_gpu",
        "Network per GPU",
        "Network bandwidth of one GPU, one direction.",
        0,
        1e5,
        unit="Gb/s",
        above_minimum=True,
        swing=True,
    ),
    PARALLEL.integer("tp", "Tensor parallel", "Ranks that share every layer.", 1, 1_024),
    PARALLEL.integer("pp", "Pipeline parallel", "Stages.", 1, 1_024),
    PARALLEL.integer("cp", "Context parallel", "Ranks that share a sequence.", 1, 1_024),
    PARALLEL.integer("ep", "Expert parallel", "Ranks over which experts are spread; adds no GPUs.", 1, 4_096),
    PARALLEL.integer("dp", "Data parallel", "Replicas; with attention_dp ranks that share the experts.", 1, MOST_GPUS),
    PARALLEL.integer("expert_tp", "Expert tensor parallel", "Ranks that share one expert.", 1, 1_024),
    PARALLEL.integer(
        "zero_stage",
        "ZeRO stage",
        "What data-parallel ranks shard: 1 optimizer, 2 and gradients, 3 and weights (FSDP).",
        0,
        3,
        workload="training",
    ),
    PARALLEL.integer(
        "virtual_pipeline",
        "Virtual stages",
        "Model chunks on each pipeline rank (interleaved schedule).",
        1,
        128,
        workload="training",
    ),
    PARALLEL.flag(
        "sequence_parallel", "Sequence parallel", "Norms and residuals are split over the tensor-parallel ranks."
    ),
    PARALLEL.flag(
        "attention_dp", "Attention data parallel", "Attention is replicated, experts are shared.", workload="inference"
    ),
    TRAIN.choice("method", "Method", "What is trained.", codes.METHODS, default="pretrain"),
    TRAIN.choice("framework", "Framework", "Whose overheads and habits apply.", codes.FRAMEWORKS, default="megatron"),
    TRAIN.text("framework_version", "Framework version", "A version or a date; newer kernels are faster."),
    TRAIN.choice(
        "precision", "Precision", "Number format of the matrix products.", codes.TRAINING_PRECISIONS, default="bf16"
    ),
    TRAIN.choice("gradient_dtype", "Gradients", "Format in which gradients are summed.", codes.GRADIENT_DTYPES),
    TRAIN.integer("seq_len", "Sequence length", "Tokens of one sequence.", 1, MOST_TOKENS, unit="tokens", default=4096),
    TRAIN.integer("global_batch", "Global batch", "Sequences of one optimizer step.", 1, MOST_TOKENS, unit="sequences"),
    TRAIN.integer(
        "micro_batch", "Micro-batch", "Sequences that one rank computes at once.", 1, 1_000_000, unit="sequences"
    ),
    TRAIN.choice("recompute", "Recompute", "Activations computed again in the backward pass.", codes.RECOMPUTES),
    TRAIN.choice("optimizer", "Optimizer", "Sets the bytes of optimizer states.", codes.OPTIMIZERS, default="adamw"),
    TRAIN.number(
        "total_tokens",
        "Tokens in all",
        "Length of the run; gives time to train and cost of the run.",
        0,
        1e18,
        unit="tokens",
        above_minimum=True,
    ),
    TRAIN.integer("lora_rank", "LoRA rank", "Rank of the adapters.", 1, 65_536, default=16),
    TRAIN.choice("lora_targets", "LoRA targets", "Layers that get adapters.", codes.LORA_TARGETS, default="all_linear"),
    TRAIN.number("padding_fraction", "Padding", "Share of tokens that are padding.", 0, 0.99, default=0.0, swing=True),
    TRAIN.number(
        "data_loader_bytes_per_s",
        "Data loader",
        "Bytes per second that the input pipeline delivers.",
        0,
        1e15,
        unit="B/s",
        above_minimum=True,
    ),
    SERVE.choice("engine", "Engine", "Serving engine.", codes.ENGINES, default="vllm"),
    SERVE.choice(
        "backend",
        "Back end",
        "What llama.cpp runs on; rocblas is ROCm without hipBLASLt. Left out: the usual one of the GPU's vendor.",
        codes.BACKENDS[1:],
    ),
    SERVE.text("engine_version", "Engine version", "Memory and scheduling habits follow the version."),
    SERVE.integer("input_tokens", "Input", "Mean prompt length.", 1, MOST_TOKENS, unit="tokens", default=1024),
    SERVE.integer("output_tokens", "Output", "Mean length of an answer.", 1, MOST_TOKENS, unit="tokens", default=256),
    SERVE.count(
        "concurrency", "Concurrency", 'Requests in flight in the whole system, or "max": all that fits.', 1, MOST_TOKENS
    ),
    SERVE.number(
        "request_rate_per_s",
        "Request rate",
        "Arrivals per second in the whole system.",
        0,
        1e7,
        unit="1/s",
        above_minimum=True,
    ),
    SERVE.choice("weights", "Weights", "Storage format of the weights.", codes.WEIGHT_FORMATS),
    SERVE.choice(
        "activations", "Activations", "Format of the activations in matrix products.", codes.ACTIVATION_FORMATS
    ),
    SERVE.choice("kv_cache", "KV cache", "Storage format of keys and values.", codes.KV_FORMATS, default="bf16"),
    SERVE.integer(
        "max_model_len",
        "Longest sequence",
        "Longest prompt and answer that the engine admits.",
        1,
        MOST_TOKENS,
        unit="tokens",
    ),
    SERVE.share(
        "gpu_memory_utilization",
        "Memory share",
        "Share of GPU memory that the engine may use.",
        default=0.9,
        above_minimum=True,
    ),
    SERVE.integer(
        "max_num_batched_tokens",
        "Batched tokens",
        "Tokens that one forward pass may hold.",
        1,
        MOST_TOKENS,
        unit="tokens",
    ),
    SERVE.integer("max_num_seqs", "Sequences at once", "Sequences that one replica runs at once.", 1, 1_000_000),
    SERVE.share(
        "prefix_cache_hit", "Prefix cache hit", "Share of prompt tokens found in the cache.", default=0.0, swing=True
    ),
    SERVE.integer("speculative.draft_tokens", "Draft tokens", "Tokens guessed in each step.", 1, 64),
    SERVE.share("speculative.acceptance", "Acceptance", "Chance that one drafted token is accepted.", swing=True),
    SERVE.share(
        "speculative.draft_cost", "Draft cost", "Time of one draft pass as a share of the model's own.", swing=True
    ),
    SERVE.integer("disaggregated.prefill.gpus", "Prefill GPUs", "GPUs of the prefill pool.", 1, MOST_GPUS),
    SERVE.integer("disaggregated.prefill.tp", "Prefill TP", "Tensor parallel of a prefill instance.", 1, 1_024),
    SERVE.flag(
        "disaggregated.prefill.attention_dp",
        "Prefill attention DP",
        "Attention is replicated in this pool, experts are shared. Left out: as parallelism.attention_dp says.",
    ),
    SERVE.integer("disaggregated.decode.gpus", "Decode GPUs", "GPUs of the decode pool.", 1, MOST_GPUS),
    SERVE.integer("disaggregated.decode.tp", "Decode TP", "Tensor parallel of a decode instance.", 1, 1_024),
    SERVE.flag(
        "disaggregated.decode.attention_dp",
        "Decode attention DP",
        "Attention is replicated in this pool, experts are shared. Left out: as parallelism.attention_dp says.",
    ),
    SERVE.number("slo.ttft_s", "TTFT limit", "Longest time to the first token.", 0, 1e6, unit="s", above_minimum=True),
    SERVE.number(
        "slo.tpot_s", "TPOT limit", "Longest time for one output token.", 0, 1e6, unit="s", above_minimum=True
    ),
    SERVE.number(
        "slo.percentile", "Percentile", "Share of requests that must meet the limits.", 0, 100, above_minimum=True
    ),
    TUNE.choices(
        "optimizations",
        "Optimizations",
        "Levers that are on. Left out: those that today's software turns on.",
        OPTIMIZATIONS,
    ),
    PRICE.number(
        "price.usd_per_gpu_hour", "Price", "Dollars for one GPU for one hour.", 0, 1e6, unit="$/GPU/h", swing=True
    ),
    PRICE.text("price.offer", "Offer", "Id of a stored offer."),
    PRICE.object("price.tco", "Ownership", "Purchase price and running costs; see the keys of TCO_FIELDS."),
    PRICE.share(
        "utilization",
        "Utilization",
        "Share of provisioned time that is used.",
        default=1.0,
        above_minimum=True,
        swing=True,
    ),
    PRICE.share(
        "goodput",
        "Goodput",
        "Share of time not lost to failures and restarts.",
        default=1.0,
        above_minimum=True,
        swing=True,
    ),
)
BY_PATH: dict[str, Field] = {f.path: f for f in FIELDS}
