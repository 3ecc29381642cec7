"""Parallel layouts: the ways to spread a model that engines accept, from which the planner chooses what a scenario
leaves open.

A candidate is a tuple in the order of `Candidate`. Layouts are enumerated in plain Python (tens for a scenario);
their memory and speed are then computed in one vectorised call for all candidates of all scenarios.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from roofline.columns import Model
from roofline.rules import tp_divides
from roofline.scenario import Scenario

LARGEST_CHOSEN_COUNT = 1024
COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, LARGEST_CHOSEN_COUNT)
MICRO_BATCHES = (1, 2, 4, 8, 16)
# Sequences of one optimizer step where nothing is said: pretraining, and everything else.
USUAL_BATCH = {"pretrain": 1024}
SMALL_BATCH = 64
LONG_SEQUENCE = 16_384  # from here context parallelism is worth trying
SHARDING_FRAMEWORKS = ("fsdp", "llm_foundry", "torchtitan", "maxtext")


class Candidate(NamedTuple):
    """One way to run a scenario."""

    gpus: int
    tp: int
    pp: int
    cp: int
    ep: int
    dp: int
    expert_tp: int
    zero_stage: int
    virtual_pipeline: int
    sequence_parallel: bool
    attention_dp: bool
    micro_batch: int = 0
    global_batch: int = 0
    recompute: str = "none"


@dataclass(frozen=True)
class Node:
    """What limits tensor parallelism: GPUs of a machine and of the fast link."""

    gpus_per_node: int
    domain: int


def candidates(scenario: Scenario, model: Model, node: Node) -> list[Candidate]:
    """Every layout worth computing, consistent with what is given. Empty if what is given admits none."""
    spread = _training if scenario.workload == "training" else _serving
    return list(dict.fromkeys(c for count in _counts(scenario, model) for c in spread(scenario, model, node, count)))


def _counts(scenario: Scenario, model: Model) -> Iterable[int]:
    given = scenario.get("gpu_count")
    if given:
        return (given,)
    sizes = {name: scenario.get(f"parallelism.{name}") for name in ("tp", "pp", "cp", "dp")}
    product = 1
    for size in sizes.values():
        product *= size or 1
    if None not in sizes.values():
        return (product,)
    batch = scenario.get("training.global_batch", LARGEST_CHOSEN_COUNT)
    largest = min(LARGEST_CHOSEN_COUNT, batch * max(int(model.heads), 8))
    return [product * count for count in COUNTS if product * count <= max(largest, product)]


def _powers(limit: int) -> Iterator[int]:
    size = 1
    while size <= limit:
        yield size
        size *= 2


def _tensor_sizes(scenario: Scenario, model: Model, node: Node, count: int) -> list[int]:
    given = scenario.get("parallelism.tp")
    if given:
        return [given]
    limit = min(count, max(node.gpus_per_node, min(node.domain, 16)))
    if scenario.get("parallelism.dp") is None:
        sizes: set[int] = {
            *_powers(limit),
            *(count // p for p in _powers(count) if count % p == 0 and count // p <= limit),
        }
    else:
        sizes = {size for size in range(1, limit + 1) if count % size == 0}
    return [size for size in sorted(sizes) if count % size == 0 and tp_divides(size, model)]


def _pipeline_sizes(scenario: Scenario, model: Model, rest: int, limit: int) -> list[int]:
    given = scenario.get("parallelism.pp")
    layers = int(model.layers)
    if given:
        return [given] if rest % given == 0 else []
    dp, cp = scenario.get("parallelism.dp"), scenario.get("parallelism.cp")
    if dp and cp:
        wanted = rest // (dp * cp)
        return [wanted] if rest == wanted * dp * cp and wanted <= layers else []
    return [size for size in _powers(min(limit, layers, rest)) if rest % size == 0]


def _serving(scenario: Scenario, model: Model, node: Node, count: int) -> Iterator[Candidate]:
    if scenario.get("inference.disaggregated.decode.gpus"):
        yield _disaggregated(scenario, count)
        return
    cp = scenario.get("parallelism.cp", 1)
    for tp in _tensor_sizes(scenario, model, node, count):
        if count % (tp * cp):
            continue
        rest = count // tp
        for pp in _pipeline_sizes(scenario, model, rest, max(1, count // node.gpus_per_node)):
            dp = rest // (pp * cp)
            if dp * pp * cp != rest or dp != scenario.get("parallelism.dp", dp):
                continue
            for attention_dp, ep in _expert_sizes(scenario, model, tp * cp, dp):
                expert_tp = scenario.get("parallelism.expert_tp") or (
                    tp if ep == 1 else max(1, tp * (dp if attention_dp else 1) // ep)
                )
                yield Candidate(count, tp, pp, cp, ep, dp, expert_tp, 0, 1, False, attention_dp)


def _disaggregated(scenario: Scenario, count: int) -> Candidate:
    """The decode pool's layout stands for the whole; the pools' own sizes are in the scenario."""
    tp = scenario.get("inference.disaggregated.decode.tp")
    decoders = scenario.get("inference.disaggregated.decode.gpus") // tp
    return Candidate(count, tp, 1, 1, 1, decoders, tp, 0, 1, False, bool(scenario.get("parallelism.attention_dp")))


def _expert_sizes(scenario: Scenario, model: Model, rank: int, dp: int) -> Iterator[tuple[bool, int]]:
    """Pairs of attention_dp and ep. Replicas have experts of their own unless attention is data parallel."""
    given_ep, given_dp = scenario.get("parallelism.ep"), scenario.get("parallelism.attention_dp")
    experts = int(model.experts)
    for attention_dp in (False, True) if given_dp is None else (given_dp,):
        if attention_dp and given_dp is None and (not experts or dp == 1 or not int(model.mla_layers)):
            continue
        sharers = rank * dp if attention_dp else rank
        sizes = (
            [given_ep] if given_ep else [1, sharers] if experts and not attention_dp else [sharers if experts else 1]
        )
        for ep in dict.fromkeys(sizes):
            if given_ep or not experts or experts % ep == 0:
                yield attention_dp, ep


def _training(scenario: Scenario, model: Model, node: Node, count: int) -> Iterator[Candidate]:
    framework = scenario.get("training.framework")
    sharding = framework in SHARDING_FRAMEWORKS
    plain = sharding and "parallelism.tp" not in scenario.values
    for tp in [1] if plain else _tensor_sizes(scenario, model, node, count):
        for cp in _context_sizes(scenario, count // tp):
            for pp in (
                [1]
                if plain and "parallelism.pp" not in scenario.values
                else _pipeline_sizes(scenario, model, count // (tp * cp), 64)
            ):
                dp = count // (tp * cp * pp)
                if dp * tp * cp * pp == count and dp == scenario.get("parallelism.dp", dp):
                    yield from _steps(
                        scenario, model, Candidate(count, tp, pp, cp, 1, dp, 1, 0, 1, tp > 1, False), sharding=sharding
                    )


def _context_sizes(scenario: Scenario, rest: int) -> list[int]:
    given = scenario.get("parallelism.cp")
    if given:
        return [given] if rest % given == 0 else []
    long = scenario.get("training.seq_len") >= LONG_SEQUENCE
    return [size for size in _powers(min(rest, 16 if long else 1)) if rest % size == 0]


def _steps(scenario: Scenario, model: Model, base: Candidate, *, sharding: bool) -> Iterator[Candidate]:
    """The training choices of one layout: experts, sharding, micro-batch and recompute."""
    recomputes = (
        [scenario.get("training.recompute")] if scenario.get("training.recompute") else ["none", "selective", "full"]
    )
    for ep in _training_experts(scenario, model, base):
        for stage in _zero_stages(scenario, base, sharding=sharding):
            for micro in _micro_batches(scenario, base.dp):
                batch = scenario.get("training.global_batch") or _usual_batch(scenario, base.dp * micro)
                for recompute in recomputes:
                    yield base._replace(
                        ep=ep,
                        expert_tp=scenario.get("parallelism.expert_tp") or (1 if ep > 1 else base.tp),
                        zero_stage=stage,
                        virtual_pipeline=scenario.get("parallelism.virtual_pipeline", 1),
                        sequence_parallel=scenario.get("parallelism.sequence_parallel", base.tp > 1),
                        micro_batch=micro,
                        global_batch=batch,
                        recompute=recompute,
                    )


def _training_experts(scenario: Scenario, model: Model, base: Candidate) -> list[int]:
    given, experts = scenario.get("parallelism.ep"), int(model.experts)
    if given or not experts:
        return [given or 1]
    sharers = base.tp * base.cp * base.dp
    return [
        size
        for size in _powers(min(experts, sharers, 64))
        if sharers % size == 0 and experts % size == 0 and size in (1, 8, 16, 32, 64)
    ] or [1]


def _zero_stages(scenario: Scenario, base: Candidate, *, sharding: bool) -> list[int]:
    given = scenario.get("parallelism.zero_stage")
    if given is not None:
        return [given]
    if base.dp == 1:
        return [0]
    if sharding:
        return [3]
    return (
        [1, 3]
        if scenario.get("training.framework") == "deepspeed" or scenario.get("training.method") != "pretrain"
        else [1]
    )


def _micro_batches(scenario: Scenario, dp: int) -> list[int]:
    given, batch = scenario.get("training.micro_batch"), scenario.get("training.global_batch")
    if given:
        return [given] if not batch or batch % (given * dp) == 0 else []
    sizes = [size for size in MICRO_BATCHES if not batch or batch % (size * dp) == 0]
    tokens = scenario.get("training.seq_len")
    return [size for size in sizes if size == 1 or size * tokens <= 65_536]


def _usual_batch(scenario: Scenario, rank_batch: int) -> int:
    usual = USUAL_BATCH.get(scenario.get("training.method"), SMALL_BATCH)
    return rank_batch * max(1, -(-usual // rank_batch))
