"""SGLang: bench_serving JSONL of all versions, bench_one_batch, bench_one_batch_server and bench_offline_throughput."""

from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..values import integer, number
from .common import (
    as_dict,
    as_list,
    derive_rates,
    each,
    latency_table,
    put_all,
    put_engine,
    put_lengths,
    put_load,
    put_percentiles,
    put_text,
)
from .vllm_serve import put_failures

METRICS = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2e_latency": "e2e"}
RATES = {
    "duration": ("duration_s", "s"),
    "completed": ("completed", "requests"),
    "request_throughput": ("requests_per_s", "req/s"),
    "output_throughput": ("output_tokens_per_s", "tok/s"),
    "total_throughput": ("total_tokens_per_s", "tok/s"),
    "total_token_throughput": ("total_tokens_per_s", "tok/s"),
    "concurrency": ("concurrency_achieved", "requests"),
}
SERVER = {"tp_size": "tp", "pp_size": "pp", "dp_size": "dp", "ep_size": "ep"}
MARKS = ("total_output_tokens_retokenized", "sharegpt_output_len", "random_range_ratio", "median_e2e_latency_ms")


def serving_run(record: dict[str, Any]) -> Run | Refusal:
    """One line of bench_serving."""
    run = Run(kind="serving")
    put_engine(run, record.get("backend"), "backend")
    put_text(run, "dataset", record.get("dataset_name"), "dataset_name")
    put_text(run, "label", record.get("tag"), "tag")
    put_text(run, "model", record.get("model_id") or record.get("model"), "model_id")
    put_load(run, record)
    put_all(run, record, RATES)
    if run.completed == 0:
        return Refusal("no request completed: the zeros in it are no measurement")
    put_lengths(run, record, "total_input_tokens", "total_output_tokens")
    put_failures(run, record)
    put_all(run, record, latency_table(METRICS))
    put_percentiles(run, record, METRICS)
    derive_rates(run, number(record.get("total_input_tokens")), number(record.get("total_output_tokens")))
    put_server(run, as_dict(record.get("server_info")))
    _note_lengths(run, record)
    return run


def put_server(run: Run, info: dict[str, Any]) -> None:
    """What the server said of itself; nothing else of its hundreds of arguments is kept (paths, hosts and keys
    among them).
    """
    pools = [as_dict(item) for key in ("prefill", "decode") for item in as_list(info.get(key))]
    args = (
        info
        if "model_path" in info
        else (pools[0] if pools else as_dict(next(iter(as_list(info.get("internal_states"))), None)))
    )
    if run.model is None:
        put_text(run, "model", args.get("model_path"), "server_info.model_path")
    put_text(run, "engine_version", info.get("version") or args.get("version"), "server_info.version")
    put_text(run, "weights", args.get("quantization"), "server_info.quantization")
    if run.weights is None and args.get("dtype") not in (None, "auto"):
        put_text(run, "weights", args.get("dtype"), "server_info.dtype")
    if args.get("kv_cache_dtype") not in (None, "auto"):
        put_text(run, "kv_cache", args.get("kv_cache_dtype"), "server_info.kv_cache_dtype")
    if pools:
        run.notes.append(f"prefill and decode pools apart: {_pools(info)}; parallel sizes are not those of one server")
        return
    for key, field in SERVER.items():
        if key in args:
            run.put(field, args[key], f"server_info.{key}")


def _pools(info: dict[str, Any]) -> str:
    return ", ".join(
        f"{len(as_list(info.get(key)))} {key} server(s) of tp {_tp(info, key)}" for key in ("prefill", "decode")
    )


def _tp(info: dict[str, Any], key: str) -> str:
    return "/".join(sorted({str(as_dict(item).get("tp_size")) for item in as_list(info.get(key))}))


def _note_lengths(run: Run, record: dict[str, Any]) -> None:
    asked = number(record.get("random_input_len"))
    if record.get("dataset_name") == "random" and asked and run.input_tokens and run.input_tokens < asked * 0.9:
        run.notes.append(
            f"requested input length {asked:.0f}, but lengths are drawn from a range: the mean was "
            f"{run.input_tokens:.1f}"
        )


class SglangServing:
    """bench_serving: one object a line, appended run after run."""

    format = "sglang-bench-serving"

    def score(self, document: Document) -> float:
        return 0.9 if any(mark in document.first for mark in MARKS) else 0.0

    def parse(self, document: Document) -> ParseResult:
        known = [record for record in document.records if any(mark in record for mark in MARKS)]
        runs, refusals = each(known, serving_run)
        return ParseResult(runs, refusals)


ONE_BATCH = {
    "batch_size": ("batch_size", ""),
    "input_len": ("input_tokens", "tokens"),
    "output_len": ("output_tokens", "tokens"),
    "prefill_latency": ("ttft_mean_s", "s"),
    "prefill_throughput": ("prefill_tokens_per_s", "tok/s"),
    "median_decode_latency": ("tpot_p50_s", "s"),
    "median_decode_throughput": ("decode_tokens_per_s", "tok/s"),
    "total_latency": ("e2e_mean_s", "s"),
    "latency": ("e2e_mean_s", "s"),
    "ttft": ("ttft_mean_s", "s"),
    "last_ttft": ("ttft_mean_s", "s"),
    "overall_throughput": ("total_tokens_per_s", "tok/s"),
    "input_throughput": ("prefill_tokens_per_s", "tok/s"),
    "output_throughput": ("output_tokens_per_s", "tok/s"),
}


def one_batch_run(record: dict[str, Any]) -> Run | Refusal:
    """One static batch without queueing."""
    run = Run(kind="static_batch", engine="sglang")
    put_text(run, "label", record.get("run_name"), "run_name")
    put_text(run, "model", record.get("model") or record.get("model_path"), "model")
    put_all(run, record, ONE_BATCH)
    run.put("concurrency", record.get("batch_size"), "batch_size", "requests")
    if run.e2e_mean_s is None and run.total_tokens_per_s is None:
        return Refusal("no latency measured (the initial -1 or 0 stands in the file)")
    if run.e2e_mean_s and run.batch_size and run.output_tokens:
        run.derive(
            "output_tokens_per_s",
            run.batch_size * run.output_tokens / run.e2e_mean_s,
            "batch_size x output_len / total latency",
        )
    run.notes.append("overall_throughput counts input and output tokens together")
    return run


class SglangOneBatch:
    """bench_one_batch and bench_one_batch_server."""

    format = "sglang-one-batch"

    def score(self, document: Document) -> float:
        keys = document.first.keys()
        return (
            0.9
            if "overall_throughput" in keys
            and keys & {"prefill_throughput", "last_gen_throughput", "median_decode_latency", "prefill_latency"}
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        known = [record for record in document.records if "overall_throughput" in record or "batch_size" in record]
        runs, refusals = each(known, one_batch_run)
        return ParseResult(runs, refusals)


OFFLINE = {
    "total_latency": ("duration_s", "s"),
    "successful_requests": ("completed", "requests"),
    "request_throughput": ("requests_per_s", "req/s"),
    "output_throughput": ("output_tokens_per_s", "tok/s"),
    "total_throughput": ("total_tokens_per_s", "tok/s"),
}


def offline_run(record: dict[str, Any]) -> Run | Refusal:
    """Offline throughput; -1 is what a crash leaves behind."""
    run = Run(kind="offline")
    put_engine(run, "sglang" if record.get("backend") == "engine" else record.get("backend"), "backend")
    put_all(run, record, OFFLINE)
    if run.duration_s is None or not run.completed:
        return Refusal("the benchmark did not finish: its initial values (-1) stand in the file")
    put_lengths(run, record, "total_input_tokens", "total_output_tokens")
    derive_rates(run, integer(record.get("total_input_tokens")), integer(record.get("total_output_tokens")))
    return run


class SglangOffline:
    """bench_offline_throughput."""

    format = "sglang-offline-throughput"

    def score(self, document: Document) -> float:
        return (
            0.9
            if {"successful_requests", "last_gen_throughput"} <= document.first.keys()
            or {"successful_requests", "total_latency", "total_throughput"} <= document.first.keys()
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        runs, refusals = each((record for record in document.records if "successful_requests" in record), offline_run)
        return ParseResult(runs, refusals)
