"""The scenario: every field declared once. Forms, serializers, OpenAPI, links, docs and tornado ranges derive from `FIELDS`.

`parse` turns the JSON of a scenario into a flat mapping of paths ("parallelism.tp") to values, each marked given or default, and refuses
whatever it does not know with the field's path and a sentence that says what is allowed. Names carry their unit here; the engine is SI.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roofline import codes, rules
from roofline.errors import ScenarioError

Value = Any


@dataclass(frozen=True)
class Field:
    """One value of a scenario.

    `kind`: text, integer, number, boolean, choice, choices (a list), object, or count (an integer or "max").
    `minimum` and `maximum` are inclusive unless `above_minimum`. A default of None means: left out, or chosen by the planner.
    """

    path: str
    kind: str
    label: str
    help: str
    group: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    above_minimum: bool = False
    default: Value = None
    choices: tuple[str, ...] = ()
    workload: str | None = None
    swing: bool = False  # a number that a sensitivity analysis may move

    @property
    def key(self) -> str:
        """The last part of the path."""
        return self.path.rpartition(".")[2]


def _integer(path: str, label: str, help: str, group: str, maximum: float, **more: Any) -> Field:
    return Field(path, "integer", label, help, group, minimum=more.pop("minimum", 1), maximum=maximum, **more)


def _number(path: str, label: str, help: str, group: str, maximum: float, **more: Any) -> Field:
    return Field(path, "number", label, help, group, minimum=more.pop("minimum", 0), maximum=maximum, **more)


def _share(path: str, label: str, help: str, group: str, **more: Any) -> Field:
    return _number(path, label, help, group, 1, **more)


def _choice(path: str, label: str, help: str, group: str, choices: tuple[str, ...], **more: Any) -> Field:
    return Field(path, "choice", label, help, group, choices=choices, **more)


def _flag(path: str, label: str, help: str, group: str, **more: Any) -> Field:
    return Field(path, "boolean", label, help, group, **more)


MOST_GPUS = 200_000
MOST_TOKENS = 10_000_000
TRAIN = {"workload": "training"}
SERVE = {"workload": "inference"}

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
DEFAULT_OPTIMIZATIONS = {
    "training": ("flash_attention_2", "fused_kernels", "comm_overlap", "topology_aware", "hierarchical_allreduce"),
    "inference": ("flash_attention_2", "fused_kernels", "cuda_graphs", "topology_aware", "paged_attention", "continuous_batching", "chunked_prefill"),
}

FIELDS: tuple[Field, ...] = (
    Field("name", "text", "Name", "Free text, echoed in the answer.", "what", default=""),
    _choice("workload", "Workload", "Training or serving (inference).", "what", codes.WORKLOADS),
    Field("model", "text", "Model", "Catalogue name: id, last part of an id, or alias.", "what"),
    Field("model_config", "object", "Model configuration", "A Hugging Face config.json as it is.", "what"),
    _number("model_size.params_b", "Parameters", "Total size; typical dimensions are chosen and named.", "what", 1e5, minimum=0.001, unit="10^9"),
    _number("model_size.active_params_b", "Active parameters", "Parameters that one token uses (MoE).", "what", 1e5, minimum=0.001, unit="10^9"),
    Field("gpu", "text", "GPU", "Catalogue name: id or alias.", "what"),
    Field("gpu_spec", "object", "GPU specification", "Columns of the GPU catalogue for hardware that is not in it.", "what"),
    _integer("gpu_count", "GPUs", "How many in all. Left out: the fewest that fit.", "what", MOST_GPUS),
    _integer("gpus_per_node", "GPUs per node", "GPUs that share a machine.", "parallelism", 1024),
    _number("internode_gbps_per_gpu", "Network per GPU", "Network bandwidth of one GPU, one direction.", "parallelism", 1e5, above_minimum=True, unit="Gb/s", swing=True),
    _integer("parallelism.tp", "Tensor parallel", "Ranks that share every layer.", "parallelism", 1024),
    _integer("parallelism.pp", "Pipeline parallel", "Stages.", "parallelism", 1024),
    _integer("parallelism.cp", "Context parallel", "Ranks that share a sequence.", "parallelism", 1024),
    _integer("parallelism.ep", "Expert parallel", "Ranks over which experts are spread; adds no GPUs.", "parallelism", 4096),
    _integer("parallelism.dp", "Data parallel", "Replicas; with attention_dp ranks that share the experts.", "parallelism", MOST_GPUS),
    _integer("parallelism.expert_tp", "Expert tensor parallel", "Ranks that share one expert.", "parallelism", 1024),
    _integer("parallelism.zero_stage", "ZeRO stage", "What data-parallel ranks shard: 1 optimizer, 2 and gradients, 3 and weights (FSDP).", "parallelism", 3, minimum=0, **TRAIN),
    _integer("parallelism.virtual_pipeline", "Virtual stages", "Model chunks on each pipeline rank (interleaved schedule).", "parallelism", 128, default=1, **TRAIN),
    _flag("parallelism.sequence_parallel", "Sequence parallel", "Norms and residuals are split over the tensor-parallel ranks.", "parallelism"),
    _flag("parallelism.attention_dp", "Attention data parallel", "Attention is replicated, experts are shared.", "parallelism", **SERVE),
    _choice("training.method", "Method", "What is trained.", "training", codes.METHODS, default="pretrain", **TRAIN),
    _choice("training.framework", "Framework", "Whose overheads and habits apply.", "training", codes.FRAMEWORKS, default="megatron", **TRAIN),
    Field("training.framework_version", "text", "Framework version", "A version or a date; newer kernels are faster.", "training", **TRAIN),
    _choice("training.precision", "Precision", "Number format of the matrix products.", "training", codes.TRAINING_PRECISIONS, default="bf16", **TRAIN),
    _choice("training.gradient_dtype", "Gradients", "Format in which gradients are summed.", "training", codes.GRADIENT_DTYPES, **TRAIN),
    _integer("training.seq_len", "Sequence length", "Tokens of one sequence.", "training", MOST_TOKENS, default=4096, unit="tokens", **TRAIN),
    _integer("training.global_batch", "Global batch", "Sequences of one optimizer step.", "training", 10_000_000, unit="sequences", **TRAIN),
    _integer("training.micro_batch", "Micro-batch", "Sequences that one rank computes at once.", "training", 1_000_000, unit="sequences", **TRAIN),
    _choice("training.recompute", "Recompute", "Activations computed again in the backward pass.", "training", codes.RECOMPUTES, **TRAIN),
    _choice("training.optimizer", "Optimizer", "Sets the bytes of optimizer states.", "training", codes.OPTIMIZERS, default="adamw", **TRAIN),
    _number("training.total_tokens", "Tokens in all", "Length of the run; gives time to train and cost of the run.", "training", 1e18, above_minimum=True, unit="tokens", **TRAIN),
    _integer("training.lora_rank", "LoRA rank", "Rank of the adapters.", "training", 65_536, default=16, **TRAIN),
    _choice("training.lora_targets", "LoRA targets", "Layers that get adapters.", "training", codes.LORA_TARGETS, default="all_linear", **TRAIN),
    _share("training.padding_fraction", "Padding", "Share of tokens that are padding.", "training", default=0.0, swing=True, **TRAIN),
    _number("training.data_loader_bytes_per_s", "Data loader", "Bytes per second that the input pipeline delivers.", "training", 1e15, above_minimum=True, unit="B/s", **TRAIN),
    _choice("inference.engine", "Engine", "Serving engine.", "inference", codes.ENGINES, default="vllm", **SERVE),
    Field("inference.engine_version", "text", "Engine version", "Memory and scheduling habits follow the version.", "inference", **SERVE),
    _integer("inference.input_tokens", "Input", "Mean prompt length.", "inference", MOST_TOKENS, default=1024, unit="tokens", **SERVE),
    _integer("inference.output_tokens", "Output", "Mean length of an answer.", "inference", MOST_TOKENS, default=256, unit="tokens", **SERVE),
    Field("inference.concurrency", "count", "Concurrency", 'Requests in flight in the whole system, or "max": all that fits.', "inference", minimum=1, maximum=10_000_000, **SERVE),
    _number("inference.request_rate_per_s", "Request rate", "Arrivals per second in the whole system.", "inference", 1e7, above_minimum=True, unit="1/s", **SERVE),
    _choice("inference.weights", "Weights", "Storage format of the weights.", "inference", codes.WEIGHT_FORMATS, **SERVE),
    _choice("inference.activations", "Activations", "Format of the activations in matrix products.", "inference", codes.ACTIVATION_FORMATS, **SERVE),
    _choice("inference.kv_cache", "KV cache", "Storage format of keys and values.", "inference", codes.KV_FORMATS, default="bf16", **SERVE),
    _integer("inference.max_model_len", "Longest sequence", "Longest prompt and answer that the engine admits.", "inference", MOST_TOKENS, unit="tokens", **SERVE),
    _share("inference.gpu_memory_utilization", "Memory share", "Share of GPU memory that the engine may use.", "inference", default=0.9, above_minimum=True, **SERVE),
    _integer("inference.max_num_batched_tokens", "Batched tokens", "Tokens that one forward pass may hold.", "inference", MOST_TOKENS, unit="tokens", **SERVE),
    _integer("inference.max_num_seqs", "Sequences at once", "Sequences that one replica runs at once.", "inference", 1_000_000, **SERVE),
    _share("inference.prefix_cache_hit", "Prefix cache hit", "Share of prompt tokens found in the cache.", "inference", default=0.0, swing=True, **SERVE),
    _integer("inference.speculative.draft_tokens", "Draft tokens", "Tokens guessed in each step.", "inference", 64, **SERVE),
    _share("inference.speculative.acceptance", "Acceptance", "Chance that one drafted token is accepted.", "inference", swing=True, **SERVE),
    _share("inference.speculative.draft_cost", "Draft cost", "Time of one draft pass as a share of the model's own.", "inference", swing=True, **SERVE),
    _integer("inference.disaggregated.prefill.gpus", "Prefill GPUs", "GPUs of the prefill pool.", "inference", MOST_GPUS, **SERVE),
    _integer("inference.disaggregated.prefill.tp", "Prefill TP", "Tensor parallel of a prefill instance.", "inference", 1024, **SERVE),
    _integer("inference.disaggregated.decode.gpus", "Decode GPUs", "GPUs of the decode pool.", "inference", MOST_GPUS, **SERVE),
    _integer("inference.disaggregated.decode.tp", "Decode TP", "Tensor parallel of a decode instance.", "inference", 1024, **SERVE),
    _number("inference.slo.ttft_s", "TTFT limit", "Longest time to the first token.", "inference", 1e6, above_minimum=True, unit="s", **SERVE),
    _number("inference.slo.tpot_s", "TPOT limit", "Longest time for one output token.", "inference", 1e6, above_minimum=True, unit="s", **SERVE),
    _number("inference.slo.percentile", "Percentile", "Share of requests that must meet the limits.", "inference", 100, above_minimum=True, **SERVE),
    Field("optimizations", "choices", "Optimizations", "Levers that are on. Left out: those that today's software turns on.", "optimizations", choices=OPTIMIZATIONS),
    _number("price.usd_per_gpu_hour", "Price", "Dollars for one GPU for one hour.", "price", 1e6, unit="$/GPU/h", swing=True),
    Field("price.offer", "text", "Offer", "Id of a stored offer.", "price"),
    Field("price.tco", "object", "Ownership", "Purchase price and running costs; see the keys of TCO_FIELDS.", "price"),
    _share("utilization", "Utilization", "Share of provisioned time that is used.", "price", default=1.0, above_minimum=True, swing=True),
    _share("goodput", "Goodput", "Share of time not lost to failures and restarts.", "price", default=1.0, above_minimum=True, swing=True),
)
BY_PATH: dict[str, Field] = {f.path: f for f in FIELDS}
# Objects whose keys are fields themselves: "parallelism", "inference.speculative", …
BRANCHES: frozenset[str] = frozenset(path.rpartition(".")[0] for path in BY_PATH if "." in path) | {"inference.disaggregated"}
LONGEST_TEXT = 500


@dataclass
class Scenario:
    """A checked scenario: `values` by path (absent is unset) and `origins` by path: given, default or chosen."""

    values: dict[str, Value]
    origins: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, fallback: Value = None) -> Value:
        """The value at `path`, or `fallback` where it is unset."""
        value = self.values.get(path)
        return fallback if value is None else value

    def choose(self, path: str, value: Value) -> None:
        """Set what the planner chose."""
        self.values[path] = value
        self.origins[path] = "chosen"

    @property
    def workload(self) -> str:
        """training or inference."""
        return str(self.values["workload"])

    def to_json(self) -> dict[str, Any]:
        """The nested form, complete: every field of this workload, unset ones as null; whole absent groups as null."""
        tree: dict[str, Any] = {}
        for f in FIELDS:
            if f.workload in (None, self.workload):
                _plant(tree, f.path.split("."), self.values.get(f.path))
        return {key: _prune(value) if isinstance(value, dict) and key not in ("model_config", "gpu_spec") else value for key, value in tree.items()}


def _plant(tree: dict[str, Any], keys: list[str], value: Value) -> None:
    for key in keys[:-1]:
        tree = tree.setdefault(key, {})
    tree[keys[-1]] = list(value) if isinstance(value, tuple) else value


OPTIONAL_GROUPS = frozenset({"speculative", "disaggregated", "slo", "model_size"})


def _prune(tree: dict[str, Any]) -> dict[str, Any] | None:
    for key, value in tree.items():
        if key in OPTIONAL_GROUPS and isinstance(value, dict):
            tree[key] = _prune(value)
    return tree if _has_value(tree) else None


def _has_value(value: Value) -> bool:
    return any(_has_value(v) for v in value.values()) if isinstance(value, dict) else value is not None


def parse(raw: object) -> Scenario:
    """A scenario from its JSON. Raises ScenarioError with every fault found, by path."""
    if not isinstance(raw, Mapping):
        raise ScenarioError({"": ["A scenario is a JSON object."]})
    faults: dict[str, list[str]] = {}
    given: dict[str, Value] = {}
    _flatten(raw, "", given, faults)
    values = {path: _checked(BY_PATH[path], value, faults) for path, value in given.items()}
    values = {path: value for path, value in values.items() if value is not None}
    rules.check_given(values, faults)
    if faults:
        raise ScenarioError(faults)
    origins = dict.fromkeys(values, "given")
    for f in FIELDS:
        if f.path not in values and f.default is not None and f.workload in (None, values["workload"]):
            values[f.path], origins[f.path] = f.default, "default"
    _default_load(values, origins)
    return Scenario(values, origins)


def _default_load(values: dict[str, Value], origins: dict[str, str]) -> None:
    """Defaults that depend on other values."""
    if "optimizations" not in values:
        values["optimizations"], origins["optimizations"] = DEFAULT_OPTIMIZATIONS[values["workload"]], "default"
    if values["workload"] == "inference" and "inference.concurrency" not in values and "inference.request_rate_per_s" not in values:
        values["inference.concurrency"], origins["inference.concurrency"] = 64, "default"


def _flatten(tree: Mapping[Any, Any], prefix: str, given: dict[str, Value], faults: dict[str, list[str]]) -> None:
    for key, value in tree.items():
        path = f"{prefix}{key}"
        if path in BY_PATH:
            given[path] = value
        elif path not in BRANCHES:
            faults[path[:200]] = [f"Unknown field. {_nearest(str(key), prefix)}"]
        elif isinstance(value, Mapping):
            _flatten(value, f"{path}.", given, faults)
        elif value is not None:
            faults[path] = [f"Must be an object with the keys {', '.join(_keys(path + '.'))}."]


def _keys(prefix: str) -> list[str]:
    return sorted({path.removeprefix(prefix).partition(".")[0] for path in BY_PATH if path.startswith(prefix)})


def _nearest(key: str, prefix: str) -> str:
    import difflib

    near = difflib.get_close_matches(key[:60], _keys(prefix), 1)
    return f"Did you mean {near[0]}?" if near else f"Allowed here: {', '.join(_keys(prefix))}."


def _checked(f: Field, value: Value, faults: dict[str, list[str]]) -> Value:
    """The value in its own type, or None with a fault noted."""
    if value is None:
        return None
    try:
        return CHECKS[f.kind](f, value)
    except ValueError as fault:
        faults[f.path] = [str(fault)]
        return None


def _check_text(f: Field, value: Value) -> str | None:
    if not isinstance(value, str):
        raise ValueError("Must be text.")
    if len(value) > LONGEST_TEXT:
        raise ValueError(f"Must be at most {LONGEST_TEXT} characters.")
    if "\x00" in value:
        raise ValueError("Must not contain a NUL character.")
    return value.strip() or None


def _check_number(f: Field, value: Value) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"Must be a number{_range(f)}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    low = f.minimum if f.minimum is not None else -math.inf
    high = f.maximum if f.maximum is not None else math.inf
    if not low <= number <= high or (f.above_minimum and number == low):
        raise ValueError(f"Must be a number{_range(f)}.")
    return number


def _check_integer(f: Field, value: Value) -> int:
    number = _check_number(f, value)
    if number != int(number):
        raise ValueError(f"Must be a whole number{_range(f)}.")
    return int(number)


def _check_count(f: Field, value: Value) -> int | str:
    if value == "max":
        return "max"
    try:
        return _check_integer(f, value)
    except ValueError as fault:
        raise ValueError(f'{str(fault)[:-1]}, or "max".') from None


def _range(f: Field) -> str:
    unit = f" {f.unit}" if f.unit else ""
    over = "more than" if f.above_minimum else "from"
    joint = "and at most" if f.above_minimum else "to"
    return f" {over} {f.minimum:,.10g} {joint} {f.maximum:,.10g}{unit}"


def _check_boolean(f: Field, value: Value) -> bool:
    if not isinstance(value, bool):
        raise ValueError("Must be true or false.")
    return value


def _check_choice(f: Field, value: Value) -> str:
    word = value.strip().lower() if isinstance(value, str) else value
    if word not in f.choices:
        raise ValueError(f"Must be one of {', '.join(f.choices)}.")
    return str(word)


def _check_choices(f: Field, value: Value) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError("Must be a list of names.")
    words = [_check_choice(f, word) for word in value[: len(f.choices) * 2]]
    return tuple(dict.fromkeys(words))


def _check_object(f: Field, value: Value) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("Must be an object.")
    return value


CHECKS = {
    "text": _check_text,
    "number": _check_number,
    "integer": _check_integer,
    "count": _check_count,
    "boolean": _check_boolean,
    "choice": _check_choice,
    "choices": _check_choices,
    "object": _check_object,
}
