"""TensorRT-LLM: trtllm-bench reports (JSON and console) and the older C++ and Python benchmarks."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..values import number
from .common import as_dict, put_all, put_percentile, put_text

PERFORMANCE = {
    "total_latency_ms": ("duration_s", "ms"),
    "avg_request_latency_ms": ("e2e_mean_s", "ms"),
    "request_throughput_req_s": ("requests_per_s", "req/s"),
    "system_output_throughput_tok_s": ("output_tokens_per_s", "tok/s"),
    "system_total_throughput_tok_s": ("total_tokens_per_s", "tok/s"),
}
WORLD = {"tp_size": ("tp", ""), "pp_size": ("pp", ""), "ep_size": ("ep", ""), "world_size": ("gpu_count", "")}
REQUESTS = {
    "num_requests": ("completed", "requests"),
    "avg_num_concurrent_requests": ("concurrency_achieved", "requests"),
    "avg_input_length": ("input_tokens", "tokens"),
    "avg_output_length": ("output_tokens", "tokens"),
}
STREAMING = {"avg_ttft_ms": ("ttft_mean_s", "ms"), "avg_tpot_ms": ("tpot_mean_s", "ms")}
_PERCENT = {"request_latency_percentiles_ms": "e2e", "ttft_percentiles": "ttft", "tpot_percentiles": "tpot"}


def report_run(report: dict[str, Any]) -> Run:
    """One JSON report; the file names engine, machine and world."""
    engine, world, machine = (as_dict(report.get(key)) for key in ("engine", "world_info", "machine"))
    run = Run(kind="offline", engine="tensorrt_llm")
    put_text(run, "model", engine.get("model"), "engine.model")
    put_text(run, "engine_version", engine.get("version"), "engine.version")
    put_text(run, "weights", engine.get("quantization") or engine.get("dtype"), "engine.quantization")
    put_text(run, "activations", engine.get("dtype"), "engine.dtype")
    put_text(run, "kv_cache", engine.get("kv_cache_dtype"), "engine.kv_cache_dtype")
    put_text(run, "gpu", machine.get("name"), "machine.name")
    put_all(run, world, WORLD, "world_info.")
    if run.tp:
        run.derive("gpu_count", run.tp * (run.pp or 1), "world_info.tp_size x pp_size")
    put_all(run, as_dict(report.get("request_info")), REQUESTS, "request_info.")
    put_all(run, as_dict(report.get("performance")), PERFORMANCE, "performance.")
    put_all(run, as_dict(report.get("streaming_metrics")), STREAMING, "streaming_metrics.")
    _put_percentiles(run, {**as_dict(report.get("performance")), **as_dict(report.get("streaming_metrics"))})
    _check_gpu_rate(run, as_dict(report.get("performance")).get("output_throughput_per_gpu_tok_s"))
    return run


def _put_percentiles(run: Run, record: Mapping[str, Any]) -> None:
    for key, metric in _PERCENT.items():
        stats = as_dict(record.get(key))
        for name, value in stats.items():
            match = re.fullmatch(r"p(\d{1,2}(?:\.\d+)?)", str(name).lower())
            if match:
                put_percentile(run, metric, match[1], value, f"{key}.{name}", "ms")


def _check_gpu_rate(run: Run, per_gpu: Any) -> None:
    stated = number(per_gpu)
    if (
        stated
        and run.output_tokens_per_s
        and run.gpu_count
        and abs(stated * run.gpu_count / run.output_tokens_per_s - 1) > 0.01
    ):
        run.warnings.append(
            f"output per GPU {stated:.6g} x {run.gpu_count} GPUs is not the system's "
            f"{run.output_tokens_per_s:.6g} tokens/s"
        )


class TrtllmJson:
    """`trtllm-bench … --report_json`."""

    format = "trtllm-bench"

    def score(self, document: Document) -> float:
        return 0.95 if {"world_info", "performance"} <= document.first.keys() else 0.0

    def parse(self, document: Document) -> ParseResult:
        return ParseResult([report_run(record) for record in document.records if "performance" in record])


CONSOLE = {
    "number of requests": ("completed", "requests"),
    "number of concurrent requests": ("concurrency_achieved", "requests"),
    "average input length (tokens)": ("input_tokens", "tokens"),
    "average output length (tokens)": ("output_tokens", "tokens"),
    "tp size": ("tp", ""),
    "pp size": ("pp", ""),
    "ep size": ("ep", ""),
    "request throughput (req/sec)": ("requests_per_s", "req/s"),
    "total output throughput (tokens/sec)": ("output_tokens_per_s", "tok/s"),
    "token throughput (tokens/sec)": ("output_tokens_per_s", "tok/s"),
    "total token throughput (tokens/sec)": ("total_tokens_per_s", "tok/s"),
    "total latency (ms)": ("duration_s", "ms"),
    "total latency (seconds)": ("duration_s", "s"),
    "average request latency (ms)": ("e2e_mean_s", "ms"),
    "average time-to-first-token [ttft] (ms)": ("ttft_mean_s", "ms"),
    "average time-per-output-token [tpot] (ms)": ("tpot_mean_s", "ms"),
    "number of sequences": ("completed", "requests"),
}
CONSOLE_TEXT = {
    "model": "model",
    "tensorrt-llm version": "engine_version",
    "quantization": "weights",
    "kv cache dtype": "kv_cache",
    "dtype": "activations",
    "machine name": "gpu",
    "gpu name": "gpu",
}
_PERCENTILE = re.compile(r"\[(Latency|TTFT|TPOT)\]\s*P(\d+(?:\.\d+)?)\s*:\s*([\d.,eE+]+)")
OVERVIEW = r"^=? ?PERFORMANCE OVERVIEW|^= STATISTICS\s*$(?=[^\0]{0,800}?Token Throughput \(tokens/sec\))"


class TrtllmStdout:
    """The console report, whole or in part; each PERFORMANCE OVERVIEW is a run."""

    format = "trtllm-bench-stdout"

    def score(self, document: Document) -> float:
        return 0.9 if not document.is_json and re.search(OVERVIEW, "\n".join(document.lines), re.MULTILINE) else 0.0

    def parse(self, document: Document) -> ParseResult:
        result = ParseResult()
        for report in _reports("\n".join(document.lines)):
            run = console_run(report)
            if run.has_result():
                result.runs.append(run)
            else:
                result.refusals.append(Refusal("the report breaks off before its first figure"))
        return result


def _reports(text: str) -> Iterator[str]:
    """A console's reports: each from its first banner to the next report's."""
    starts = [
        match.start()
        for match in re.finditer(
            r"^= (?:PYTORCH|TENSORRT|TRT|_AUTODEPLOY|ENGINE|AUTODEPLOY)[^\n]*$", text, re.MULTILINE
        )
    ]
    overviews = [match.start() for match in re.finditer(OVERVIEW, text, re.MULTILINE)]
    if len(starts) != len(overviews):
        starts = [0, *(text.rfind("\n=", 0, overview - 70) for overview in overviews[1:])]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield text[start:end]


def console_run(text: str) -> Run:
    """One console report."""
    run = Run(kind="offline", engine="tensorrt_llm")
    seen: set[str] = set()
    for line in text.split("\n"):
        label, _, value = re.sub(r":\s", ": ", line[:300], count=1).partition(": ")
        key = " ".join(label.lower().split())
        if key in seen or not value.strip():
            continue
        seen.add(key)
        if key in CONSOLE and not (key == "number of sequences" and run.completed):
            run.put(CONSOLE[key][0], value.strip(), label.strip(), CONSOLE[key][1])
        elif key in CONSOLE_TEXT:
            put_text(run, CONSOLE_TEXT[key], value, label.strip())
    for metric, percent, value in _PERCENTILE.findall(text):
        put_percentile(
            run,
            {"Latency": "e2e", "TTFT": "ttft", "TPOT": "tpot"}[metric],
            percent,
            value,
            f"[{metric}] P{percent}",
            "ms",
        )
    _put_world(run, text)
    return run


def _put_world(run: Run, text: str) -> None:
    """GPUs = system rate / rate per GPU where both are printed, else tp x pp."""
    match = re.search(r"Per GPU Output Throughput \([^)\n]{1,30}\):\s+([\d.,]{1,30})", text)
    per_gpu = number(match[1]) if match else None
    if per_gpu and run.output_tokens_per_s:
        ratio = run.output_tokens_per_s / per_gpu
        if abs(ratio - round(ratio)) < 0.01 * ratio:
            run.derive("gpu_count", round(ratio), "Total Output Throughput / Per GPU Output Throughput")
    if run.tp:
        run.derive("gpu_count", run.tp * (run.pp or 1), "TP Size x PP Size")


_PAIR_KEYS = {
    "batch_size": ("batch_size", ""),
    "input_length": ("input_tokens", "tokens"),
    "output_length": ("output_tokens", "tokens"),
    "tokens_per_sec": ("output_tokens_per_s", "tok/s"),
    "latency(ms)": ("e2e_mean_s", "ms"),
    "percentile99(ms)": ("e2e_p99_s", "ms"),
    "percentile95(ms)": ("e2e_p95_s", "ms"),
    "gpu_peak_mem(gb)": ("peak_memory_bytes", "GB"),
    "world_size": ("gpu_count", ""),
    "tokenspersec": ("output_tokens_per_s", "tok/s"),
    "tokens_per_second": ("output_tokens_per_s", "tok/s"),
    "num_samples": ("completed", "requests"),
    "num_error_samples": ("failed", "requests"),
    "total_latency(ms)": ("duration_s", "ms"),
    "seq_throughput(seq/sec)": ("requests_per_s", "req/s"),
    "token_throughput(token/sec)": ("output_tokens_per_s", "tok/s"),
    "avg_sequence_latency(ms)": ("e2e_mean_s", "ms"),
    "p99_sequence_latency(ms)": ("e2e_p99_s", "ms"),
    "p50_sequence_latency(ms)": ("e2e_p50_s", "ms"),
    "p90_sequence_latency(ms)": ("e2e_p90_s", "ms"),
    "avg_time_to_first_token(ms)": ("ttft_mean_s", "ms"),
    "p50_time_to_first_token(ms)": ("ttft_p50_s", "ms"),
    "p99_time_to_first_token(ms)": ("ttft_p99_s", "ms"),
    "avg_inter_token_latency(ms)": ("tpot_mean_s", "ms"),
    "p50_inter_token_latency(ms)": ("tpot_p50_s", "ms"),
    "p99_inter_token_latency(ms)": ("tpot_p99_s", "ms"),
}
_PAIR_TEXT = {"model_name": "model", "precision": "weights", "quantization": "weights"}


def pair_run(pairs: Mapping[str, Any]) -> Run:
    """A run from the key-value pairs of the older benchmarks; tokens_per_sec is output only, of all GPUs."""
    static = "batch_size" in pairs
    run = Run(kind="static_batch" if static else "serving", engine="tensorrt_llm")
    put_all(run, pairs, _PAIR_KEYS)
    for key, field in _PAIR_TEXT.items():
        if pairs.get(key) not in (None, "None", ""):
            put_text(run, field, str(pairs[key]), key)
    if static:
        run.put("concurrency", pairs["batch_size"], "batch_size", "requests")
    if run.e2e_mean_s and run.output_tokens and run.batch_size:
        run.derive(
            "output_tokens_per_s",
            run.batch_size * run.output_tokens / run.e2e_mean_s,
            "batch_size x output_length / latency",
        )
    return run


class TrtllmLegacyStdout:
    """`[BENCHMARK] key value …` lines: one line a case (Python, gptSession), or one key a line (gptManager)."""

    format = "trtllm-legacy-benchmark-stdout"

    def score(self, document: Document) -> float:
        return 0.9 if not document.is_json and "[BENCHMARK] " in document.text else 0.0

    def parse(self, document: Document) -> ParseResult:
        lines = [line.split("[BENCHMARK] ", 1)[1].split() for line in document.lines if "[BENCHMARK] " in line]
        wide = [_pairs(words) for words in lines if len(words) > 3]
        narrow = _cases([(words[0], words[1]) for words in lines if 2 <= len(words) <= 3])
        runs = [pair_run(pairs) for pairs in [*wide, *narrow]]
        usable = [run for run in runs if run.has_result()]
        return ParseResult(usable, [] if usable else [Refusal("no latency and no throughput on the [BENCHMARK] lines")])


def _pairs(words: list[str]) -> dict[str, str]:
    """Alternating key and value."""
    return dict(zip(words[::2], words[1::2], strict=False))


def _cases(pairs: list[tuple[str, str]]) -> Iterator[dict[str, str]]:
    """Single pairs gathered until a key comes again."""
    case: dict[str, str] = {}
    for key, value in pairs:
        if key in case:
            yield case
            case = {}
        case[key] = value
    if case:
        yield case


class GptManagerCsv:
    """gptManagerBenchmark's CSV: its header ends with a comma, its rows do not."""

    format = "trtllm-gpt-manager-csv"

    def score(self, document: Document) -> float:
        return (
            0.9 if not document.is_json and document.head.lstrip().startswith("num_samples,num_error_samples") else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        rows = [row for table in document.tables for row in table.records()]
        runs = [pair_run(row) for row in rows if number(row.get("num_samples"))]
        return ParseResult(runs, [] if runs else [Refusal("no row with samples")])
