"""optimum-benchmark: JSON and Markdown reports of today, one-row CSVs of 2023, inference and training.

Prefill "throughput" is samples/s (batch / latency); decode throughput is batch x (new tokens - 1) / latency;
gpu_vram_mb is in bytes; the GPU list holds
every device of the machine, device_ids those that were used.
"""

import re
from collections.abc import Mapping
from typing import Any

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..values import integer, number
from .common import as_dict, as_list, put_percentile, put_text

DISTRUST = "per_token values hold warm-up iterations too and are not used"


def report_run(report: dict[str, Any], config: dict[str, Any]) -> Run | Refusal:
    """One report with its configuration, where there is one."""
    if "train" in report or "overall" in report:
        return training_run(report, config)
    prefill, decode = as_dict(report.get("prefill")), as_dict(report.get("decode"))
    run = Run(kind="static_batch", engine="transformers")
    _put_config(run, config)
    _put_stats(run, "ttft", as_dict(prefill.get("latency")), "prefill.latency")
    _put_batch(run, prefill)
    rate = number(as_dict(decode.get("throughput")).get("value"))
    run.put("decode_tokens_per_s", rate, "decode.throughput.value", "tok/s")
    if rate and run.batch_size:
        run.put("tpot_mean_s", run.batch_size / rate, "batch / decode.throughput", "s")
    if run.input_tokens and run.batch_size and run.ttft_mean_s:
        run.put(
            "prefill_tokens_per_s",
            run.input_tokens * run.batch_size / run.ttft_mean_s,
            "batch x sequence_length / prefill latency",
            "tok/s",
        )
    decoding = number(as_dict(decode.get("latency")).get("mean"))
    if decoding and run.ttft_mean_s:
        run.put("e2e_mean_s", decoding + run.ttft_mean_s, "prefill.latency.mean + decode.latency.mean", "s")
        if run.output_tokens and run.batch_size:
            run.derive(
                "output_tokens_per_s",
                run.output_tokens * run.batch_size / (decoding + run.ttft_mean_s),
                "batch x new tokens / (prefill + decode)",
            )
    _put_memory(run, prefill, decode)
    run.notes.append(DISTRUST)
    return run if run.has_result() else Refusal("no prefill and no decode time in this report")


def _put_stats(run: Run, metric: str, latency: Mapping[str, Any], source: str) -> None:
    run.put(f"{metric}_mean_s", latency.get("mean"), f"{source}.mean", "s")
    for percent in ("50", "90", "95", "99"):
        put_percentile(run, metric, percent, latency.get(f"p{percent}"), f"{source}.p{percent}", "s")


def _put_batch(run: Run, prefill: Mapping[str, Any]) -> None:
    """samples/s x latency is the batch, where the configuration lies elsewhere."""
    samples, latency = number(as_dict(prefill.get("throughput")).get("value")), run.ttft_mean_s
    if run.batch_size is None and samples and latency:
        run.derive("batch_size", round(samples * latency), "prefill.throughput x prefill latency")
    run.put("concurrency", run.batch_size, "batch size", "requests")


def _put_memory(run: Run, *phases: Mapping[str, Any]) -> None:
    peaks = [value for phase in phases if (value := number(as_dict(phase.get("memory")).get("max_allocated")))]
    if peaks:
        run.put("peak_memory_bytes", max(peaks), "memory.max_allocated, largest phase, all GPUs of the process", "MB")


def _put_config(run: Run, config: Mapping[str, Any]) -> None:
    backend, scenario, machine = (as_dict(config.get(key)) for key in ("backend", "scenario", "environment"))
    scenario = scenario or as_dict(config.get("benchmark"))
    shapes = as_dict(scenario.get("input_shapes"))
    put_text(run, "model", backend.get("model") or config.get("model"), "backend.model")
    put_text(run, "engine_version", machine.get("transformers_version"), "environment.transformers_version")
    if backend.get("name") and backend["name"] != "pytorch":
        put_text(run, "engine", backend["name"], "backend.name")
    put_text(
        run,
        "weights",
        backend.get("quantization_scheme") or backend.get("torch_dtype"),
        "backend.quantization_scheme / torch_dtype",
    )
    run.put("batch_size", shapes.get("batch_size"), "input_shapes.batch_size")
    run.put("input_tokens", shapes.get("sequence_length"), "input_shapes.sequence_length", "tokens")
    new = as_dict(scenario.get("generate_kwargs")).get("max_new_tokens") or scenario.get("new_tokens")
    run.put("output_tokens", new, "max_new_tokens", "tokens")
    _put_gpus(run, backend, machine)


def _put_gpus(run: Run, backend: Mapping[str, Any], machine: Mapping[str, Any]) -> None:
    names = [str(name) for name in as_list(machine.get("gpu")) if "display" not in str(name).lower()]
    if names and str(backend.get("device", "cuda")).startswith("cuda"):
        run.put("gpu", " + ".join(sorted(set(names))), "environment.gpu")
    ids = [part for part in str(backend.get("device_ids") or "").split(",") if part.strip().isdigit()]
    if ids and run.gpu:
        run.put("gpu_count", len(ids), "backend.device_ids")
    elif len(as_list(machine.get("gpu"))) == 1 and run.gpu:
        run.put("gpu_count", 1, "environment.gpu")


def training_run(report: dict[str, Any], config: dict[str, Any]) -> Run | Refusal:
    """The train phase, warm-up left out."""
    train = as_dict(report.get("train")) or as_dict(report.get("overall"))
    run = Run(kind="training", engine="transformers")
    _put_config(run, config)
    run.output_tokens = None
    run.put("samples_per_s", as_dict(train.get("throughput")).get("value"), "train.throughput.value", "samples/s")
    run.put("step_time_s", as_dict(train.get("latency")).get("mean"), "train.latency.mean", "s")
    _put_memory(run, train)
    run.notes.append("the warmup phase is left out")
    return run if run.has_result() else Refusal("no training time in this report")


def _is_report(record: Mapping[str, Any]) -> bool:
    phases = [as_dict(record.get(key)) for key in ("prefill", "decode", "train", "overall")]
    return any("latency" in phase or "throughput" in phase for phase in phases)


class OptimumJson:
    """benchmark_report.json, or benchmark.json with its configuration; a configuration alone is no result."""

    format = "optimum-benchmark"

    def score(self, document: Document) -> float:
        first = document.first
        if {"backend", "scenario", "launcher"} <= first.keys():
            return 0.6
        return 0.9 if _is_report(first) or ("config" in first and _is_report(as_dict(first.get("report")))) else 0.0

    def parse(self, document: Document) -> ParseResult:
        result = ParseResult()
        for record in document.records:
            report = as_dict(record.get("report")) or record
            if not _is_report(report):
                return ParseResult.refused("the configuration of a run: its results stand in benchmark_report.json")
            result.add(report_run(report, as_dict(record.get("config"))))
        return result


class OptimumMarkdown:
    """benchmark_report.md: a heading for each phase, a table for each quantity."""

    format = "optimum-benchmark-md"

    def score(self, document: Document) -> float:
        return (
            0.9
            if not document.is_json and document.search(r"^# (?:prefill|train|decode):") and "| metric" in document.text
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        outcome = report_run(markdown_report(document.text), {})
        return ParseResult([outcome]) if isinstance(outcome, Run) else ParseResult([], [outcome])


def markdown_report(text: str) -> dict[str, Any]:
    """The JSON report's structure from the Markdown one."""
    report: dict[str, Any] = {}
    phase = part = ""
    for line in text.split("\n"):
        heading = re.match(r"(#{1,2}) ([\w ]+):", line.strip())
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if heading:
            phase, part = (heading[2], "") if heading[1] == "#" else (phase, heading[2])
        elif phase and part and len(cells) == 3 and (value := number(cells[1])) is not None:
            block = report.setdefault(phase, {}).setdefault(part, {})
            block["value" if cells[0] == "throughput" else cells[0]] = value
    return report


class OptimumCsv:
    """2023: inference_results.csv, training_results.csv and full_report.csv with the configuration in columns."""

    format = "optimum-benchmark-csv"

    def score(self, document: Document) -> float:
        header = set(document.header)
        return (
            0.95
            if header
            & {
                "generate.throughput(tokens/s)",
                "forward.latency(s)",
                "training.throughput(samples/s)",
                "training.runtime(s)",
            }
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        result = ParseResult()
        for table in document.tables:
            for row in table.records():
                run = row_run({key.lower(): value for key, value in row.items()})
                result.add(run if run.has_result() else Refusal("a row without a measured figure"))
        return result


ROW = {
    "generate.throughput(tokens/s)": ("output_tokens_per_s", "tok/s"),
    "generate.latency(s)": ("e2e_mean_s", "s"),
    "forward.latency(s)": ("ttft_mean_s", "s"),
    "training.throughput(samples/s)": ("samples_per_s", "samples/s"),
    "benchmark.input_shapes.batch_size": ("batch_size", ""),
    "benchmark.input_shapes.sequence_length": ("input_tokens", "tokens"),
    "benchmark.new_tokens": ("output_tokens", "tokens"),
    "benchmark.generate_kwargs.max_new_tokens": ("output_tokens", "tokens"),
}


def row_run(row: Mapping[str, str]) -> Run:
    """One row of the old tables."""
    training = any(key.startswith("training.") for key in row)
    run = Run(kind="training" if training else "static_batch", engine="transformers")
    for key, (field, unit) in ROW.items():
        if row.get(key):
            run.put(field, row[key], key, unit)
    run.put("concurrency", run.batch_size, "batch_size", "requests")
    peaks = [
        value for key in ("generate.peak_memory(mb)", "forward.peak_memory(mb)") if (value := number(row.get(key)))
    ]
    if peaks:
        run.put("peak_memory_bytes", max(peaks), "peak_memory(MB), larger phase", "MB")
    put_text(run, "model", row.get("model"), "model")
    put_text(
        run,
        "weights",
        row.get("backend.quantization_strategy") or row.get("backend.torch_dtype"),
        "backend.quantization_strategy / torch_dtype",
    )
    put_text(run, "engine_version", row.get("environment.transformers_version"), "environment.transformers_version")
    gpus = [
        name.strip(" '\"")
        for name in str(row.get("environment.gpu") or "").strip("[]").split(",")
        if name.strip(" '\"")
    ]
    if gpus:
        run.put("gpu", " + ".join(sorted(set(gpus))), "environment.gpu")
        run.put("gpu_count", len(gpus) if len(gpus) == 1 else None, "environment.gpu")
    if integer(row.get("batch_size")):
        run.derive("batch_size", number(row.get("batch_size")), "batch_size")
    run.notes.append(
        "the warm-up is left out"
        if training
        else "generate.throughput counts new tokens over the whole generation, prefill included"
    )
    return run
