"""What values of a scenario contradict each other: rules over what was given, and over model, hardware and layout
once they are known."""

from collections.abc import Mapping
from typing import Any

from roofline.columns import Model

Faults = dict[str, list[str]]
LAYOUT = ("tp", "pp", "cp", "dp")


def check_given(values: Mapping[str, Any], faults: Faults) -> None:
    """Contradictions that need no catalogue."""
    _exactly_one(values, faults, "model", ("model", "model_config", "model_size.params_b"))
    _exactly_one(values, faults, "gpu", ("gpu", "gpu_spec"))
    _at_most_one(values, faults, ("inference.concurrency", "inference.request_rate_per_s"))
    _at_most_one(values, faults, ("price.usd_per_gpu_hour", "price.offer", "price.tco"))
    if "workload" not in values and "workload" not in faults:
        faults["workload"] = ["Is needed: training or inference."]
    _check_workload_groups(values, faults)
    _check_sizes(values, faults)
    _check_product(values, faults)
    _check_speculation(values, faults)
    _check_pools(values, faults)
    _check_lengths(values, faults)


def _note(faults: Faults, path: str, sentence: str) -> None:
    faults.setdefault(path, []).append(sentence)


def _exactly_one(values: Mapping[str, Any], faults: Faults, name: str, paths: tuple[str, ...]) -> None:
    given = [path for path in paths if path in values]
    words = " or ".join(path.removesuffix(".params_b") for path in paths)
    if not given and not any(path in faults for path in paths):
        _note(faults, name, f"Is needed: {words}.")
    for path in given[1:]:
        _note(faults, path, f"Excludes {given[0].removesuffix('.params_b')}: give one of {words}.")


def _at_most_one(values: Mapping[str, Any], faults: Faults, paths: tuple[str, ...]) -> None:
    given = [path for path in paths if path in values]
    for path in given[1:]:
        _note(faults, path, f"Excludes {given[0]}: give one of {', '.join(paths)}.")


def _check_workload_groups(values: Mapping[str, Any], faults: Faults) -> None:
    workload = values.get("workload")
    other = {"training": "inference", "inference": "training"}.get(str(workload))
    for path in values:
        if other and path.startswith(f"{other}."):
            _note(faults, path, f"Does not apply: the workload is {workload}.")


def _check_sizes(values: Mapping[str, Any], faults: Faults) -> None:
    total, active = values.get("model_size.params_b"), values.get("model_size.active_params_b")
    if active is not None and total is None and "model_size.params_b" not in faults:
        _note(faults, "model_size.params_b", "Is needed beside active_params_b.")
    if active is not None and total is not None and active > total:
        _note(faults, "model_size.active_params_b", f"Must be at most params_b ({total:g}).")


def _check_product(values: Mapping[str, Any], faults: Faults) -> None:
    """tp · pp · cp · dp = gpu_count, as far as it is stated; ep divides tp · cp · dp."""
    sizes = {name: values.get(f"parallelism.{name}") for name in LAYOUT}
    count = values.get("gpu_count")
    product = 1
    for size in sizes.values():
        product *= size or 1
    named = " · ".join(f"{name} {size}" for name, size in sizes.items() if size)
    if count and None not in sizes.values() and product != count:
        _note(
            faults, "parallelism", f"tp · pp · cp · dp must equal gpu_count: {named} give {product:,}, not {count:,}."
        )
    elif count and count % product:
        path = f"parallelism.{next(name for name, size in sizes.items() if size)}"
        _note(faults, path, f"Must divide gpu_count ({count:,}): {named} give {product:,}.")
    ep = values.get("parallelism.ep")
    if ep and count and not faults.get("parallelism") and (count // (sizes["pp"] or 1)) % ep:
        _note(faults, "parallelism.ep", f"Must divide tp · cp · dp ({count // (sizes['pp'] or 1):,}).")
    elif (
        ep
        and not count
        and None not in (sizes["tp"], sizes["cp"], sizes["dp"])
        and (product // (sizes["pp"] or 1)) % ep
    ):
        _note(faults, "parallelism.ep", f"Must divide tp · cp · dp ({product // (sizes['pp'] or 1):,}).")


def _check_speculation(values: Mapping[str, Any], faults: Faults) -> None:
    parts = [f"inference.speculative.{key}" for key in ("draft_tokens", "acceptance", "draft_cost")]
    if any(path in values for path in parts):
        for path in parts[:2]:
            if path not in values and path not in faults:
                _note(faults, path, "Is needed for speculative decoding.")


def _check_pools(values: Mapping[str, Any], faults: Faults) -> None:
    given = [path for path in values if path.startswith("inference.disaggregated.")]
    if not given:
        return
    pools = {pool: values.get(f"inference.disaggregated.{pool}.gpus") for pool in ("prefill", "decode")}
    for pool, gpus in pools.items():
        tp = values.get(f"inference.disaggregated.{pool}.tp")
        if gpus is None:
            _note(faults, f"inference.disaggregated.{pool}.gpus", "Is needed for disaggregated serving.")
        elif tp and gpus % tp:
            _note(faults, f"inference.disaggregated.{pool}.tp", f"Must divide the pool's GPUs ({gpus:,}).")
    count = values.get("gpu_count")
    if count and None not in pools.values() and sum(p for p in pools.values() if p) != count:
        _note(faults, "inference.disaggregated", f"The pools must make up gpu_count ({count:,}).")
    for name in (*LAYOUT, "ep"):
        if values.get(f"parallelism.{name}", 1) > 1:
            _note(faults, f"parallelism.{name}", "Does not apply: the disaggregated pools have their own layouts.")


def _check_lengths(values: Mapping[str, Any], faults: Faults) -> None:
    longest = values.get("inference.max_model_len")
    needed = values.get("inference.input_tokens", 1024) + values.get("inference.output_tokens", 256)
    if longest and longest < needed:
        _note(faults, "inference.max_model_len", f"Must hold input and output ({needed:,} tokens).")
    micro, batch = values.get("training.micro_batch"), values.get("training.global_batch")
    if micro and batch and micro > batch:
        _note(faults, "training.micro_batch", f"Must be at most global_batch ({batch:,}).")
    data_parallel = values.get("parallelism.dp")
    if batch and data_parallel and batch % data_parallel:
        _note(faults, "training.global_batch", f"Must be a multiple of dp ({data_parallel:,}).")
    elif batch and data_parallel and micro and batch % (data_parallel * micro):
        _note(faults, "training.global_batch", f"Must be a multiple of micro_batch · dp ({micro * data_parallel:,}).")


def check_layout(values: Mapping[str, Any], model: Model, faults: Faults) -> None:
    """Contradictions between a given layout and the model: tp against heads, pp against layers, ep against experts."""
    heads, kv_heads = heads_divide(model)
    for path in ("parallelism.tp", "inference.disaggregated.prefill.tp", "inference.disaggregated.decode.tp"):
        tp = values.get(path)
        if tp and not values.get("parallelism.attention_dp") and not tp_divides(tp, heads, kv_heads):
            shared = f" and divide or be a multiple of the KV heads ({kv_heads})" if kv_heads else ""
            _note(faults, path, f"Must divide the attention heads ({heads}){shared}.")
    pp, layers = values.get("parallelism.pp"), int(model.layers)
    if pp and pp > layers:
        _note(faults, "parallelism.pp", f"Must be at most the number of layers ({layers}).")
    ep, experts = values.get("parallelism.ep"), int(model.experts)
    if ep and ep > 1 and not experts:
        _note(faults, "parallelism.ep", "Does not apply: the model has no experts.")
    elif ep and experts and experts % ep:
        _note(faults, "parallelism.ep", f"Must divide the number of experts ({experts}).")
    _check_expert_ranks(values, bool(experts), faults)
    chunks = values.get("parallelism.virtual_pipeline")
    if chunks and pp and chunks > 1 and (pp == 1 or chunks > most_chunks(pp, layers)):
        limit = "Does not apply: there is one stage." if pp == 1 else f"Must leave each chunk a layer: {layers} in all."
        _note(faults, "parallelism.virtual_pipeline", limit)
    longest, wanted = int(model.max_position), values.get("inference.max_model_len")
    needed = values.get("inference.input_tokens", 0) + values.get("inference.output_tokens", 0)
    if longest and wanted and wanted > max(longest * 8, needed):
        _note(faults, "inference.max_model_len", f"Is far beyond the model's context ({longest:,} tokens).")


def _check_expert_ranks(values: Mapping[str, Any], has_experts: bool, faults: Faults) -> None:
    """Ranks that share one expert times ranks over which experts are spread are the ranks that share a layer's
    experts, or a part of them."""
    own, ep = values.get("parallelism.expert_tp"), values.get("parallelism.ep") or 1
    tp, cp, dp = (values.get(f"parallelism.{name}") for name in ("tp", "cp", "dp"))
    if values["workload"] == "inference":
        cp = cp or 1
        dp = dp if values.get("parallelism.attention_dp") else 1  # replicas have experts of their own
    if not (has_experts and own and tp and cp and dp):
        return
    if (tp * cp * dp) % (own * ep):
        sharing = f"the ranks that share experts ({tp * cp * dp:,})"
        _note(faults, "parallelism.expert_tp", f"expert_tp · ep ({own * ep:,}) must divide {sharing}.")


def heads_divide(model: Model) -> tuple[int, int]:
    """Attention heads and KV heads that tensor parallelism divides; 0 where the model has none."""
    return int(model.heads or model.mla_heads or model.window_heads), int(model.kv_heads or model.window_kv_heads)


def tp_divides(tp: int, heads: int, kv_heads: int) -> bool:
    """Whether engines can split attention over `tp` ranks: heads divide, KV heads divide or replicate evenly."""
    if heads and heads % tp:
        return False
    return not kv_heads or kv_heads % tp == 0 or tp % kv_heads == 0


def most_chunks(pp: int, layers: int) -> int:
    """Chunks of an interleaved pipeline on one rank: each holds a layer, the embedding or the head (Llama 3 405B cut 126
    layers into 16 stages of 8 chunks so: The Llama 3 Herd of Models, section 3.3.2)."""
    return (layers + 2) // pp
