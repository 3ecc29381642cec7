"""llm-d benchmark reports (YAML or JSON, schema 0.1 and 0.2): the one format that states hardware, layout and the
unit of every metric.
"""

from collections.abc import Iterator
from typing import Any

import yaml

from ..canonical import Run
from ..decode import Document
from ..protocol import ParseResult, Refusal
from ..values import integer, number, seconds
from .common import as_dict, as_list, put_percentile, put_text
from .guidellm import report_result

UNITS = {"ms": "ms", "s": "s", "ms/token": "ms", "s/token": "s", "us": "us", "seconds": "s", "milliseconds": "ms"}
LATENCIES = {
    "request_latency": "e2e",
    "time_to_first_token": "ttft",
    "time_per_output_token": "tpot",
    "inter_token_latency": "itl",
}
RATES = {
    "output_tokens_per_sec": "output_tokens_per_s",
    "total_tokens_per_sec": "total_tokens_per_s",
    "requests_per_sec": "requests_per_s",
    "output_token_rate": "output_tokens_per_s",
    "total_token_rate": "total_tokens_per_s",
    "request_rate": "requests_per_s",
}
PLAUSIBLE_TPOT_S = 2e-4
MAX_YAML = 5_000_000
MAX_BAD_LINES = 6


def load_yaml(text: str) -> Any:
    """The YAML document; up to five lines that are no YAML are left out.

    Raises ValueError on broken syntax, aliases (a known bomb) or more than 5 million characters.
    """
    if len(text) > MAX_YAML:
        raise ValueError("YAML of more than 5 million characters is not read")
    for _ in range(MAX_BAD_LINES if len(text) < 500_000 else 1):
        try:
            return _loaded(text)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            lines = text.split("\n")
            if mark is None or mark.line >= len(lines):
                break
            text = "\n".join(lines[: mark.line] + lines[mark.line + 1 :])
        except (yaml.YAMLError, RecursionError) as error:
            raise ValueError(f"broken YAML: {str(error)[:200]}") from error
    raise ValueError("broken YAML: several of its lines are no YAML")


def _loaded(text: str) -> Any:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=loader)):
        raise ValueError("YAML with aliases is not read")
    return yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader


class LlmdReport:
    """benchmark_report_*.yaml."""

    format = "llmd-benchmark-report"

    def score(self, document: Document) -> float:
        if document.is_json:
            first = document.first
            return 0.9 if "scenario" in first and ("metrics" in first or "results" in first) else 0.0
        return (
            0.9
            if document.search(r"^version: *['\"]?0\.\d")
            and document.search(r"^scenario:")
            and document.search(r"^(?:metrics|results):")
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        report = document.first if document.is_json else load_yaml(document.text)
        if not isinstance(report, dict):
            raise ValueError("the report is no mapping")
        run = report_run_v1(report) if "metrics" in report else report_run_v2(report)
        if run.completed == 0:
            return ParseResult([], [Refusal("no request completed")])
        _check_units(run)
        return ParseResult([run])


class GuidellmYaml:
    """GuideLLM's report as YAML."""

    format = "guidellm-yaml"

    def score(self, document: Document) -> float:
        return (
            0.85
            if not document.is_json
            and document.search(r"^(?:- |  )?benchmarks:")
            and "time_to_first_token_ms" in document.text
            else 0.0
        )

    def parse(self, document: Document) -> ParseResult:
        return report_result(as_dict(load_yaml(document.text)))


def report_run_v1(report: dict[str, Any]) -> Run:
    """Schema 0.1: scenario.host, scenario.platform, metrics."""
    scenario, metrics = as_dict(report["scenario"]), as_dict(report["metrics"])
    run = Run(kind="serving")
    model = as_dict(scenario.get("model"))
    put_text(run, "model", model.get("name"), "scenario.model.name")
    put_text(run, "weights", model.get("quantization"), "scenario.model.quantization")
    engines = [as_dict(engine) for engine in as_list(as_dict(scenario.get("platform")).get("engine"))]
    if engines:
        put_text(run, "engine", engines[0].get("name"), "scenario.platform.engine.name")
        put_text(run, "engine_version", str(engines[0].get("version") or ""), "scenario.platform.engine.version")
    host = as_dict(scenario.get("host"))
    put_hardware(run, [(as_dict(item), 1, kind) for item, kind in _roles(host)])
    run.put("duration_s", as_dict(metrics.get("time")).get("duration"), "metrics.time.duration", "s")
    put_performance(run, metrics)
    arguments = as_dict(as_dict(scenario.get("load")).get("args"))
    run.put("request_rate_per_s", arguments.get("qps_values"), "scenario.load.args.qps_values", "req/s")
    return run


def _roles(host: dict[str, Any]) -> Iterator[tuple[Any, str]]:
    kinds = as_list(host.get("type"))
    for index, accelerator in enumerate(as_list(host.get("accelerator"))):
        yield accelerator, str(kinds[index]) if index < len(kinds) else "replica"


def report_run_v2(report: dict[str, Any]) -> Run:
    """Schema 0.2: scenario.stack, results.request_performance.aggregate."""
    scenario = as_dict(report["scenario"])
    run = Run(kind="serving")
    stack = [as_dict(as_dict(item).get("standardized")) for item in as_list(scenario.get("stack"))]
    engines = [item for item in stack if item.get("kind") == "inference_engine" or "accelerator" in item]
    for engine in engines[:1]:
        put_text(run, "model", as_dict(engine.get("model")).get("name"), "standardized.model.name")
        put_text(run, "weights", as_dict(engine.get("model")).get("quantization"), "standardized.model.quantization")
        put_text(run, "engine", engine.get("tool"), "standardized.tool")
        put_text(run, "engine_version", str(engine.get("tool_version") or ""), "standardized.tool_version")
    put_hardware(
        run,
        [
            (as_dict(item.get("accelerator")), integer(item.get("replicas")) or 1, str(item.get("role") or ""))
            for item in engines
        ],
    )
    load = as_dict(as_dict(scenario.get("load")).get("standardized"))
    run.put("request_rate_per_s", load.get("rate_qps"), "load.standardized.rate_qps", "req/s")
    run.put("concurrency", load.get("concurrency"), "load.standardized.concurrency", "requests")
    timing = as_dict(as_dict(report.get("run")).get("time"))
    run.put("duration_s", seconds(timing.get("duration")), f"run.time.duration {timing.get('duration')}", "s")
    if timing.get("start"):
        run.put("date", str(timing["start"]), "run.time.start")
    put_performance(run, as_dict(as_dict(as_dict(report.get("results")).get("request_performance")).get("aggregate")))
    return run


def put_hardware(run: Run, items: list[tuple[dict[str, Any], int, str]]) -> None:
    """Sum the accelerators of all pods; the parallel sizes are those of one pod, where all agree."""
    names = {str(item["model"]) for item, _, _ in items if item.get("model")}
    if names:
        run.put("gpu", " + ".join(sorted(names)), "accelerator.model")
    total = sum((integer(item.get("count")) or 0) * replicas for item, replicas, _ in items)
    run.put("gpu_count", total, "accelerator.count x replicas, summed")
    for key in ("tp", "pp", "ep", "dp"):
        sizes = {as_dict(item.get("parallelism")).get(key) for item, _, _ in items}
        if len(sizes) == 1:
            run.put(key, sizes.pop(), f"accelerator.parallelism.{key}")
    roles = [role for _, _, role in items]
    if "prefill" in roles and "decode" in roles:
        run.notes.append(
            f"prefill and decode are apart: {roles.count('prefill')} prefill and {roles.count('decode')} decode pods"
        )


def put_performance(run: Run, block: dict[str, Any]) -> None:
    """Requests, latencies with their units, and rates."""
    requests = as_dict(block.get("requests"))
    total, failures = integer(requests.get("total")), integer(requests.get("failures"))
    if total is not None:
        run.put(
            "completed",
            total - (failures or 0) - (integer(requests.get("incomplete")) or 0),
            "requests.total - failures - incomplete",
            "requests",
        )
    run.put("failed", failures, "requests.failures", "requests")
    run.put("input_tokens", as_dict(requests.get("input_length")).get("mean"), "requests.input_length.mean", "tokens")
    run.put(
        "output_tokens", as_dict(requests.get("output_length")).get("mean"), "requests.output_length.mean", "tokens"
    )
    for name, metric in LATENCIES.items():
        _put_latency(run, metric, as_dict(as_dict(block.get("latency")).get(name)), name)
    for name, value in as_dict(block.get("throughput")).items():
        if name in RATES:
            run.put(RATES[name], value.get("mean") if isinstance(value, dict) else value, f"throughput.{name}", "1/s")


def _put_latency(run: Run, metric: str, stats: dict[str, Any], name: str) -> None:
    unit = UNITS.get(str(stats.get("units", "s")))
    if unit is None:
        if stats:
            run.warnings.append(f"{name} has the unknown unit {stats.get('units')} and was not read")
        return
    run.put(f"{metric}_mean_s", stats.get("mean"), f"latency.{name}.mean", unit)
    for key, value in stats.items():
        percent = str(key).removeprefix("p").replace("p", ".")
        parsed = number(percent) if str(key).startswith("p") else None
        if parsed is not None and 5 <= parsed < 100:
            put_percentile(run, metric, percent, value, f"latency.{name}.{key}", unit)


def _check_units(run: Run) -> None:
    if run.tpot_mean_s and run.tpot_mean_s < PLAUSIBLE_TPOT_S:
        run.warnings.append(
            f"TPOT of {run.tpot_mean_s * 1e6:.3g} microseconds is implausible: the file's unit is "
            "probably seconds, not what it states"
        )
