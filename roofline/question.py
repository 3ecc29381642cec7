"""A question to the engine: a checked scenario with its model, its hardware and its price, completed with what
depends on them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from roofline import codes, rules
from roofline.architecture import Architecture, UnsupportedArchitecture, named_format
from roofline.columns import Model
from roofline.engines import batched_tokens, memory_share, runs_on, usual_backend
from roofline.errors import ScenarioError
from roofline.fields import FIELDS
from roofline.hardware import Gpu
from roofline.layouts import Node
from roofline.memory.checkpoint import stored_bytes
from roofline.scenario import Scenario
from roofline.training.habits import usual_levers
from roofline.units import GIGA
from roofline.versions import release_year

USUAL_CONTEXT = 8192
# How activations are computed for each weight format, where the hardware has the type; else bf16.
ACTIVATIONS = {
    "fp8": "fp8",
    "fp8_block": "fp8",
    "int8": "int8",
    "mxfp8": "mxfp8",
    "nvfp4": "nvfp4",
    "fp16": "fp16",
    "fp32": "fp32",
}
NEEDED_PEAK = {"fp8": "fp8", "mxfp8": "fp8", "int8": "int8", "nvfp4": "fp4"}
# MXFP8 products came with the generations that also multiply 4-bit numbers.
TRAINING_PEAK = {"fp8": "fp8", "mxfp8": "fp4", "nvfp4": "fp4"}


@dataclass
class Price:
    """Dollars for one GPU and hour, and where the figure is from."""

    usd_per_gpu_hour: float
    source: dict[str, Any] = field(default_factory=dict)


@dataclass
class Question:
    """One scenario with everything that its words name."""

    scenario: Scenario
    architecture: Architecture
    gpu: Gpu
    price: Price | None = None
    model: Model = field(init=False)
    node: Node = field(init=False)
    warnings: list[dict[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model = self.architecture.columns()
        self.node = complete(self)

    def warn(self, code: str, path: str, message: str) -> None:
        """Note what a reader must know about the answer."""
        self.warnings.append({"code": code, "field": path, "message": message})


LAYOUT = tuple(f"parallelism.{name}" for name in ("tp", "pp", "cp", "ep", "dp", "expert_tp", "zero_stage"))


def changed(question: Question, change: Mapping[str, Any], *, gpu: Gpu | None = None, relaid: bool = False) -> Question:
    """The question with other values at some paths; with `relaid` the planner chooses the layout anew. Raises
    ScenarioError.

    What had been chosen is chosen again, but for the number of GPUs.
    """
    values, origins = dict(question.scenario.values), dict(question.scenario.origins)
    chosen = [path for path, origin in origins.items() if origin == "chosen" and path != "gpu_count"]
    hardware = ("gpus_per_node", "internode_gbps_per_gpu") if gpu else ()
    follows = ("inference.activations",) if "inference.weights" in change or gpu else ()
    given = [path for path in (*hardware, *follows) if origins.get(path) != "given"]
    for path in (*(LAYOUT if relaid else ()), *chosen, *given):
        values.pop(path, None)
        origins.pop(path, None)
    values |= change
    origins |= dict.fromkeys(change, "given")
    return replace(question, scenario=Scenario(values, origins), gpu=gpu or question.gpu, warnings=[])


# Fields of a layout that belong to the other workload.
FOREIGN = {
    workload: tuple(f.path for f in FIELDS if f.path.startswith("parallelism.") and f.workload not in (None, workload))
    for workload in codes.WORKLOADS
}


def complete(question: Question) -> Node:
    """Fill what follows from model and hardware, and refuse what contradicts them (ScenarioError).

    Returns the node's shape.
    """
    scenario, gpu = question.scenario, question.gpu
    faults: dict[str, list[str]] = {}
    rules.check_layout(scenario.values, question.model, faults)
    backend, llama_cpp = scenario.get("inference.backend"), scenario.get("inference.engine") == "llama_cpp"
    if llama_cpp and backend and not runs_on(backend, gpu.vendor):
        usual = usual_backend(gpu.vendor)
        faults["inference.backend"] = [f"{backend} does not drive GPUs of {gpu.vendor}: left out it is {usual}."]
    if faults:
        raise ScenarioError(faults)
    for note in question.architecture.warnings:
        question.warn("model", "model", note)
    for path in FOREIGN[scenario.workload]:
        value = scenario.values.get(path)
        if value is True or (value is not None and value > 1):
            question.warn("does_not_apply", path, f"Has no meaning for {scenario.workload} and changes nothing.")
    _default(scenario, "gpus_per_node", gpu.gpus_per_node)
    _default(scenario, "internode_gbps_per_gpu", gpu.nic_bandwidth * 8 / GIGA)
    if scenario.workload == "inference":
        _default(scenario, "parallelism.cp", 1)
        _complete_serving(question)
    else:
        _complete_training(question)
    return Node(scenario.get("gpus_per_node"), gpu.domain)


def _default(scenario: Scenario, path: str, value: Any) -> None:
    if path not in scenario.values:
        scenario.values[path], scenario.origins[path] = value, "default"


def _complete_training(question: Question) -> None:
    scenario, gpu = question.scenario, question.gpu
    framework = scenario.get("training.framework")
    if scenario.origins["optimizations"] == "default":
        # What its recipes turn on, and what the coefficients were fitted with.
        year = release_year(framework, scenario.get("training.framework_version"))
        scenario.values["optimizations"] = usual_levers(framework, year)
    wide = framework == "megatron"
    _default(scenario, "training.gradient_dtype", "fp32" if wide else "bf16")
    wanted = scenario.get("training.precision")
    needed = TRAINING_PEAK.get(wanted)
    if needed and not gpu.peak(needed):
        message = f"{gpu.name} has no {wanted} arithmetic: products run in the next wider type that it has."
        question.warn("emulated_precision", "training.precision", message)
    longest = int(question.model.max_position)
    if longest and scenario.get("training.seq_len") > longest:
        message = f"The sequence exceeds the context of the model ({longest:,} tokens)."
        question.warn("beyond_context", "training.seq_len", message)


def _complete_serving(question: Question) -> None:
    scenario, gpu = question.scenario, question.gpu
    if scenario.origins["optimizations"] == "default" and gpu.architecture == "Hopper":
        # What serving engines turn on there by themselves, and what the coefficients were fitted with.
        scenario.values["optimizations"] = (*scenario.get("optimizations"), "flash_attention_3")
    if scenario.origins["inference.gpu_memory_utilization"] == "default":
        scenario.values["inference.gpu_memory_utilization"] = memory_share(scenario.get("inference.engine"), gpu)
    if scenario.get("inference.engine") == "llama_cpp":
        _default(scenario, "inference.backend", usual_backend(gpu.vendor))
    elif scenario.get("inference.backend"):
        question.warn("does_not_apply", "inference.backend", "Only llama.cpp has back ends: this changes nothing.")
    stored = question.architecture.quantization
    named = "" if stored else named_format(question.architecture.name)
    if named and "inference.weights" not in scenario.values:
        message = f"The configuration states no format of the weights: {named}, as the name says."
        question.warn("weights_by_name", "inference.weights", message)
    _default(scenario, "inference.weights", stored.weights if stored else named or "bf16")
    weights = scenario.get("inference.weights")
    try:
        stored_bytes(question.architecture, weights)  # kept for the batch
    except UnsupportedArchitecture as error:
        raise ScenarioError({"model_config": [str(error)]}) from error
    wanted = ACTIVATIONS.get(weights, "bf16")
    runs = not NEEDED_PEAK.get(wanted) or gpu.peak(NEEDED_PEAK[wanted]) > 0
    _default(scenario, "inference.activations", wanted if runs else "bf16")
    if not runs:
        question.warn(
            "emulated_precision",
            "inference.weights",
            f"{gpu.name} has no {wanted} arithmetic: weights are stored in {weights}, products run in bf16.",
        )
    if scenario.get("inference.kv_cache") == "fp8" and not gpu.peak("fp8"):
        question.warn(
            "emulated_precision",
            "inference.kv_cache",
            f"{gpu.name} has no fp8 arithmetic: the KV cache is stored in fp8 and read as bf16.",
        )
    _complete_lengths(question)
    _complete_pools(question)


def _complete_pools(question: Question) -> None:
    """GPUs in all and tensor-parallel sizes of disaggregated pools: by default the widest that a machine allows."""
    scenario, most = question.scenario, question.gpu.gpus_per_node
    pools = {pool: scenario.get(f"inference.disaggregated.{pool}.gpus") for pool in ("prefill", "decode")}
    if None in pools.values():
        return
    _default(scenario, "gpu_count", sum(pools.values()))
    own = scenario.get("inference.disaggregated.decode.attention_dp")
    if own is not None:  # the decode pool's layout stands for the whole
        _default(scenario, "parallelism.attention_dp", own)
    for pool, gpus in pools.items():
        heads = rules.heads_divide(question.model)
        sizes = [tp for tp in range(1, min(gpus, most) + 1) if gpus % tp == 0 and rules.tp_divides(tp, *heads)]
        _default(scenario, f"inference.disaggregated.{pool}.tp", max(sizes, default=1))


def _complete_lengths(question: Question) -> None:
    scenario = question.scenario
    needed = scenario.get("inference.input_tokens") + scenario.get("inference.output_tokens")
    longest = int(question.model.max_position)
    usual = min(USUAL_CONTEXT, longest) if longest else USUAL_CONTEXT
    _default(scenario, "inference.max_model_len", max(needed, usual))
    if longest and needed > longest:
        question.warn(
            "beyond_context",
            "inference.input_tokens",
            f"Input and output ({needed:,} tokens) exceed the context of the model ({longest:,}).",
        )
    engine = scenario.get("inference.engine")
    tokens = batched_tokens(
        engine,
        release_year(engine, scenario.get("inference.engine_version")),
        memory_bytes=question.gpu.memory_bytes,
        has_fp8=question.gpu.peak("fp8") > 0,
        max_model_len=scenario.get("inference.max_model_len"),
    )
    _default(scenario, "inference.max_num_batched_tokens", tokens)
    if scenario.get("inference.speculative.draft_tokens"):
        _default(scenario, "inference.speculative.draft_cost", 0.05)
